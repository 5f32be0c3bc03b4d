-- What our calls drew, by the segments that their sending and their end fall into (0: before the first edge; n: from the n-th
-- edge on; ended_segment NULL: no end is recorded), and by model and job. unknown_calls may have drawn without a report: their
-- bounds are the bytes of their requests (a token is at least one) and their caps, `tries` times where they failed or have no
-- end, as the gateway may have tried them again; uncapped_calls of them have no cap, and so no bound.
-- Parameters: edges (list of moments, ascending), since (a moment; earlier calls are left out), in_parts (whether a call that
-- reports only its total counts as unknown), tries (of the gateway)
WITH edge AS (
    SELECT given.at, given.segment, lead(given.at, 1, 'infinity'::TIMESTAMP) OVER (ORDER BY given.at) AS next_at
    FROM (
        SELECT '-infinity'::TIMESTAMP AS at, 0 AS segment
        UNION ALL
        SELECT unnest($edges::TIMESTAMP[]), unnest(range(1, len($edges::TIMESTAMP[]) + 1))
    ) AS given
),
known AS (  -- most quarters of an hour lie between two edges: then their sums do
    SELECT used.*, edge.segment,
        used.first_sent_at >= $since AND greatest(used.last_sent_at, used.last_ended_at) < edge.next_at AS is_whole
    FROM judged_quarters AS used ASOF JOIN edge ON used.first_sent_at >= edge.at
    WHERE used.last_sent_at >= $since
        AND (used.drew = 'no' OR used.reports = 'parts' OR (used.reports = 'total' AND NOT $in_parts))
),
divided AS (SELECT DISTINCT run_id, model, quarter_at FROM known WHERE NOT is_whole),
call AS (
    SELECT *, CASE WHEN $in_parts THEN lacks_parts ELSE lacks_total END AS is_unknown, time_bucket(INTERVAL 15 MINUTE, sent_at) AS quarter_at,
        CASE WHEN drew = 'yes' THEN 1 ELSE $tries END AS tries
    FROM call_draws WHERE sent_at >= $since
),
apart AS (
    SELECT one.*, sent.segment AS sent_segment,
        CASE WHEN one.ended_at IS NOT NULL THEN greatest(sent.segment, ended.segment) END AS ended_segment
    FROM (FROM call WHERE is_unknown UNION ALL FROM call SEMI JOIN divided USING (run_id, model, quarter_at) WHERE NOT is_unknown) AS one
    ASOF JOIN edge AS sent ON one.sent_at >= sent.at
    ASOF JOIN edge AS ended ON coalesce(one.ended_at, one.sent_at) >= ended.at
),
asked AS MATERIALIZED (  -- else the bodies of all calls are joined first
    SELECT run_id, call_no, call.tries, request.body_key FROM apart AS call JOIN requests AS request USING (run_id, call_no)
    WHERE call.is_unknown
),
bound AS (
    SELECT run_id, call_no, tries * octet_length(encode(body.body)) AS prompt_bound, tries * cap_of(body.body) AS completion_bound
    FROM asked JOIN request_bodies AS body USING (body_key)
),
total AS (
    SELECT segment AS sent_segment, segment AS ended_segment, model, run_id, sum(calls) AS calls, sum(prompt_tokens) AS prompt_tokens,
        sum(answer_tokens) AS completion_tokens, sum(reasoning_tokens) AS reasoning_tokens, sum(total_tokens) AS total_tokens,
        0 AS unknown_calls, 0 AS uncapped_calls, 0 AS prompt_bound, 0 AS completion_bound
    FROM known ANTI JOIN divided USING (run_id, model, quarter_at) GROUP BY ALL
    UNION ALL
    SELECT call.sent_segment, call.ended_segment, call.model, call.run_id, count(*) AS calls,
        sum(call.prompt_tokens) FILTER (NOT call.is_unknown), sum(call.completion_tokens) FILTER (NOT call.is_unknown),
        sum(call.reasoning_tokens) FILTER (NOT call.is_unknown), sum(call.total_tokens) FILTER (NOT call.is_unknown),
        count(*) FILTER (call.is_unknown),
        count(*) FILTER (call.is_unknown AND bound.completion_bound IS NULL),
        sum(bound.prompt_bound) FILTER (bound.completion_bound IS NOT NULL), sum(bound.completion_bound)
    FROM apart AS call
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
