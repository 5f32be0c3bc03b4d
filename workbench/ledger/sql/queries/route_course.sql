-- Calls, failures, answers of other models, missing usage and latency in ms of every requested model by span of time; latency
-- is of answers. Cancelled calls are left out.
-- Parameters: span (day | hour | minute), zone (whose days and hours)
WITH other AS (SELECT run_id, model, served_model FROM served_identities WHERE identity IN ('fallback', 'suspected')),
attempt AS (
    SELECT run_id, model, served_model, sent_at, time_bucket(INTERVAL 15 MINUTE, sent_at) AS quarter, accepted, drew, total_tokens, latency_ms
    FROM judged_attempts WHERE concluded
),
span AS (  -- see `route_days`
    SELECT quarter, date_trunc($span, quarter AT TIME ZONE 'UTC' AT TIME ZONE $zone) AT TIME ZONE $zone AT TIME ZONE 'UTC' AS from_at
    FROM (SELECT DISTINCT quarter FROM attempt)
)
SELECT * EXCLUDE (quantiles), quantiles[1] AS p50_ms, quantiles[2] AS p90_ms FROM (
    SELECT attempt.model, CASE WHEN $span = 'minute' THEN date_trunc('minute', sent_at) ELSE span.from_at END AS from_at, count(*) AS calls,
        count(*) FILTER (NOT accepted) AS not_accepted, count(*) FILTER (drew = 'yes') AS answers,
        count(*) FILTER (drew = 'yes' AND other.run_id IS NOT NULL) AS fallbacks,
        count(*) FILTER (drew = 'yes' AND total_tokens IS NULL) AS calls_without_usage,
        quantile_cont(latency_ms, [0.5, 0.9]) FILTER (drew = 'yes') AS quantiles
    FROM attempt JOIN span ON span.quarter = attempt.quarter
    LEFT JOIN other
        ON other.run_id = attempt.run_id AND other.model = attempt.model AND other.served_model = attempt.served_model
    GROUP BY ALL
) ORDER BY model, from_at;
