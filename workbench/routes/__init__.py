"""What is known of an account's routes: what probes found, under which names they answer, and when they were worst.

- `questions`: what a probe asks; `facts`: what the answers show; `probes`: the probes of a ledger, and what changed between;
- `days`: what each day was like, and which count as now; `answered`: who answered for whom as a matrix;
- `identity`: what it rests on that a route is who it says;
- `names`: who answered instead of whom, and since when; `confirming`: names that the user confirms;
- `retries`: answers that the gateway may have retried unseen; `health`: when each route was worst;
- `overview`: all of it together; `rehearsal`: routes like these for the embedded platform.
"""
