-- The score of each sample of some runs by run, side (the model, and its variant where the job has some) and scorer, to which the
-- job reduces the scores of its epochs (see `reduced` and `state_of`).
-- of_scored: over those that are scored (NULL: none is, or too few). value: over those that are known, of which one that is not
-- right has the least of the scale (NULL: too few are to tell). low and high: between these it is, whatever the unknown ones were (NULL: no
-- scale says so). scale: of value, as [least, most].
-- not_right_ends: why these are (see `outcomes`; empty: a tool call where a text was asked). Epochs that were never sent are unknown, and so
-- is a sample that was sent to another side of its run only (asked 0): a side that was stopped early has the mean of as many samples.
-- asked, answered, scored, not_right, unknown (those never sent among them) and unread (the scorer could not judge it; not where a
-- judge is still to be asked) count epochs; left_out: answers of other models, which do not count: those that are scored, and those that
-- no judge was asked about. excluded: why the sample is in no mean ('taken out', 'nothing to judge by'; NULL: it is in them). What a
-- sample is called and belongs to: see `asked_samples`.
-- run_ids is a list: a view over all runs would group the scores of the whole ledger first. fallbacks: `exclude` or `accept`;
-- empty: as each run's job says.
CREATE OR REPLACE MACRO sample_scores(run_ids, fallbacks := '') AS TABLE
WITH score AS (
    SELECT run_id, request_key, scorer, arg_max({value: value, reason: reason}, recorded_at) AS said,
        arg_max(scorer_config, recorded_at) AS config
    FROM scores WHERE run_id IN (SELECT unnest(run_ids)) GROUP BY run_id, request_key, scorer
),
known AS (
    SELECT run_id, scorer, any_value(config) AS config, bool_and(said.value BETWEEN 0 AND 1) AS are_shares
    FROM score GROUP BY run_id, scorer
),
scorer AS (
    SELECT run_id, named.scorer, scale_of(coalesce(known.config, elsewhere.config)) AS scale,
        coalesce(known.are_shares, true) AS are_shares
    FROM (
        SELECT run_id, unnest(scorers) AS scorer FROM run_overview WHERE run_id IN (SELECT unnest(run_ids))
        UNION SELECT run_id, scorer FROM known
    ) AS named
    LEFT JOIN known USING (run_id, scorer)
    LEFT JOIN (SELECT scorer, any_value(config) AS config FROM known GROUP BY scorer) AS elsewhere ON elsewhere.scorer = named.scorer
),
item AS (
    SELECT item.run_id, item.request_key, item.side, item.sample_key, item.accepted, item.scorable, item.ends, item.invalid,
        run.counted_unknown,
        NOT item.another OR coalesce(nullif(fallbacks, ''), run.on_fallback, 'exclude') = 'accept' AS may_count
    FROM item_identities AS item
    JOIN run_overview AS run ON run.run_id = item.run_id
    WHERE item.run_id IN (SELECT unnest(run_ids))
),
answer AS (
    SELECT item.*, scorer.scorer, score.said.value AS value, score.said.reason AS reason,
        state_of(item.may_count, item.ends, score.said.value, score.said.reason, item.counted_unknown) AS state
    FROM item
    JOIN scorer ON scorer.run_id = item.run_id
    LEFT JOIN score
        ON score.run_id = item.run_id AND score.request_key = item.request_key AND score.scorer = scorer.scorer
),
epochs AS (
    SELECT item.run_id, greatest(max(item.epoch), any_value(run.epochs)) AS epochs
    FROM run_items AS item JOIN run_overview AS run ON run.run_id = item.run_id
    WHERE item.run_id IN (SELECT unnest(run_ids)) GROUP BY item.run_id
),
never AS (  -- of rows that are one sample some may have been sent
    SELECT run_id, sample_key, count(*) AS rows FROM corrected_unsent WHERE run_id IN (SELECT unnest(run_ids)) GROUP BY ALL
),
unjudged AS (
    SELECT DISTINCT item.run_id, score.scorer, item.sample_key
    FROM score JOIN corrected_items AS item USING (run_id, request_key)
    WHERE starts_with(score.said.reason, 'nothing to judge by: ')
),
sample AS (
    SELECT run_id, side, scorer, sample_key, count(*) AS asked, count(*) FILTER (accepted) AS answered,
        coalesce(list(value) FILTER (state = 'scored'), []) AS scores,
        count(*) FILTER (state = 'scored') AS scored, count(*) FILTER (state = 'not right') AS not_right,
        count(*) FILTER (state = 'unknown') AS unknown,
        coalesce(list(ends) FILTER (state = 'not right'), []) AS not_right_ends,
        count(*) FILTER (
            may_count AND value IS NULL AND scorable AND NOT starts_with(reason, 'pending: ') AND NOT starts_with(reason, 'left out: ')
        ) AS unread,
        count(*) FILTER (NOT may_count AND (value IS NOT NULL OR starts_with(reason, 'left out: '))) AS left_out,
        bool_or(invalid) AS invalid
    FROM answer GROUP BY run_id, side, scorer, sample_key
),
of_all AS (  -- of rows that are one sample, another side may have been sent more, or all of them
    SELECT run_id, scorer, sample_key, list(side) AS sides, max(asked) AS most, bool_or(invalid) AS invalid
    FROM sample GROUP BY run_id, scorer, sample_key
),
planned AS (
    SELECT sample.*, of_all.most FROM sample JOIN of_all USING (run_id, scorer, sample_key)
    UNION ALL BY NAME
    SELECT of_all.* EXCLUDE (sides), unnest(list_filter(every.sides, lambda one: NOT list_contains(of_all.sides, one))) AS side,
        0 AS asked, 0 AS answered, CAST([] AS DOUBLE[]) AS scores, 0 AS scored, 0 AS not_right, 0 AS unknown,
        CAST([] AS VARCHAR[]) AS not_right_ends, 0 AS unread, 0 AS left_out
    FROM of_all
    JOIN (SELECT run_id, list(DISTINCT side) AS sides FROM item GROUP BY run_id) AS every USING (run_id)
    WHERE len(of_all.sides) < len(every.sides)
),
ruled AS (
    SELECT planned.*, rule.reduce, rule.least_epochs,
        -- scores that are all shares are right at 1, also where no scale says so; of others nothing says what is right
        CASE WHEN scorer.scale IS NULL AND rule.reduce NOT IN ('mean', 'mode') AND scorer.are_shares
            THEN [0.0, 1.0] ELSE scorer.scale END AS scale
    FROM planned
    JOIN scorer USING (run_id, scorer)
    JOIN (
        SELECT run_id, reduce, coalesce(CAST(nullif(regexp_extract(reduce, '[0-9]+$'), '') AS BIGINT), 0) AS least_epochs
        FROM run_overview
    ) AS rule USING (run_id)
),
counted AS (
    SELECT sample.*,
        CASE WHEN sample.invalid THEN 'taken out' WHEN unjudged.run_id IS NOT NULL THEN 'nothing to judge by' END AS excluded,
        CASE WHEN scale IS NULL OR not_right = 0 THEN scores ELSE list_concat(scores, repeat([scale[1]], not_right)) END AS known,
        greatest(epochs.epochs, most + coalesce(never.rows, 0)) - asked AS unsent,
        CASE WHEN scale IS NULL THEN not_right + unknown ELSE unknown END + greatest(unsent, least_epochs - asked, 0) AS missing
    FROM ruled AS sample
    LEFT JOIN unjudged USING (run_id, scorer, sample_key)
    JOIN epochs USING (run_id)
    LEFT JOIN never ON never.run_id = sample.run_id AND never.sample_key = sample.sample_key
),
ended AS (  -- of the scored ones, of the known ones, and of each completion: a macro is planned as often as it is named
    SELECT *, list_transform(
        CASE WHEN excluded IS NULL THEN list_concat([scores, known], completions(reduce, known, missing, scale)) END,
        lambda taken: reduced(reduce, taken, scale[2])
    ) AS means
    FROM counted
)
SELECT run_id, side, scorer, sample_key, asked, answered, scored, not_right, not_right_ends,
    unknown + unsent AS unknown, unread, left_out, excluded,
    means[1] AS of_scored,
    coalesce(means[2], CASE WHEN list_min(means[3:]) = list_max(means[3:]) THEN list_min(means[3:]) END) AS value,
    list_min(means[3:]) AS low, list_max(means[3:]) AS high,
    CASE WHEN reduce IS NULL OR reduce IN ('mean', 'mode') THEN scale ELSE [0.0, 1.0] END AS scale
FROM ended;
