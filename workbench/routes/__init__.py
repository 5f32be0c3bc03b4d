"""What is known of an account's routes: what probes found, under which names they answer, and when they were worst.

- `questions`: what a probe asks; `facts`: what the answers show; `probes`: the probes of a ledger, and what changed between;
- `names`: who answered instead of whom, and since when; `retries`: calls that the gateway may have repeated unseen;
- `health`: every route by day.
"""
