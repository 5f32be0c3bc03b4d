-- Mean score of each of the newest runs over all its models and scorers, of what is scored and counts; runs without scores
-- are left out.
-- Parameters: most (how many runs)
WITH newest AS (SELECT run_id, job, started_at FROM run_overview ORDER BY started_at DESC NULLS LAST LIMIT $most),
judged AS (
    SELECT run_id, request_key, scorer, arg_max({value: value}, recorded_at).value AS value
    FROM scores WHERE run_id IN (SELECT run_id FROM newest)
    GROUP BY run_id, request_key, scorer
)
SELECT newest.run_id, newest.job, newest.started_at, count(judged.value) AS scored, avg(judged.value) AS mean
FROM newest
JOIN judged USING (run_id)
JOIN item_identities AS who ON who.run_id = judged.run_id AND who.request_key = judged.request_key AND who.counts
GROUP BY ALL HAVING count(judged.value) > 0
ORDER BY newest.started_at, newest.run_id;
