"""The page at ``/``: what it shows, and the files that show it."""
