-- Scores of a run by model and scorer. mean is over samples: of each the mean of its scored answers, so that a sample
-- counts once however many of its epochs are scored.
-- Parameters: run_id
WITH by_sample AS (
    SELECT item.model, score.scorer, avg(score.value) AS mean
    FROM run_items AS item
    JOIN latest_scores AS score ON score.run_id = item.run_id AND score.request_key = item.request_key
    WHERE item.run_id = $run_id AND score.value IS NOT NULL
    GROUP BY item.model, score.scorer, item.sample_key
),
means AS (SELECT model, scorer, avg(mean) AS mean FROM by_sample GROUP BY model, scorer)
SELECT rate.model, rate.scorer, rate.scored, rate.unscored, means.mean, rate.is_binary, rate.samples
FROM pass_rates AS rate
LEFT JOIN means USING (model, scorer)
WHERE rate.run_id = $run_id
ORDER BY rate.scorer, means.mean DESC NULLS LAST, rate.model;
