"""Training steps as timelines: what collectives cost where they meet computation."""
