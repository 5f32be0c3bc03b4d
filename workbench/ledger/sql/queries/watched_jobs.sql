-- The jobs that ran for an occasion, each with the job file of the newest such run that ended, and what its first scorer is called.
-- Parameters: none
WITH newest AS (
    SELECT job, arg_max(run_id, started_at) AS run_id
    FROM run_overview
    WHERE occasion IS NOT NULL AND status IS NOT NULL
    GROUP BY job
)
SELECT newest.job, start.job_toml, start.scorers[1] AS scorer
FROM newest JOIN runs AS start ON start.run_id = newest.run_id AND start.event = 'started'
ORDER BY newest.job;
