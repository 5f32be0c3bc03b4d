-- Calls, failures, answers of other models, missing usage and latency in ms of every requested model by span of time; latency
-- is of answers. Cancelled calls are left out.
-- Parameters: span (day | hour | minute), zone (whose days and hours)
WITH other AS (SELECT run_id, model, served_model FROM served_identities WHERE identity IN ('fallback', 'suspected')),
span AS (  -- zones differ by quarters of an hour: to convert each call's time would take most of the query's time
    SELECT quarter_at, date_trunc($span, quarter_at AT TIME ZONE 'UTC' AT TIME ZONE $zone) AT TIME ZONE $zone AT TIME ZONE 'UTC' AS from_at
    FROM (SELECT DISTINCT quarter_at FROM judged_quarters)
),
call AS (
    SELECT run_id, model, served_model, from_at, accepted, drew, reports = 'nothing' AS lacks_usage, calls
    FROM judged_quarters JOIN span USING (quarter_at) WHERE concluded AND $span <> 'minute'
    UNION ALL
    SELECT run_id, model, served_model, date_trunc('minute', sent_at), accepted, drew, total_tokens IS NULL, 1
    FROM judged_attempts WHERE concluded AND $span = 'minute'
),
counted AS (
    SELECT call.model, from_at, sum(calls)::BIGINT AS calls,
        coalesce(sum(calls) FILTER (NOT accepted), 0)::BIGINT AS not_accepted,
        coalesce(sum(calls) FILTER (drew = 'yes'), 0)::BIGINT AS answers,
        coalesce(sum(calls) FILTER (drew = 'yes' AND other.run_id IS NOT NULL), 0)::BIGINT AS fallbacks,
        coalesce(sum(calls) FILTER (drew = 'yes' AND lacks_usage), 0)::BIGINT AS calls_without_usage
    FROM call
    LEFT JOIN other ON other.run_id = call.run_id AND other.model = call.model AND other.served_model = call.served_model
    GROUP BY call.model, from_at
),
latency AS (
    SELECT model, CASE WHEN $span = 'minute' THEN date_trunc('minute', sent_at) ELSE from_at END AS from_at,
        quantile_cont(latency_ms, [0.5, 0.9]) AS quantiles
    FROM judged_attempts JOIN span ON quarter_at = time_bucket(INTERVAL 15 MINUTE, sent_at)
    WHERE concluded AND drew = 'yes' GROUP BY ALL
)
SELECT counted.*, quantiles[1] AS p50_ms, quantiles[2] AS p90_ms
FROM counted LEFT JOIN latency USING (model, from_at) ORDER BY model, from_at;
