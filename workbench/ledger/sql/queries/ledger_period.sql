-- What a ledger covers: its runs and calls from first to last, and whose they are. One row, also for an empty ledger.
-- Parameters: none
SELECT count(*) FILTER (event = 'started') AS runs, min(recorded_at) AS first_at,
    greatest(max(recorded_at), (SELECT max(ended_at) FROM attempts)) AS last_at,
    arg_max(endpoint, recorded_at) FILTER (event = 'started') AS endpoint,
    count(DISTINCT endpoint) FILTER (event = 'started' AND NOT simulated) AS endpoints,
    arg_max(key_fingerprint, recorded_at) FILTER (event = 'started') AS key_fingerprint,
    count(DISTINCT key_fingerprint) FILTER (event = 'started' AND NOT simulated) AS keys,
    coalesce(bool_or(simulated) FILTER (event = 'started'), false) AS simulated
FROM runs;
