-- The ids of the runs of one job that have ended, newest first.
-- Parameters: job
SELECT run_id FROM run_overview WHERE job = $job AND status IS NOT NULL ORDER BY started_at DESC NULLS LAST, run_id DESC;
