-- Mean scores of the newest runs over samples, of those that are known (see `sample_scores`), by run and scorer: by model (and
-- variant), and over all models (model NULL). answered: requests with an answer; scored: such samples. asked and known: requests, those that
-- were to be sent among them, and those that are scored or not right, but for samples that are in no mean. at_worst and at_best: between
-- which the mean over all asked is (NULL: no scale says so). place: of the scorer in its job, the first being 1 (NULL: it is
-- not named there). Of a model that was asked and of which no score is known, mean is NULL; over all models there is no such row.
-- min_answered: of the run's job (NULL: of an earlier version).
-- Parameters: most (how many runs), run_ids (list; NULL takes all)
WITH newest AS (
    SELECT run_id, job, started_at, scorers, min_answered FROM run_overview
    WHERE $run_ids IS NULL OR run_id IN (SELECT unnest($run_ids::VARCHAR[]))
    ORDER BY started_at DESC NULLS LAST LIMIT $most
)
SELECT newest.run_id, newest.job, newest.started_at, list_position(any_value(newest.scorers), sample.scorer) AS place, sample.scorer,
    sample.side AS model, sum(sample.answered)::BIGINT AS answered, count(sample.value) AS scored, avg(sample.value) AS mean,
    CASE WHEN count(sample.low) = count(*) FILTER (sample.excluded IS NULL) THEN avg(sample.low) END AS at_worst,
    CASE WHEN count(sample.high) = count(*) FILTER (sample.excluded IS NULL) THEN avg(sample.high) END AS at_best,
    coalesce(sum(sample.scored + sample.not_right + sample.unknown) FILTER (sample.excluded IS NULL), 0)::BIGINT AS asked,
    coalesce(sum(sample.scored + sample.not_right) FILTER (sample.excluded IS NULL), 0)::BIGINT AS known,
    any_value(newest.min_answered) AS min_answered
FROM newest JOIN sample_scores((SELECT list(run_id) FROM newest)) AS sample USING (run_id)
GROUP BY GROUPING SETS (
    (newest.run_id, newest.job, newest.started_at, sample.scorer, sample.side),
    (newest.run_id, newest.job, newest.started_at, sample.scorer)
)
HAVING count(sample.value) > 0 OR sample.side IS NOT NULL
ORDER BY newest.started_at, newest.run_id, place NULLS LAST, sample.scorer, model NULLS FIRST;
