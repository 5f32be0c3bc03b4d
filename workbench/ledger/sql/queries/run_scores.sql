-- Scores of a run by model and scorer, the first scorer of its job first. mean is over samples: of each one score, as the job
-- reduces those of its epochs that count, so that a sample counts once however many of them are scored. left_out: scored
-- answers of fallbacks that do not count; samples_left_out: samples that have no other score.
-- Parameters: run_id
WITH by_sample AS (
    SELECT concat_ws(' · ', item.model, item.variant) AS model, score.scorer, item.sample_key,
        list(score.value) FILTER (who.counts) AS scores, any_value(run.reduce) AS reducer, bool_or(who.invalid) AS invalid
    FROM run_items AS item
    JOIN item_identities AS who ON who.run_id = item.run_id AND who.request_key = item.request_key
    JOIN latest_scores AS score ON score.run_id = item.run_id AND score.request_key = item.request_key
    JOIN (SELECT reduce FROM runs WHERE run_id = $run_id AND event = 'started') AS run ON true
    WHERE item.run_id = $run_id AND score.value IS NOT NULL
    GROUP BY ALL
),
means AS (
    SELECT model, scorer, avg(reduced(reducer, scores)) AS mean,
        count(*) FILTER (scores IS NULL AND NOT invalid) AS samples_left_out
    FROM by_sample GROUP BY model, scorer
)
SELECT rate.model, rate.scorer, rate.scored, rate.unscored, means.mean, rate.is_binary, rate.samples, rate.left_out,
    rate.invalid_samples,
    coalesce(means.samples_left_out, 0) AS samples_left_out
FROM pass_rates AS rate
LEFT JOIN means USING (model, scorer)
LEFT JOIN run_overview AS run ON run.run_id = rate.run_id
WHERE rate.run_id = $run_id
ORDER BY list_position(run.scorers, rate.scorer) NULLS LAST, rate.scorer, means.mean DESC NULLS LAST, rate.model;
