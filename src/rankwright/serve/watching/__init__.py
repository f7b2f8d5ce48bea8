"""Watching what is served: experiments, and drift of the features."""
