"""Where the service keeps its log: SQLite, or PostgreSQL for several hosts."""
