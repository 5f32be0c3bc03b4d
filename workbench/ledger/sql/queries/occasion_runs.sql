-- The runs of a job's occasions, oldest first; status NULL is a run that is in progress or was killed.
-- Parameters: job
SELECT run_id, occasion, status, job_path
FROM run_overview
WHERE job = $job AND occasion IS NOT NULL
ORDER BY started_at, run_id;
