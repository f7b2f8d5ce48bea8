"""Models as the service ranks with them, and which of them ranks."""
