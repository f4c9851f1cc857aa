"""What collectives cost inside a training step, and what they do to training."""
