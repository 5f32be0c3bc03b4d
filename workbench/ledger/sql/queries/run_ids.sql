-- The ids of all runs, newest first; judges: whether it is the run of a judge, about another one.
-- Parameters: none
SELECT run_id, coalesce(map_contains(tags, 'judged_run'), false) AS judges
FROM runs WHERE event = 'started' ORDER BY recorded_at DESC, run_id DESC;
