-- What a simulation of each requested model needs: its own name, latency in ms and completion tokens as the median and the standard
-- deviation of the logarithm; how many calls ended like which fault of a simulated route; who answered in its place most; and of a
-- preset its base, by the newest model list that has it. NULL where there is too little.
-- Parameters: none
WITH call AS (
    SELECT attempt.*, who.identity
    FROM judged_attempts AS attempt
    LEFT JOIN served_identities AS who
        ON who.run_id = attempt.run_id AND who.model = attempt.model
        AND who.served_model IS NOT DISTINCT FROM attempt.served_model
    WHERE attempt.concluded
),
listed AS (SELECT model, arg_max({base: base}, recorded_at).base AS base FROM models_seen GROUP BY model)
SELECT model, count(*) AS calls,
    count(*) FILTER (drew = 'yes' AND identity IN ('fallback', 'suspected')) AS fallbacks,
    mode(served_model) FILTER (drew = 'yes' AND identity IN ('fallback', 'suspected')) AS substitute,
    mode(served_model) FILTER (drew = 'yes' AND identity NOT IN ('fallback', 'suspected')) AS served_name,
    quantile_cont(latency_ms, 0.5) FILTER (drew = 'yes' AND identity NOT IN ('fallback', 'suspected')) AS p50_ms,
    stddev_samp(ln(greatest(latency_ms, 1))) FILTER (drew = 'yes' AND identity NOT IN ('fallback', 'suspected')) AS latency_sigma,
    quantile_cont(latency_ms, 0.99) FILTER (drew = 'yes' AND identity NOT IN ('fallback', 'suspected')) AS p99_ms,
    quantile_cont(completion_tokens, 0.5) FILTER (drew = 'yes' AND identity NOT IN ('fallback', 'suspected')) AS p50_completion_tokens,
    stddev_samp(ln(greatest(completion_tokens, 1))) FILTER (drew = 'yes' AND identity NOT IN ('fallback', 'suspected')) AS completion_sigma,
    quantile_cont(latency_ms, 0.5) FILTER (resembles = 'hang') AS timeout_ms,
    histogram(resembles) FILTER (resembles <> '') AS ends,
    count(*) FILTER (drew = 'yes') AS answers,
    count(*) FILTER (drew = 'yes' AND total_tokens IS NULL) AS calls_without_usage,
    coalesce(sum(reasoning_tokens), 0)::BIGINT AS reasoning_tokens,
    any_value(listed.base) AS base
FROM call LEFT JOIN listed USING (model) GROUP BY model ORDER BY model;
