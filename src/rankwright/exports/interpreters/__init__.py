"""What each engine computes, read from its source: slow, small, with every rounding written out."""
