-- Mean score of each of the newest runs over the samples of all its models and scorers, of each the one score to which the job
-- reduces those of its epochs that count; runs without scores are left out. scored: such scores.
-- Parameters: most (how many runs)
WITH newest AS (SELECT run_id, job, started_at, reduce FROM run_overview ORDER BY started_at DESC NULLS LAST LIMIT $most),
judged AS (
    SELECT run_id, request_key, scorer, arg_max({value: value}, recorded_at).value AS value
    FROM scores WHERE run_id IN (SELECT run_id FROM newest)
    GROUP BY run_id, request_key, scorer
),
by_sample AS (
    SELECT newest.run_id, newest.job, newest.started_at, judged.scorer, item.model, item.variant, item.sample_key,
        reduced(any_value(newest.reduce), list(judged.value)) AS value
    FROM newest
    JOIN run_items AS item USING (run_id)
    JOIN judged ON judged.run_id = item.run_id AND judged.request_key = item.request_key
    JOIN item_identities AS who ON who.run_id = item.run_id AND who.request_key = item.request_key AND who.counts
    WHERE judged.value IS NOT NULL
    GROUP BY ALL
)
SELECT run_id, job, started_at, count(value) AS scored, avg(value) AS mean
FROM by_sample
GROUP BY ALL HAVING count(value) > 0
ORDER BY started_at, run_id;
