-- How every requested model's newest calls since a moment ended, and how long its answers took since then, beside all before;
-- which of them lack usage, or a tool call that was forced (probes aside); each with the first and the last time it was so.
-- latency in ms. Calls whose end says nothing of the route, as an exhausted allowance, are left out; of a model without others
-- there is no row.
-- Parameters: since, newest (how many calls a model)
WITH concluded AS NOT MATERIALIZED (SELECT * FROM judged_attempts WHERE outcome NOT IN (SELECT outcome FROM outcomes WHERE route = '')),
recent AS MATERIALIZED (SELECT * FROM concluded WHERE sent_at >= $since),
newest AS (
    SELECT model, unnest(arg_max({accepted: accepted, outcome: outcome, sent_at: sent_at}, sent_at, $newest)) AS call
    FROM recent GROUP BY model
),
ended AS (
    SELECT model, count(*) AS newest_calls, count(*) FILTER (NOT call.accepted) AS newest_failed,
        mode(call.outcome) FILTER (NOT call.accepted) AS newest_failure,
        min(call.sent_at) FILTER (NOT call.accepted) AS failed_first_at,
        max(call.sent_at) FILTER (NOT call.accepted) AS failed_last_at
    FROM newest GROUP BY model
),
answered AS (
    SELECT model, count(*) AS answers, quantile_cont(latency_ms, 0.5) AS p50_ms, min(sent_at) AS first_at,
        max(sent_at) AS last_at, count(*) FILTER (total_tokens IS NULL) AS calls_without_usage,
        min(sent_at) FILTER (total_tokens IS NULL) AS without_first_at,
        max(sent_at) FILTER (total_tokens IS NULL) AS without_last_at
    FROM recent WHERE drew = 'yes' GROUP BY model
),
forced AS (
    SELECT request.model, count(*) AS forced, count(called.call_no) AS called,
        min(recent.sent_at) FILTER (called.call_no IS NULL) AS prose_first_at,
        max(recent.sent_at) FILTER (called.call_no IS NULL) AS prose_last_at
    FROM requests AS request
    JOIN recent USING (run_id, call_no)
    LEFT JOIN (SELECT DISTINCT run_id, call_no FROM tool_calls SEMI JOIN recent USING (run_id, call_no)) AS called
        USING (run_id, call_no)
    WHERE request.tools = 'forced' AND recent.drew = 'yes' AND request.run_id NOT IN (SELECT run_id FROM probe_runs)
    GROUP BY request.model
),
ever AS (
    SELECT model, max(sent_at) AS last_at, count(*) FILTER (drew = 'yes' AND sent_at < $since) AS earlier_answers,
        quantile_cont(latency_ms, 0.5) FILTER (drew = 'yes' AND sent_at < $since) AS earlier_p50_ms,
        min(sent_at) FILTER (drew = 'yes' AND sent_at < $since) AS earlier_from,
        max(sent_at) FILTER (drew = 'yes' AND sent_at < $since) AS earlier_until
    FROM concluded GROUP BY model
)
SELECT ever.model, ever.last_at, coalesce(ended.newest_calls, 0) AS newest_calls,
    coalesce(ended.newest_failed, 0) AS newest_failed, ended.newest_failure, ended.failed_first_at,
    ended.failed_last_at, coalesce(answered.answers, 0) AS now_answers,
    answered.p50_ms AS now_p50_ms, answered.first_at AS now_first_at, answered.last_at AS now_last_at,
    ever.earlier_answers, ever.earlier_p50_ms, ever.earlier_from, ever.earlier_until,
    coalesce(answered.calls_without_usage, 0) AS calls_without_usage, answered.without_first_at, answered.without_last_at,
    coalesce(forced.forced, 0) AS tools_forced, coalesce(forced.called, 0) AS forced_and_called,
    forced.prose_first_at, forced.prose_last_at
FROM ever LEFT JOIN ended USING (model) LEFT JOIN answered USING (model) LEFT JOIN forced USING (model) ORDER BY ever.model;
