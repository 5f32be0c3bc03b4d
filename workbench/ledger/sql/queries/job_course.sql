-- The newest runs of a job by model (and variant), the oldest first: mean of the scores that count by the job's first scorer,
-- completion tokens an answer, median latency of answers in ms, shares of requests without an answer and of fallbacks.
-- Parameters: job, most (how many runs)
WITH newest AS (
    SELECT run_id, started_at, scorers[1] AS scorer FROM run_overview
    WHERE job = $job ORDER BY started_at DESC, run_id DESC LIMIT $most
),
judged AS (
    SELECT run_id, request_key, arg_max({value: value}, recorded_at).value AS value
    FROM scores JOIN newest USING (run_id, scorer)
    GROUP BY run_id, request_key
)
SELECT newest.run_id, newest.started_at, item.side AS model, count(*) AS requests,
    avg(judged.value) FILTER (who.counts) AS mean, count(judged.value) FILTER (who.counts) AS scored,
    avg(item.completion_tokens) FILTER (item.accepted) AS completion_tokens,
    quantile_cont(item.latency_ms, 0.5) FILTER (item.accepted) AS p50_ms,
    count(*) FILTER (item.accepted IS NOT TRUE) / count(*) AS failed_share,
    count(*) FILTER (who.identity = 'fallback') / count(*) AS fallback_share
FROM newest
JOIN item_outcomes AS item ON item.run_id = newest.run_id
JOIN item_identities AS who ON who.run_id = item.run_id AND who.request_key = item.request_key
LEFT JOIN judged ON judged.run_id = item.run_id AND judged.request_key = item.request_key
GROUP BY newest.run_id, newest.started_at, item.side
ORDER BY newest.started_at, newest.run_id, item.side;
