-- Scores of a run by model (and variant) and scorer, the first scorer of its job and the best model at the worst first. scored and unscored count answers, the
-- rest samples (see `sample_scores`), so that a sample counts once however many of its epochs are scored: mean is over those that
-- are scored, samples of them; asked: those of a model that are in a mean at all. value_counts: how many of these have each value;
-- lows and highs: the same of the lowest and the highest that each can be (NULL: no scale says so). least and most: of the scale.
-- left_out: scored answers of other models that do not count; samples_left_out: samples that have no other score. pending:
-- answers without a judgement, and pending_reason why, of one: of those that no judge was asked about first.
-- Parameters: run_id
WITH means AS (
    SELECT side AS model, scorer, avg(of_scored) AS mean, count(of_scored) AS samples, count(*) FILTER (excluded IS NULL) AS asked,
        coalesce(sum(not_right) FILTER (excluded IS NULL), 0)::BIGINT AS not_right,
        coalesce(sum(unknown) FILTER (excluded IS NULL), 0)::BIGINT AS unknown,
        CAST(histogram(value) FILTER (value IS NOT NULL) AS MAP(DOUBLE, BIGINT)) AS value_counts,
        CAST(histogram(low) FILTER (low IS NOT NULL) AS MAP(DOUBLE, BIGINT)) AS lows,
        CAST(histogram(high) FILTER (high IS NOT NULL) AS MAP(DOUBLE, BIGINT)) AS highs,
        CASE WHEN count(low) = count(*) FILTER (excluded IS NULL) THEN avg(low) END AS at_worst, any_value(scale)[1] AS least, any_value(scale)[2] AS most,
        count(*) FILTER (left_out > 0 AND scored = 0 AND excluded IS NULL) AS samples_left_out
    FROM sample_scores([$run_id]) WHERE run_id = $run_id GROUP BY side, scorer
)
SELECT rate.model, rate.scorer, rate.scored, rate.unscored, means.mean, rate.is_binary, means.samples, means.asked, means.not_right,
    means.unknown, rate.left_out, rate.invalid_samples, means.samples_left_out, means.value_counts, means.lows, means.highs,
    means.least, means.most, rate.pending, rate.pending_reason
FROM pass_rates AS rate
JOIN means USING (model, scorer)
LEFT JOIN run_overview AS run ON run.run_id = rate.run_id
WHERE rate.run_id = $run_id
ORDER BY list_position(run.scorers, rate.scorer) NULLS LAST, rate.scorer, means.at_worst DESC NULLS LAST, rate.model;
