-- What a ledger covers: its runs and calls from first to last, and whose they are. One row, also for an empty ledger.
-- Parameters: none
SELECT
    (SELECT count(*) FROM runs WHERE event = 'started') AS runs,
    (SELECT min(recorded_at) FROM runs) AS first_at,
    (SELECT max(at_last) FROM (SELECT max(recorded_at) AS at_last FROM runs UNION ALL SELECT max(ended_at) FROM attempts))
        AS last_at,
    (SELECT arg_max(endpoint, recorded_at) FROM runs WHERE event = 'started') AS endpoint,
    (SELECT count(DISTINCT endpoint) FROM runs WHERE event = 'started' AND NOT simulated) AS endpoints,
    (SELECT arg_max(key_fingerprint, recorded_at) FROM runs WHERE event = 'started') AS key_fingerprint,
    (SELECT count(DISTINCT key_fingerprint) FROM runs WHERE event = 'started' AND NOT simulated) AS keys,
    (SELECT coalesce(bool_or(simulated), false) FROM runs WHERE event = 'started') AS simulated;
