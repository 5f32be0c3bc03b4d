-- What our calls drew, by the segments that their sending and their end fall into (0: before the first edge; n: from the n-th
-- edge on; ended_segment NULL: no end is recorded), and by model and job. unknown_calls may have drawn without a report: their
-- bounds are the bytes of their requests (a token is at least one) and their caps, `tries` times where they failed or have no
-- end, as the gateway may have tried them again; uncapped_calls of them have no cap, and so no bound.
-- Parameters: edges (list of moments, ascending), since (a moment; earlier calls are left out), in_parts (whether a call that
-- reports only its total counts as unknown), tries (of the gateway)
WITH edge AS (
    SELECT given.at, given.segment, lead(given.at, 1, 'infinity'::TIMESTAMP) OVER (ORDER BY given.at) AS next_at
    FROM (
        SELECT unnest($edges::TIMESTAMP[]) AS at, unnest(range(1, len($edges::TIMESTAMP[]) + 1)) AS segment
    ) AS given
),
call AS (
    SELECT run_id, call_no, model, body_key, sent_at, ended_at, scorable, prompt_tokens, completion_tokens, reasoning_tokens,
        total_tokens, CASE WHEN $in_parts THEN lacks_parts ELSE lacks_total END AS is_unknown,
        CASE WHEN drew = 'yes' THEN 1 ELSE $tries END AS tries
    FROM call_draws WHERE sent_at >= $since
),
sent AS (
    SELECT call.*, coalesce(edge.segment, 0) AS sent_segment,
        coalesce(call.ended_at >= edge.next_at, edge.at IS NULL) AS ends_later
    FROM call ASOF LEFT JOIN edge ON call.sent_at >= edge.at
),
ended_later AS (
    SELECT late.run_id, late.call_no, edge.segment
    FROM (SELECT run_id, call_no, ended_at FROM sent WHERE ends_later) AS late ASOF LEFT JOIN edge ON late.ended_at >= edge.at
),
bound AS (
    SELECT call.run_id, call.call_no, call.tries * octet_length(encode(body.body)) AS prompt_bound,
        call.tries * cap_of(body.body) AS completion_bound
    FROM call JOIN request_bodies AS body USING (body_key)
    WHERE call.is_unknown
)
SELECT call.sent_segment,
    CASE WHEN call.ended_at IS NOT NULL THEN coalesce(ended_later.segment, call.sent_segment) END AS ended_segment,
    call.model, run.job, count(*) AS calls, count(*) FILTER (call.scorable) AS answered,
    coalesce(sum(call.prompt_tokens) FILTER (NOT call.is_unknown), 0)::BIGINT AS prompt_tokens,
    coalesce(sum(call.completion_tokens) FILTER (NOT call.is_unknown), 0)::BIGINT AS completion_tokens,
    coalesce(sum(call.reasoning_tokens) FILTER (NOT call.is_unknown), 0)::BIGINT AS reasoning_tokens,
    coalesce(sum(call.total_tokens) FILTER (NOT call.is_unknown), 0)::BIGINT AS total_tokens,
    count(*) FILTER (call.is_unknown) AS unknown_calls,
    count(*) FILTER (call.is_unknown AND bound.completion_bound IS NULL) AS uncapped_calls,
    coalesce(sum(bound.prompt_bound) FILTER (bound.completion_bound IS NOT NULL), 0)::BIGINT AS prompt_bound,
    coalesce(sum(bound.completion_bound), 0)::BIGINT AS completion_bound
FROM sent AS call
LEFT JOIN ended_later USING (run_id, call_no)
LEFT JOIN bound USING (run_id, call_no)
LEFT JOIN (SELECT run_id, any_value(job) AS job FROM runs WHERE event = 'started' GROUP BY run_id) AS run USING (run_id)
GROUP BY ALL
ORDER BY sent_segment, ended_segment, call.model, run.job;
