-- Answers so late that the gateway may have tried before, unseen: longer than one try may last (limit_ms, as the run assumed),
-- or as long as one or two tries that failed fast and an answer. try_ms: of a failure's median, one of its tries; NULL where
-- there are few failures, or where an answer takes as long as such a try. latency in ms.
-- Parameters: medians_ms (model -> what its answers usually take), tries (of the gateway), margin_s (beyond them in a run's time
-- limit), least_failures, times (a try to an answer)
WITH assumed AS (
    SELECT run_id, entry.key AS model,
        1000 * (TRY_CAST(regexp_extract(entry.value, '([0-9.e+]+) s a call', 1) AS DOUBLE) - $margin_s::DOUBLE) / $tries::DOUBLE AS limit_ms
    FROM (SELECT run_id, unnest(map_entries(limits)) AS entry FROM runs WHERE event = 'started' AND limits IS NOT NULL)
),
failing AS (
    SELECT model, quantile_cont(latency_ms, 0.5) / $tries::DOUBLE AS try_ms, count(*) AS failures
    FROM judged_attempts WHERE resembles = 'down' GROUP BY model
),
known AS (
    SELECT usual.key AS model, usual.value AS p50_ms, coalesce(failing.failures, 0) AS failures,
        CASE WHEN failures >= $least_failures AND failing.try_ms >= $times::DOUBLE * p50_ms THEN failing.try_ms END AS try_ms
    FROM (SELECT unnest(map_entries($medians_ms::MAP(VARCHAR, DOUBLE)), recursive := true)) AS usual
    LEFT JOIN failing ON failing.model = usual.key
)
SELECT attempt.model, any_value(known.failures) AS failures, any_value(known.p50_ms) AS p50_ms,
    any_value(known.try_ms) AS try_ms, min(assumed.limit_ms) FILTER (attempt.latency_ms > assumed.limit_ms) AS limit_ms,
    max(attempt.latency_ms) FILTER (attempt.latency_ms > assumed.limit_ms) AS longest_ms,
    count(*) FILTER (attempt.latency_ms > assumed.limit_ms) AS beyond_limit,
    count(*) FILTER (
        attempt.latency_ms <= coalesce(assumed.limit_ms, 'infinity'::DOUBLE)
        AND (attempt.latency_ms - known.try_ms BETWEEN known.p50_ms / 2 AND 2 * known.p50_ms
            OR attempt.latency_ms - 2 * known.try_ms BETWEEN known.p50_ms / 2 AND 2 * known.p50_ms)
    ) AS near_failures
FROM judged_attempts AS attempt
JOIN known USING (model)
LEFT JOIN assumed ON assumed.run_id = attempt.run_id AND assumed.model = attempt.model
WHERE attempt.drew = 'yes' AND (known.try_ms IS NOT NULL OR attempt.latency_ms > (SELECT min(limit_ms) FROM assumed))
GROUP BY attempt.model HAVING beyond_limit + near_failures > 0 ORDER BY attempt.model;
