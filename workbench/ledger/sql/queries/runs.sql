-- Runs, newest first, with what became of their requests.
-- Parameters: most
WITH newest AS (SELECT * FROM run_overview ORDER BY started_at DESC NULLS LAST LIMIT $most),
own AS (
    SELECT run_id, request_key, bool_or(accepted) AS accepted, bool_and(outcome = 'cancelled') AS cancelled
    FROM attempts WHERE run_id IN (SELECT run_id FROM newest) GROUP BY run_id, request_key
),
ended AS (
    SELECT run_id, count(*) FILTER (accepted) AS completed, count(*) FILTER (NOT accepted AND NOT cancelled) AS failed
    FROM own GROUP BY run_id
),
used AS (SELECT run_id, sum(total_tokens)::BIGINT AS total_tokens FROM attempts GROUP BY run_id),
taken AS (SELECT run_id, count(*) FILTER (reused) AS reused FROM run_items GROUP BY run_id)
SELECT newest.run_id, newest.job, newest.status, newest.started_at, newest.ended_at, newest.duration_s, newest.planned,
    coalesce(taken.reused, 0) AS reused, coalesce(ended.completed, 0) AS completed, coalesce(ended.failed, 0) AS failed,
    newest.planned - coalesce(taken.reused, 0) - coalesce(ended.completed, 0) - coalesce(ended.failed, 0) AS pending,
    used.total_tokens, newest.simulated
FROM newest
LEFT JOIN ended USING (run_id)
LEFT JOIN used USING (run_id)
LEFT JOIN taken USING (run_id)
ORDER BY newest.started_at DESC NULLS LAST;
