-- How many calls a run allowed in flight, from each moment on (seconds after its first call was sent) until its last end. Of a limit
-- that grows on and on in one span of the run's time, when it began to and how far it came: a limit of 60 grows 56 times within its first
-- answers. Were it told when it came there, more calls would seem to be in flight than were allowed.
-- model, limit_allowed: the route whose limit changed, and to what; model NULL: all routes.
-- Parameters: run_id, spans (how many)
WITH course AS (
    SELECT min(sent_at) AS first_at, max(ended_at) AS last_at, greatest(epoch(max(ended_at) - min(sent_at)), 0.001) AS length_s
    FROM attempts WHERE run_id = $run_id HAVING count(*) > 0
),
changes AS (
    SELECT recorded_at AS changed_at, allowed, reason, model, limit_allowed FROM paces WHERE run_id = $run_id
    UNION ALL
    SELECT last_at, (SELECT arg_max(allowed, recorded_at) FROM paces WHERE run_id = $run_id), 'end', NULL, NULL FROM course
),
placed AS (
    SELECT changes.*, greatest(epoch(changed_at - first_at), 0) AS seconds, floor(seconds / length_s * $spans) AS span,
        count(*) FILTER (reason <> 'growth') OVER (ORDER BY changed_at, reason = 'end' ROWS UNBOUNDED PRECEDING) AS cuts
    FROM changes, course
    WHERE allowed IS NOT NULL
)
SELECT CASE WHEN reason = 'growth' THEN min(seconds) OVER of_one ELSE seconds END AS seconds,
    CASE WHEN reason = 'growth' THEN max(allowed) OVER (PARTITION BY reason, span, cuts) ELSE allowed END AS allowed,
    reason, model, limit_allowed
FROM placed
WINDOW of_one AS (PARTITION BY reason, model, span, cuts)
QUALIFY reason <> 'growth' OR row_number() OVER (PARTITION BY reason, model, span, cuts ORDER BY changed_at DESC, allowed DESC) = 1
ORDER BY 1, cuts, reason = 'end', model NULLS FIRST;
