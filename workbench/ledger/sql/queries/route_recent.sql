-- How every requested model's newest calls ended, and how long its answers took in the seven days up to the ledger's newest call,
-- beside all before them; between which times these are.
-- Parameters: newest (how many calls a model)
WITH numbered AS (
    SELECT model, accepted, drew = 'yes' AS answered, outcome, latency_ms, sent_at,
        row_number() OVER (PARTITION BY model ORDER BY sent_at DESC) <= $newest AS newest,
        max(sent_at) OVER () AS newest_at, sent_at > newest_at - INTERVAL 7 DAY AS now
    FROM judged_attempts WHERE concluded
)
SELECT model, count(*) FILTER (newest) AS newest_calls,
    count(*) FILTER (newest AND NOT accepted) AS newest_failed,
    mode(outcome) FILTER (newest AND NOT accepted) AS newest_failure,
    count(*) FILTER (now AND answered) AS now_answers,
    count(*) FILTER (NOT now AND answered) AS earlier_answers,
    quantile_cont(latency_ms, 0.5) FILTER (now AND answered) AS now_p50_ms,
    quantile_cont(latency_ms, 0.5) FILTER (NOT now AND answered) AS earlier_p50_ms,
    min(sent_at) FILTER (NOT now AND answered) AS earlier_from,
    max(sent_at) FILTER (NOT now AND answered) AS earlier_until,
    any_value(newest_at) AS newest_at
FROM numbered GROUP BY model ORDER BY model;
