-- Runs of a run's job that ended complete before it began, newest first; a run whose gate was not met is not among them.
-- Parameters: run_id
SELECT earlier.run_id, earlier.occasion
FROM run_overview AS earlier
JOIN (SELECT job, started_at FROM run_overview WHERE run_id = $run_id) AS this
    ON this.job = earlier.job AND earlier.started_at < this.started_at
WHERE earlier.status = 'complete'
ORDER BY earlier.started_at DESC, earlier.run_id DESC;
