-- Mean scores of the newest runs, by run, scorer and model, of the answers that count.
-- Parameters: most (how many runs)
WITH newest AS (SELECT run_id, job, started_at FROM run_overview ORDER BY started_at DESC NULLS LAST LIMIT $most),
judged AS (
    SELECT run_id, request_key, scorer, arg_max({value: value}, recorded_at).value AS value
    FROM scores WHERE run_id IN (SELECT run_id FROM newest)
    GROUP BY run_id, request_key, scorer
)
SELECT newest.run_id, newest.job, newest.started_at, judged.scorer, concat_ws(' · ', item.model, item.variant) AS model,
    count(judged.value) AS scored,
    avg(judged.value) AS mean
FROM newest
JOIN run_items AS item USING (run_id)
JOIN judged ON judged.run_id = item.run_id AND judged.request_key = item.request_key
JOIN item_identities AS who ON who.run_id = item.run_id AND who.request_key = item.request_key AND who.counts
GROUP BY ALL
ORDER BY newest.started_at, judged.scorer, model;
