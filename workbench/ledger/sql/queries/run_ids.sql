-- The ids of all runs, newest first.
-- Parameters: none
SELECT run_id FROM runs WHERE event = 'started' ORDER BY recorded_at DESC, run_id DESC;
