-- Requested model by served model and outcome, over everything the ledger holds. latency in ms, of complete answers.
CREATE OR REPLACE VIEW route_behaviour AS
SELECT
    model,
    served_model,
    outcome,
    count(*) AS calls,
    quantile_cont(latency_ms, 0.5) FILTER (sent = 'answered') AS median_latency_ms,
    quantile_cont(latency_ms, 0.9) FILTER (sent = 'answered') AS p90_latency_ms,
    min(sent_at) AS first_at,
    max(sent_at) AS last_at
FROM judged_attempts
GROUP BY model, served_model, outcome;
