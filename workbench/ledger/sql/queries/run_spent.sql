-- What the calls of every run drew since a moment, by day and model, with the run's job and tags. What calls may have drawn
-- without a report is bounded as in draws_by_segment, but that of uncapped_calls, which have no cap, by their requests only.
-- Parameters: since (a moment), zone (whose days), in_parts (whether a call that reports only its total counts as unknown),
-- tries (of the gateway)
WITH call AS (
    SELECT call_draws.*, CASE WHEN $in_parts THEN lacks_parts ELSE lacks_total END AS is_unknown
    FROM call_draws WHERE sent_at >= $since
),
asked AS MATERIALIZED (  -- else the bodies of all calls are joined first
    SELECT run_id, call_no, CASE WHEN call.drew = 'yes' THEN 1 ELSE $tries END AS tries, request.body_key
    FROM call JOIN requests AS request USING (run_id, call_no)
    WHERE call.is_unknown
),
bound AS (
    SELECT run_id, call_no, tries, octet_length(encode(body.body)) AS body_bytes, cap_of(body.body) AS cap
    FROM asked JOIN request_bodies AS body USING (body_key)
)
SELECT call.run_id, run.job, run.tags, CAST(call.sent_at AT TIME ZONE 'UTC' AT TIME ZONE $zone AS DATE) AS day, call.model,
    count(*) AS calls,
    coalesce(sum(call.prompt_tokens) FILTER (NOT call.is_unknown), 0)::BIGINT AS prompt_tokens,
    coalesce(sum(call.completion_tokens) FILTER (NOT call.is_unknown), 0)::BIGINT AS completion_tokens,
    coalesce(sum(call.reasoning_tokens) FILTER (NOT call.is_unknown), 0)::BIGINT AS reasoning_tokens,
    coalesce(sum(call.total_tokens) FILTER (NOT call.is_unknown), 0)::BIGINT AS total_tokens,
    count(*) FILTER (call.is_unknown AND bound.cap IS NULL) AS uncapped_calls,
    coalesce(sum(bound.tries * bound.body_bytes), 0)::BIGINT AS prompt_bound,
    coalesce(sum(bound.tries * bound.cap), 0)::BIGINT AS completion_bound
FROM call
JOIN (SELECT run_id, any_value(job) AS job, any_value(tags) AS tags FROM runs WHERE event = 'started' GROUP BY run_id) AS run
    USING (run_id)
LEFT JOIN bound USING (run_id, call_no)
GROUP BY ALL ORDER BY call.run_id, day, call.model;
