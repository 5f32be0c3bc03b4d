-- What the newest occasions and other whole runs of each job drew, by model, as in draws_by_segment. Of an occasion all its
-- runs count, those that were cut off too, once one of them is complete, and of a whole run also those in which its judges were asked
-- about it. run_id: of the newest of these runs; job_toml: of the job's newest run, whatever it was.
-- Parameters: most (how many of each job), in_part (whether runs count that were narrowed or that something stopped: they say what
-- a request draws, and nothing of a whole run), in_parts (whether a call that reports only its total counts as unknown)
WITH whole AS (
    SELECT job, coalesce(occasion, run_id) AS name, max(run_id) AS run_id, list(run_id) AS run_ids, max(started_at) AS started_at
    FROM run_overview
    WHERE $in_part OR narrowed IS NULL
    GROUP BY job, coalesce(occasion, run_id) HAVING $in_part OR bool_or(is_settled)
),
newest AS (
    SELECT job, run_id, unnest(run_ids) AS paid_run_id
    FROM whole QUALIFY row_number() OVER (PARTITION BY job ORDER BY started_at DESC, run_id DESC) <= $most
),
paid AS (
    FROM newest
    UNION ALL
    SELECT newest.job, newest.run_id, judge.run_id
    FROM newest JOIN run_overview AS judge ON NOT $in_part AND judge.tags['judged_run'] = newest.paid_run_id
),
file AS (SELECT run_id, any_value(job_toml) AS job_toml FROM runs WHERE event = 'started' GROUP BY run_id),
latest AS (
    SELECT run.job, arg_max(file.job_toml, row(run.started_at, run.run_id)) AS job_toml
    FROM run_overview AS run JOIN file USING (run_id) GROUP BY run.job
),
call AS (
    SELECT run_id, model, calls, prompt_tokens, answer_tokens, reasoning_tokens, total_tokens,
        drew <> 'no' AND (reports = 'nothing' OR ($in_parts AND reports <> 'parts')) AS is_unknown
    FROM judged_quarters
    UNION ALL BY NAME
    SELECT run_id, model, 1 AS calls, true AS is_unknown FROM open_calls
)
SELECT paid.run_id, paid.job, latest.job_toml, call.model,
    coalesce(sum(call.calls) FILTER (call.is_unknown), 0)::BIGINT AS unknown_calls,
    coalesce(sum(call.prompt_tokens) FILTER (NOT call.is_unknown), 0)::BIGINT AS prompt_tokens,
    coalesce(sum(call.answer_tokens) FILTER (NOT call.is_unknown), 0)::BIGINT AS completion_tokens,
    coalesce(sum(call.reasoning_tokens) FILTER (NOT call.is_unknown), 0)::BIGINT AS reasoning_tokens,
    coalesce(sum(call.total_tokens) FILTER (NOT call.is_unknown), 0)::BIGINT AS total_tokens
FROM paid
JOIN latest ON latest.job = paid.job
JOIN call ON call.run_id = paid.paid_run_id
GROUP BY ALL
ORDER BY paid.job, paid.run_id DESC, call.model;
