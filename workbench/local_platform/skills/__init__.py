"""What the simulated routes can do: each skill computes its answer from the prompt alone."""
