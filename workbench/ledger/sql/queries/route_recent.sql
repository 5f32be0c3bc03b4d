-- The newest calls of every requested model beside those before them, where a route may have changed.
-- Parameters: newest (how many calls a model)
WITH numbered AS (
    SELECT model, accepted, drew, outcome, latency_ms, row_number() OVER (PARTITION BY model ORDER BY sent_at DESC) AS back
    FROM judged_attempts WHERE concluded
)
SELECT model, count(*) FILTER (back <= $newest) AS newest_calls,
    count(*) FILTER (back <= $newest AND drew = 'yes') AS newest_answers,
    count(*) FILTER (back > $newest AND drew = 'yes') AS earlier_answers,
    count(*) FILTER (back <= $newest AND NOT accepted) AS newest_failed,
    mode(outcome) FILTER (back <= $newest AND NOT accepted) AS newest_failure,
    quantile_cont(latency_ms, 0.5) FILTER (back <= $newest AND drew = 'yes') AS newest_p50_ms,
    quantile_cont(latency_ms, 0.5) FILTER (back > $newest AND drew = 'yes') AS earlier_p50_ms
FROM numbered GROUP BY model ORDER BY model;
