"""Formulas as MathML, converted by docutils when the pages are built."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

# docutils puts the index of an accented letter below it: <munderover>, letter, index, accent.
_ACCENT = re.compile(
    r"<munderover>\s*(<mi>\w</mi>)\s*(<(m\w)>\w</\3>)\s*(<mo[^>]*>[ˆ˜¯˙]</mo>)\s*</munderover>"
)


def _convert(node: nodes.Element, *, block: bool) -> str:
    formula = node.astext().strip()
    try:
        markup = str(tex2mathml(formula, as_block=block))
    except SyntaxError as error:
        raise ExtensionError(f"cannot convert the formula {formula!r}: {error}") from error
    return _ACCENT.sub(r"<msub><mover>\1\4</mover>\2</msub>", markup)


def _inline(writer: Any, node: nodes.Element) -> None:
    writer.body.append(_convert(node, block=False))
    raise nodes.SkipNode


def _block(writer: Any, node: nodes.Element) -> None:
    writer.body.append(f'<div class="math-block">{_convert(node, block=True)}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the renderer under the name ``mathml``."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
