-- What the newest complete runs of each job drew, by model, as in draws_by_segment; job_toml is the newest run's, complete or not.
-- Parameters: most (how many runs of each job), in_parts (whether a call that reports only its total counts as unknown)
WITH numbered AS (
    SELECT run_id, job, started_at, status,
        row_number() OVER (PARTITION BY job ORDER BY started_at DESC, run_id DESC) AS place,
        row_number() OVER (
            PARTITION BY job, status IN ('complete', 'gate_failed') ORDER BY started_at DESC, run_id DESC
        ) AS place_of_kind
    FROM run_overview
),
file AS (SELECT run_id, any_value(job_toml) AS job_toml FROM runs WHERE event = 'started' GROUP BY run_id),
latest AS (SELECT numbered.job, file.job_toml FROM numbered JOIN file USING (run_id) WHERE numbered.place = 1),
call AS (
    SELECT call_draws.*, CASE WHEN $in_parts THEN lacks_parts ELSE lacks_total END AS is_unknown
    FROM call_draws WHERE drew IS NOT NULL
)
SELECT run.run_id, run.job, latest.job_toml, call.model, count(*) FILTER (call.is_unknown) AS unknown_calls,
    coalesce(sum(call.prompt_tokens) FILTER (NOT call.is_unknown), 0)::BIGINT AS prompt_tokens,
    coalesce(sum(call.completion_tokens) FILTER (NOT call.is_unknown), 0)::BIGINT AS completion_tokens,
    coalesce(sum(call.reasoning_tokens) FILTER (NOT call.is_unknown), 0)::BIGINT AS reasoning_tokens,
    coalesce(sum(call.total_tokens) FILTER (NOT call.is_unknown), 0)::BIGINT AS total_tokens
FROM numbered AS run
JOIN latest ON latest.job = run.job
JOIN call ON call.run_id = run.run_id
WHERE run.place_of_kind <= $most AND run.status IN ('complete', 'gate_failed')
GROUP BY ALL
ORDER BY run.job, run.run_id DESC, call.model;
