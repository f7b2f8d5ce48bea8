"""Sphinx settings; ``make docs`` builds the pages with warnings as errors."""

import sys
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any

from docutils import nodes

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "rankwright"
author = "The rankwright developers"
copyright = author
release = version = installed_version("rankwright")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_copybutton",
    "mathml",
]
exclude_patterns = ["_build"]
templates_path = ["_templates"]

myst_enable_extensions = ["dollarmath", "deflist", "attrs_inline"]
myst_heading_anchors = 3

autodoc_typehints = "none"  # the docstrings name the types
autosummary_generate = True
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
add_module_names = False

# The button copies what was typed, without prompts and output. Its script is part of the pages.
copybutton_prompt_text = r">>> |\.\.\. ?|\$ "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True

# Formulas become MathML when the pages are built, so that they need no script and no network.
html_math_renderer = "mathml"
html_theme = "pydata_sphinx_theme"
html_title = "rankwright"
html_static_path = ["_static"]
html_css_files = ["rankwright.css"]
html_copy_source = False
html_sidebars = {
    name: [] for name in ("index", "start", "design", "glossary")
}  # they have no subpages
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "rankwright"},
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "default",
    "pygments_dark_style": "github-dark",
}


def _strip_code(app: Any, doctree: nodes.document) -> None:
    """Remove the blank line that doctest needs at the end of an example."""
    for block in doctree.findall(nodes.literal_block):
        text = block.astext().rstrip()
        block.rawsource = text
        block[:] = [nodes.Text(text)]


def setup(app: Any) -> None:
    app.connect("doctree-read", _strip_code)
