"""Domination Rank: LETOR, topics, regularisation, noise."""
