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
    SELECT run_id, call_no, model, sent_at, ended_at, prompt_tokens, completion_tokens, reasoning_tokens,
        total_tokens, CASE WHEN $in_parts THEN lacks_parts ELSE lacks_total END AS is_unknown,
        CASE WHEN drew = 'yes' THEN 1 ELSE $tries END AS tries
    FROM call_draws WHERE sent_at >= $since
),
sent AS (
    SELECT call.*, coalesce(edge.segment, 0) AS sent_segment,
        coalesce(call.ended_at >= edge.next_at, edge.at IS NULL) AS ends_later
    FROM call ASOF LEFT JOIN edge ON call.sent_at >= edge.at
),
apart AS (SELECT * FROM sent WHERE ends_later OR is_unknown),
ended_later AS (
    SELECT late.run_id, late.call_no, edge.segment
    FROM (SELECT run_id, call_no, ended_at FROM apart WHERE ends_later) AS late ASOF LEFT JOIN edge ON late.ended_at >= edge.at
),
asked AS MATERIALIZED (  -- else the bodies of all calls are joined first
    SELECT run_id, call_no, call.tries, request.body_key FROM apart AS call JOIN requests AS request USING (run_id, call_no)
    WHERE call.is_unknown
),
bound AS (
    SELECT run_id, call_no, tries * octet_length(encode(body.body)) AS prompt_bound, tries * cap_of(body.body) AS completion_bound
    FROM asked JOIN request_bodies AS body USING (body_key)
),
total AS (  -- most calls end in the segment in which they were sent, and report what they drew: to join those too takes ten times as long
    SELECT sent_segment, CASE WHEN ended_at IS NOT NULL THEN sent_segment END AS ended_segment, model, run_id, count(*) AS calls,
        sum(prompt_tokens) AS prompt_tokens, sum(completion_tokens) AS completion_tokens,
        sum(reasoning_tokens) AS reasoning_tokens, sum(total_tokens) AS total_tokens,
        0 AS unknown_calls, 0 AS uncapped_calls, 0 AS prompt_bound, 0 AS completion_bound
    FROM sent WHERE NOT ends_later AND NOT is_unknown GROUP BY ALL
    UNION ALL
    SELECT call.sent_segment,
        CASE WHEN call.ended_at IS NOT NULL THEN coalesce(ended_later.segment, call.sent_segment) END AS ended_segment,
        call.model, call.run_id, count(*) AS calls,
        sum(call.prompt_tokens) FILTER (NOT call.is_unknown), sum(call.completion_tokens) FILTER (NOT call.is_unknown),
        sum(call.reasoning_tokens) FILTER (NOT call.is_unknown), sum(call.total_tokens) FILTER (NOT call.is_unknown),
        count(*) FILTER (call.is_unknown),
        count(*) FILTER (call.is_unknown AND bound.completion_bound IS NULL),
        sum(bound.prompt_bound) FILTER (bound.completion_bound IS NOT NULL), sum(bound.completion_bound)
    FROM apart AS call
    LEFT JOIN ended_later USING (run_id, call_no)
    LEFT JOIN bound USING (run_id, call_no)
    GROUP BY ALL
)
SELECT total.sent_segment, total.ended_segment, total.model, run.job,
    coalesce(sum(calls), 0)::BIGINT AS calls,
    coalesce(sum(prompt_tokens), 0)::BIGINT AS prompt_tokens,
    coalesce(sum(completion_tokens), 0)::BIGINT AS completion_tokens,
    coalesce(sum(reasoning_tokens), 0)::BIGINT AS reasoning_tokens,
    coalesce(sum(total_tokens), 0)::BIGINT AS total_tokens,
    coalesce(sum(unknown_calls), 0)::BIGINT AS unknown_calls,
    coalesce(sum(uncapped_calls), 0)::BIGINT AS uncapped_calls,
    coalesce(sum(prompt_bound), 0)::BIGINT AS prompt_bound,
    coalesce(sum(completion_bound), 0)::BIGINT AS completion_bound
FROM total
LEFT JOIN (SELECT run_id, any_value(job) AS job FROM runs WHERE event = 'started' GROUP BY run_id) AS run USING (run_id)
GROUP BY ALL
ORDER BY sent_segment, ended_segment, total.model, run.job;
