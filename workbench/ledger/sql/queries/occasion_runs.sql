-- The runs of a job's occasions, oldest first; status NULL is a run that still goes on or was killed.
-- Parameters: job
SELECT run_id, substr(generation, length(job) + 2) AS occasion, status, job_path
FROM run_overview
WHERE job = $job AND starts_with(generation, job || '@')
ORDER BY started_at, run_id;
