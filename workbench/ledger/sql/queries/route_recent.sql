-- How every requested model's newest calls ended, and how long its answers took in the seven days up to the ledger's newest call,
-- beside all before them; between which times these are.
-- Parameters: newest (how many calls a model)
WITH concluded AS (SELECT * FROM judged_attempts WHERE concluded),
ledger AS (SELECT max(sent_at) AS newest_at FROM concluded),
newest AS (
    SELECT model, unnest(arg_max({accepted: accepted, outcome: outcome}, sent_at, $newest)) AS call FROM concluded GROUP BY model
),
ended AS (
    SELECT model, count(*) AS newest_calls, count(*) FILTER (NOT call.accepted) AS newest_failed,
        mode(call.outcome) FILTER (NOT call.accepted) AS newest_failure
    FROM newest GROUP BY model
),
answered AS (
    SELECT model, latency_ms, sent_at, sent_at > newest_at - INTERVAL 7 DAY AS now FROM concluded, ledger WHERE drew = 'yes'
),
took AS (
    SELECT model, count(*) FILTER (now) AS now_answers, count(*) FILTER (NOT now) AS earlier_answers,
        quantile_cont(latency_ms, 0.5) FILTER (now) AS now_p50_ms, quantile_cont(latency_ms, 0.5) FILTER (NOT now) AS earlier_p50_ms,
        min(sent_at) FILTER (NOT now) AS earlier_from, max(sent_at) FILTER (NOT now) AS earlier_until
    FROM answered GROUP BY model
)
SELECT ended.model, newest_calls, newest_failed, newest_failure, coalesce(now_answers, 0) AS now_answers,
    coalesce(earlier_answers, 0) AS earlier_answers, now_p50_ms, earlier_p50_ms, earlier_from, earlier_until, newest_at
FROM ended CROSS JOIN ledger LEFT JOIN took USING (model) ORDER BY ended.model;
