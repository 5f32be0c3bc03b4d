-- Scores of a run by model and scorer, over answers. mean is over scored answers that count; every other item of the run counts
-- as unscored: cut, empty and failed answers, those that a scorer could not judge, those of samples that were taken out, and those
-- left out as a fallback's (left_out: how many of these are scored, or no judge was asked about). not_right and unknown: what unscored
-- ones are to a mean (see `state_of`; pending: a judge is still to be asked, also of those that count by now, or gave no verdict;
-- pending_reason: the first by its letters, which is that of those never asked), and mean_at_worst and mean_at_best between which the
-- mean of all asked is (NULL: no scale says so).
CREATE OR REPLACE VIEW pass_rates AS
WITH named AS (SELECT run_id, scorer, scale_of(any_value(scorer_config)) AS scale FROM scores GROUP BY run_id, scorer),
answer AS (
    SELECT item.run_id, item.side, item.sample_key, item.counts, item.invalid, named.scorer, named.scale, score.value, score.reason,
        coalesce(
            starts_with(score.reason, 'pending: ') OR (item.counts AND starts_with(score.reason, 'left out: ')), false
        ) AS is_pending,
        CASE WHEN item.invalid THEN 'not asked'
            ELSE state_of(item.counts, item.ends, score.value, score.reason, run.counted_unknown) END AS state
    FROM item_identities AS item
    JOIN named ON named.run_id = item.run_id
    LEFT JOIN latest_scores AS score
        ON score.run_id = item.run_id AND score.request_key = item.request_key AND score.scorer = named.scorer
    LEFT JOIN run_overview AS run ON run.run_id = item.run_id
)
SELECT
    run_id,
    side AS model,
    scorer,
    count(value) FILTER (counts) AS scored,
    count(*) - count(value) FILTER (counts) AS unscored,
    count(*) FILTER (NOT counts AND NOT invalid AND (value IS NOT NULL OR starts_with(reason, 'left out: '))) AS left_out,
    count(DISTINCT sample_key) FILTER (invalid) AS invalid_samples,
    avg(value) FILTER (counts) AS mean,
    bool_and(value IN (0, 1)) FILTER (value IS NOT NULL AND counts) AS is_binary,
    count(DISTINCT sample_key) FILTER (value IS NOT NULL AND counts) AS samples,
    count(*) FILTER (state = 'not right') AS not_right,
    count(*) FILTER (state = 'unknown') AS unknown,
    count(*) FILTER (is_pending AND NOT invalid) AS pending,
    min(reason) FILTER (is_pending AND NOT invalid) AS pending_reason,
    CASE WHEN any_value(scale) IS NOT NULL OR bool_and(state IN ('scored', 'not asked'))
        THEN avg(CASE WHEN state = 'scored' THEN value ELSE scale[1] END) FILTER (state <> 'not asked') END AS mean_at_worst,
    CASE WHEN any_value(scale) IS NOT NULL OR bool_and(state IN ('scored', 'not asked'))
        THEN avg(CASE state WHEN 'scored' THEN value WHEN 'not right' THEN scale[1] ELSE scale[2] END)
            FILTER (state <> 'not asked') END AS mean_at_best
FROM answer
GROUP BY run_id, side, scorer;
