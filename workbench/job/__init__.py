"""What is asked for: the job file and its faults, its keys and times, and the messages and body of each request."""
