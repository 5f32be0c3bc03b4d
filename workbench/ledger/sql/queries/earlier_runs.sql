-- Runs of a run's job that ended complete before it began, newest first; a run whose gate was not met is not among them, nor one that
-- filled a sheet: it asked other samples; nor one of another part of the job, such as its pilot: it asked too few; nor one of the same
-- occasion: it has the same answers.
-- Parameters: run_id
SELECT earlier.run_id
FROM run_overview AS earlier
JOIN (SELECT job, started_at, narrowed, occasion FROM run_overview WHERE run_id = $run_id) AS this
    ON this.job = earlier.job AND earlier.started_at < this.started_at
WHERE earlier.status = 'complete' AND NOT coalesce(map_contains(earlier.tags, 'filled'), false)
    AND (earlier.narrowed IS NULL OR earlier.narrowed = this.narrowed)
    AND (this.occasion IS NULL OR earlier.occasion IS DISTINCT FROM this.occasion)
ORDER BY earlier.started_at DESC, earlier.run_id DESC;
