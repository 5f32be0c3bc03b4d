-- The newest runs of each job, the oldest first, of an occasion one (see `occasion_runs`). job_toml: the job file, of its newest run
-- only.
-- Parameters: most (how many of each)
SELECT run.job, run.run_id, run.began_at AS started_at, run.status, run.reason, run.occasion, run.scorers[1] AS scorer,
    CASE WHEN run.place = 1 THEN start.job_toml END AS job_toml
FROM (
    SELECT whole.*, one.started_at AS began_at,
        row_number() OVER (PARTITION BY whole.job ORDER BY one.started_at DESC, one.run_id DESC) AS place
    FROM occasion_runs AS one JOIN run_overview AS whole USING (run_id)
) AS run
JOIN (SELECT run_id, job_toml FROM runs WHERE event = 'started') AS start ON start.run_id = run.run_id
WHERE run.place <= $most
ORDER BY run.job, run.began_at, run.run_id;
