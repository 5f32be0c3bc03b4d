-- The newest runs of each job, the oldest first. job_toml: the job file, of its newest run only.
-- Parameters: most (how many of each)
SELECT run.job, run.run_id, run.started_at, run.status, run.reason, run.occasion, run.scorers[1] AS scorer,
    CASE WHEN run.place = 1 THEN start.job_toml END AS job_toml
FROM (
    SELECT *, row_number() OVER (PARTITION BY job ORDER BY started_at DESC, run_id DESC) AS place FROM run_overview
) AS run
JOIN (SELECT run_id, job_toml FROM runs WHERE event = 'started') AS start ON start.run_id = run.run_id
WHERE run.place <= $most
ORDER BY run.job, run.started_at, run.run_id;
