-- The score of each sample of a run by model (and variant) and scorer, as `sample_scores` says.
-- Parameters: run_id
SELECT side AS model, scorer, sample_key, value
FROM sample_scores([$run_id])
WHERE value IS NOT NULL
ORDER BY model, scorer, sample_key;
