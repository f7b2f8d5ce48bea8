"""XE-NDCG: Table 1 and Figures 1 to 3."""
