-- The newest run of each job and the one before it (see the view).
-- Parameters: none
SELECT run_id, before_run_id FROM job_pairs ORDER BY job;
