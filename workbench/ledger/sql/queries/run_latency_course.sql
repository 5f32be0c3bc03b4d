-- Median and 90 % latency in ms of a run's complete answers by model in the course of the run: equal spans of time, told by
-- the seconds from the run's first call to the middle of each.
-- Parameters: run_id, spans (how many)
WITH calls AS (SELECT model, sent_at, latency_ms FROM judged_attempts WHERE run_id = $run_id AND drew = 'yes'),
course AS (
    SELECT min(sent_at) AS first_at, greatest(epoch(max(ended_at) - min(sent_at)), 0.001) AS length_s
    FROM judged_attempts WHERE run_id = $run_id
),
placed AS (
    SELECT calls.*, length_s, least(floor(epoch(sent_at - first_at) / length_s * $spans), $spans - 1) AS span
    FROM calls, course
)
SELECT model, any_value(round((span + 0.5) * length_s / $spans, 6)) AS seconds, count(*) AS answers,
    round(quantile_cont(latency_ms, 0.5), 3) AS p50_ms, round(quantile_cont(latency_ms, 0.9), 3) AS p90_ms
FROM placed
GROUP BY model, span ORDER BY model, span;
