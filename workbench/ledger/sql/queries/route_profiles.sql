-- What a simulation of each requested model needs: its own name, latency in ms and completion tokens as the median and the standard
-- deviation of the logarithm; how its calls ended; who answered in its place most. NULL where there is too little.
-- Parameters: none
WITH call AS (
    SELECT attempt.*, who.identity
    FROM attempts AS attempt
    LEFT JOIN served_identities AS who
        ON who.run_id = attempt.run_id AND who.model = attempt.model
        AND who.served_model IS NOT DISTINCT FROM attempt.served_model
    WHERE attempt.outcome <> 'cancelled'
)
SELECT model, count(*) AS calls,
    count(*) FILTER (drew = 'yes' AND identity = 'fallback') AS fallbacks,
    mode(served_model) FILTER (drew = 'yes' AND identity = 'fallback') AS substitute,
    mode(served_model) FILTER (drew = 'yes' AND identity <> 'fallback') AS served_name,
    quantile_cont(latency_ms, 0.5) FILTER (drew = 'yes' AND identity <> 'fallback') AS p50_ms,
    stddev_samp(ln(greatest(latency_ms, 1))) FILTER (drew = 'yes' AND identity <> 'fallback') AS latency_sigma,
    quantile_cont(latency_ms, 0.99) FILTER (drew = 'yes' AND identity <> 'fallback') AS p99_ms,
    quantile_cont(completion_tokens, 0.5) FILTER (drew = 'yes' AND identity <> 'fallback') AS p50_completion_tokens,
    stddev_samp(ln(greatest(completion_tokens, 1))) FILTER (drew = 'yes' AND identity <> 'fallback') AS completion_sigma,
    quantile_cont(latency_ms, 0.5) FILTER (outcome = 'gateway_timeout') AS timeout_ms,
    count(*) FILTER (outcome = 'route_down') AS route_down,
    count(*) FILTER (outcome = 'gateway_timeout') AS gateway_timeout,
    count(*) FILTER (outcome IN ('rate_limited', 'route_cooling')) AS rate_limited,
    count(*) FILTER (outcome = 'client_timeout') AS client_timeout,
    count(*) FILTER (outcome = 'bad_request') AS bad_request,
    count(*) FILTER (outcome IN ('null_body', 'malformed_body', 'html_body', 'empty', 'unknown')) AS other_failures,
    count(*) FILTER (outcome = 'connection_lost') AS connection_lost,
    count(*) FILTER (outcome = 'gateway_unreachable') AS gateway_unreachable,
    count(*) FILTER (outcome = 'route_unauthorised') AS route_unauthorised,
    count(*) FILTER (drew = 'yes') AS answers,
    count(*) FILTER (drew = 'yes' AND total_tokens IS NULL) AS calls_without_usage,
    coalesce(sum(reasoning_tokens), 0)::BIGINT AS reasoning_tokens
FROM call GROUP BY model ORDER BY model;
