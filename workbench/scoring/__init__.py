"""What an answer is worth: pure functions of an answer and its sample."""
