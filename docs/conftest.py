"""Scripts beside the pages are no tests."""

collect_ignore = ["conf.py", "examples", "figures.py", "screenshot.py"]
