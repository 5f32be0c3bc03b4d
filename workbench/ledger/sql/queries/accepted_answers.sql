-- The answer that stands of each of some requests: the newest that was accepted; without any, the newest attempt, where it was
-- paid for and no rerun is worth it. outcome, ends: see `outcomes`; the second says why there is nothing to score in it.
-- Parameters: request_keys (list), generation (NULL takes any)
SELECT request_key, newest.run_id, newest.call_no, newest.generation, newest.accepted, newest.outcome, newest.ends
FROM (
    SELECT request_key, arg_max({
        run_id: run_id, call_no: call_no, generation: generation, accepted: accepted, outcome: outcome, ends: ends,
        stands: accepted OR (NOT rerun AND drew = 'yes')
    }, (accepted, ended_at)) AS newest
    FROM judged_attempts
    WHERE ($generation IS NULL OR generation = $generation) AND request_key IN (SELECT unnest($request_keys::VARCHAR[]))
    GROUP BY request_key
)
WHERE newest.stands;
