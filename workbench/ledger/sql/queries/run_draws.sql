-- What the newest complete runs of each job drew, by model; job_toml is the newest run's.
-- Parameters: most (how many runs of each job)
WITH newest AS (
    SELECT run.run_id, run.job, run.started_at, run.status,
        row_number() OVER (PARTITION BY run.job ORDER BY run.started_at DESC, run.run_id DESC) AS place
    FROM run_overview AS run
),
file AS (SELECT run_id, any_value(job_toml) AS job_toml FROM runs WHERE event = 'started' GROUP BY run_id),
latest AS (SELECT newest.job, file.job_toml FROM newest JOIN file USING (run_id) WHERE newest.place = 1)
SELECT run.run_id, run.job, run.started_at, latest.job_toml, attempt.model,
    coalesce(sum(attempt.prompt_tokens), 0)::BIGINT AS prompt_tokens,
    coalesce(sum(attempt.completion_tokens), 0)::BIGINT AS completion_tokens,
    coalesce(sum(attempt.reasoning_tokens), 0)::BIGINT AS reasoning_tokens,
    coalesce(sum(attempt.total_tokens), 0)::BIGINT AS total_tokens
FROM newest AS run
JOIN latest ON latest.job = run.job
JOIN attempts AS attempt ON attempt.run_id = run.run_id
WHERE run.place <= $most AND run.status IN ('complete', 'gate_failed')
GROUP BY ALL
ORDER BY run.job, run.started_at DESC, attempt.model;
