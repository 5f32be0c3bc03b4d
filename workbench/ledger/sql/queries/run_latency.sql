-- Latency in ms of a run's own complete answers by model.
-- Parameters: run_id
SELECT concat_ws(' · ', attempt.model, item.variant) AS model, count(*) AS answers, quantile_cont(latency_ms, 0.1) AS p10_ms,
    quantile_cont(latency_ms, 0.25) AS p25_ms,
    quantile_cont(latency_ms, 0.5) AS p50_ms, quantile_cont(latency_ms, 0.75) AS p75_ms,
    quantile_cont(latency_ms, 0.9) AS p90_ms, quantile_cont(latency_ms, 0.99) AS p99_ms, max(latency_ms) AS max_ms
FROM judged_attempts AS attempt LEFT JOIN run_items AS item USING (run_id, request_key)
WHERE run_id = $run_id AND drew = 'yes'
GROUP BY ALL ORDER BY model;
