"""PRank: Figure 2, on generated data and on MovieLens in place of EachMovie."""
