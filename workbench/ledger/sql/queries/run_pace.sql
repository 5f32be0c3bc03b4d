-- How many calls a run allowed in flight, from each moment on (seconds after its first call was sent) until its last end.
-- model, limit_allowed: the route whose limit changed, and to what; model NULL: all routes.
-- Parameters: run_id
WITH course AS (
    SELECT min(sent_at) AS first_at, max(ended_at) AS last_at FROM attempts WHERE run_id = $run_id HAVING count(*) > 0
),
changes AS (
    SELECT recorded_at AS changed_at, allowed, reason, model, limit_allowed FROM paces WHERE run_id = $run_id
    UNION ALL
    SELECT last_at, (SELECT arg_max(allowed, recorded_at) FROM paces WHERE run_id = $run_id), 'end', NULL, NULL FROM course
)
SELECT greatest(epoch(changed_at - first_at), 0) AS seconds, allowed, reason, model, limit_allowed
FROM changes, course
WHERE allowed IS NOT NULL
ORDER BY changed_at, reason = 'end';
