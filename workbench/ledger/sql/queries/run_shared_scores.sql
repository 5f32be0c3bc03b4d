-- Scores of a run by model and scorer over the samples that all models scored by it share, so that the means compare;
-- a scorer whose models share none is left out. values: the mean score of each sample.
-- Parameters: run_id
WITH by_sample AS (
    SELECT item.model, score.scorer, item.sample_key, avg(score.value) AS value
    FROM run_items AS item
    JOIN latest_scores AS score ON score.run_id = item.run_id AND score.request_key = item.request_key
    WHERE item.run_id = $run_id AND score.value IS NOT NULL
    GROUP BY item.model, score.scorer, item.sample_key
),
scored AS (SELECT scorer, count(DISTINCT model) AS models FROM by_sample GROUP BY scorer),
shared AS (
    SELECT by_sample.*
    FROM by_sample JOIN scored USING (scorer)
    QUALIFY count(*) OVER (PARTITION BY scorer, sample_key) = models
)
SELECT model, scorer, count(*) AS samples, avg(value) AS mean, list(value ORDER BY sample_key) AS values
FROM shared
GROUP BY model, scorer
ORDER BY scorer, mean DESC, model;
