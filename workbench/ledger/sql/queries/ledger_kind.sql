-- Whether a ledger holds simulated data or an account's; no row before the first run.
-- Parameters: none
SELECT DISTINCT simulated FROM runs WHERE event = 'started';
