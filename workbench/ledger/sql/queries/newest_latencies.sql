-- Latencies of the newest answers of some models, in ms, oldest first.
-- Parameters: models (list), most (answers of each model)
SELECT model, list(latency_ms ORDER BY sent_at) AS latencies_ms
FROM (
    SELECT model, latency_ms, sent_at FROM judged_attempts
    WHERE accepted AND model IN (SELECT unnest($models::VARCHAR[]))
    QUALIFY row_number() OVER (PARTITION BY model ORDER BY sent_at DESC) <= $most
)
GROUP BY model;
