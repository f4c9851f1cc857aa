"""Graphs for direct connection: families, the operations that make larger ones, and what they promise."""
