-- The newest runs of a job, of an occasion one (see `occasion_runs`), by model (and variant), the oldest first: mean over samples
-- (see `sample_scores`) by the job's first scorer that are known, with how often it has each value, and what it has at the least and
-- at the most (see `run_scores`), completion tokens an answer, median latency of answers in ms, the share of requests without
-- an answer, that of answers by a fallback (NULL without answers), the name that most other answers were served under, and the
-- other model that gave more than half of the answers, where one did.
-- Parameters: job, most (how many runs)
WITH newest AS (
    SELECT run_id, occasion_runs.started_at, scorers[1] AS scorer
    FROM occasion_runs JOIN run_overview USING (run_id)
    WHERE occasion_runs.job = $job ORDER BY occasion_runs.started_at DESC, run_id DESC LIMIT $most
),
item AS (
    SELECT newest.started_at, item.run_id, item.side, item.accepted, item.completion_tokens, item.latency_ms,
        item.served_model, item.answer_call_no, item.identity
    FROM newest
    JOIN item_identities AS item ON item.run_id = newest.run_id
),
score AS (
    SELECT run_id, side, avg(value) AS mean, count(value) AS scored,
        CAST(histogram(value) FILTER (value IS NOT NULL) AS MAP(DOUBLE, BIGINT)) AS value_counts,
        CAST(histogram(low) FILTER (low IS NOT NULL) AS MAP(DOUBLE, BIGINT)) AS lows,
        CAST(histogram(high) FILTER (high IS NOT NULL) AS MAP(DOUBLE, BIGINT)) AS highs,
        any_value(scale)[1] AS least, any_value(scale)[2] AS most, count(*) FILTER (excluded IS NULL) AS asked
    FROM newest JOIN sample_scores((SELECT list(run_id) FROM newest)) AS sample USING (run_id, scorer)
    GROUP BY run_id, side
)
SELECT item.run_id, any_value(item.started_at) AS started_at, item.side AS model, count(*) AS requests,
    any_value(score.mean) AS mean, any_value(score.scored) AS scored, any_value(score.value_counts) AS value_counts,
    any_value(score.lows) AS lows, any_value(score.highs) AS highs, any_value(score.least) AS least, any_value(score.most) AS most,
    any_value(score.asked) AS asked,
    avg(item.completion_tokens) FILTER (item.accepted) AS completion_tokens,
    quantile_cont(item.latency_ms, 0.5) FILTER (item.accepted) AS p50_ms,
    count(*) FILTER (item.accepted IS NOT TRUE) / count(*) AS failed_share,
    count(*) FILTER (item.accepted AND item.identity IN ('fallback', 'suspected'))
        / nullif(count(*) FILTER (item.accepted), 0) AS fallback_share,
    mode(item.served_model) FILTER (item.accepted AND item.identity IS DISTINCT FROM 'fallback') AS served_model,
    CASE WHEN 2 * count(*) FILTER (item.accepted AND item.identity = 'fallback') > count(*) FILTER (item.accepted)
        THEN mode(item.served_model) FILTER (item.accepted AND item.identity = 'fallback') END AS stand_in
FROM item LEFT JOIN score ON score.run_id = item.run_id AND score.side = item.side
GROUP BY item.run_id, item.side
ORDER BY started_at, item.run_id, min(item.answer_call_no), item.side;
