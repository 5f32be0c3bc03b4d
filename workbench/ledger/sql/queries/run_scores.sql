-- Scores of a run by model (and variant) and scorer, the first scorer of its job first. mean is over samples (see
-- `sample_scores`), so that a sample counts once however many of its epochs are scored. left_out: scored answers of fallbacks
-- that do not count; samples_left_out: samples that have no other score.
-- Parameters: run_id
WITH means AS (
    SELECT side AS model, scorer, avg(value) AS mean, count(*) FILTER (answers IS NULL AND NOT invalid) AS samples_left_out
    FROM sample_scores([$run_id]) GROUP BY side, scorer
)
SELECT rate.model, rate.scorer, rate.scored, rate.unscored, means.mean, rate.is_binary, rate.samples, rate.left_out,
    rate.invalid_samples,
    coalesce(means.samples_left_out, 0) AS samples_left_out
FROM pass_rates AS rate
LEFT JOIN means USING (model, scorer)
LEFT JOIN run_overview AS run ON run.run_id = rate.run_id
WHERE rate.run_id = $run_id
ORDER BY list_position(run.scorers, rate.scorer) NULLS LAST, rate.scorer, means.mean DESC NULLS LAST, rate.model;
