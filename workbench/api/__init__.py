"""Everything that wires a run together, for the terminal and for Python: a job from plan to report, judges, probes, frames."""
