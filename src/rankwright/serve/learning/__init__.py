"""Learning from the log: live, and anew in a replay."""
