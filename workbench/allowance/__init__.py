"""The account's allowance: its windows, what was drawn from it, seen here or not, and how long it lasts."""
