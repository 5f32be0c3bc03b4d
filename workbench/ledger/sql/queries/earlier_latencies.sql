-- How long answers to some samples took before, by model and sample: the mean logarithm of their ms.
-- Parameters: models (list), sample_keys (list)
SELECT model, sample_key, avg(ln(latency_ms)) AS log_ms
FROM judged_attempts
WHERE accepted AND latency_ms > 0 AND list_contains($models::VARCHAR[], model)
    AND sample_key IN (SELECT unnest($sample_keys::VARCHAR[]))
GROUP BY model, sample_key;
