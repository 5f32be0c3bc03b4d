"""What a run would ask, what it takes from earlier runs, and what is wrong with that: before anything is spent."""
