"""What is recorded: a sample, the calls about it, how each ended and what follows from that, and how a run ended."""
