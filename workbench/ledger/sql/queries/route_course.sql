-- Calls, failures and latency in ms of every requested model by span of time; latency is of answers.
-- Parameters: span (day | hour | minute)
SELECT model, date_trunc($span, sent_at) AS from_at, count(*) AS calls, count(*) FILTER (NOT accepted) AS not_accepted,
    quantile_cont(latency_ms, 0.5) FILTER (drew = 'yes') AS p50_ms,
    quantile_cont(latency_ms, 0.9) FILTER (drew = 'yes') AS p90_ms
FROM attempts GROUP BY model, from_at ORDER BY model, from_at;
