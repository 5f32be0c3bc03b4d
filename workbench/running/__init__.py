"""The fan-out: who is in flight, what is recorded, and how a run ends."""
