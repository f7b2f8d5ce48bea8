"""The engines, one file each."""
