"""Several machines on one account: who runs which job, and how many requests each may have in flight.

What they share is in the PostgreSQL of the team's ledger, in tables of leases that end by the server's clock.
"""
