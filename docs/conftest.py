"""Scripts beside the pages are no tests."""

collect_ignore = ["conf.py", "figures.py", "screenshot.py"]
