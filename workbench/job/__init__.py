"""What is asked for: the job file and its faults, the keys that it may have, its samples and its times, and each request."""
