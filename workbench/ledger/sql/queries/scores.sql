-- The newest score of each run, request and scorer, also of requests that no scorer saw. value NULL is unscored, and reason says why
-- (NULL: nothing was scored). counts: whether it goes into means (see `item_identities`). state: see `state_of`. low and high: between
-- which the score is, whatever is not known of it: the least of the scale where it is not right (NULL: no scale says so). most: of the scale.
-- Parameters: run_id (NULL takes all)
WITH score AS (SELECT * FROM latest_scores WHERE $run_id IS NULL OR run_id = $run_id),
named AS (
    SELECT run_id, scorer, scale_of(any_value(scorer_config)) AS scale FROM score GROUP BY run_id, scorer
),
said AS (
    SELECT item.run_id, run.job, run.identity AS endpoint_identity, item.request_key, item.sample_id, item.sample_key,
        item.epoch, item.model AS requested_model, item.variant, item.served_model, item.identity, item.counts,
        named.scorer, named.scale, score.value, score.reason, score.extracted,
        CASE WHEN item.invalid THEN 'not asked' ELSE state_of(item.counts, item.ends, score.value, score.reason, run.counted_unknown) END AS state
    FROM item_identities AS item
    JOIN named ON named.run_id = item.run_id
    LEFT JOIN score ON score.run_id = item.run_id AND score.request_key = item.request_key AND score.scorer = named.scorer
    LEFT JOIN run_overview AS run ON run.run_id = item.run_id
    WHERE $run_id IS NULL OR item.run_id = $run_id
)
SELECT * EXCLUDE (scale, state), state, scale[2] AS most,
    CASE state WHEN 'scored' THEN value WHEN 'not right' THEN scale[1] WHEN 'unknown' THEN scale[1] END AS low,
    CASE state WHEN 'scored' THEN value WHEN 'not right' THEN scale[1] WHEN 'unknown' THEN scale[2] END AS high
FROM said
ORDER BY run_id, length(sample_id), sample_id, epoch, requested_model, scorer;  -- 2 before 10
