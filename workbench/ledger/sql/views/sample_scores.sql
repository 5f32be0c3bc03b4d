-- The score of each sample of some runs by run, side (the model, and its variant where the job has some) and scorer: one value,
-- to which the job reduces the scores of its epochs that count (see `item_identities`; epochs are not independent). NULL: none
-- counts, or too few do. invalid: the sample was taken out. answers: those that count, in an order of their own, to tell
-- whether two runs use the same.
-- run_ids is a list: a view over all runs would group the scores of the whole ledger first.
CREATE OR REPLACE MACRO sample_scores(run_ids) AS TABLE
SELECT item.run_id, item.side, score.scorer, item.sample_key,
    reduced(any_value(run.reduce), list(score.value) FILTER (who.counts)) AS value,
    bool_or(who.invalid) AS invalid,
    list_sort(list(item.answer_run_id || ' ' || item.answer_call_no) FILTER (who.counts)) AS answers
FROM item_outcomes AS item
JOIN item_identities AS who ON who.run_id = item.run_id AND who.request_key = item.request_key
JOIN (
    SELECT run_id, request_key, scorer, arg_max({value: value}, recorded_at).value AS value
    FROM scores WHERE run_id IN (SELECT unnest(run_ids)) GROUP BY run_id, request_key, scorer
) AS score ON score.run_id = item.run_id AND score.request_key = item.request_key
JOIN run_overview AS run ON run.run_id = item.run_id
WHERE score.value IS NOT NULL
GROUP BY item.run_id, item.side, score.scorer, item.sample_key;
