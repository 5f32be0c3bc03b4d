-- The samples of some runs by run and model, with the score of one scorer: value is the mean over the epochs that are scored,
-- NULL where none is. asked, answered and scored count epochs; an answer that a fallback gave is not scored where
-- those are left out. cluster: the metadata column that says which samples vary together.
-- Parameters: run_ids (list), scorer, cluster (the name of a metadata column), without_fallbacks (boolean)
SELECT item.run_id, item.model, item.sample_key, any_value(item.sample_id) AS sample_id, count(*) AS asked,
    count(*) FILTER (item.accepted) AS answered, count(score.value) AS scored, avg(score.value) AS value,
    any_value(json_extract_string(sample.sample, '/metadata/' || replace(replace($cluster, '~', '~0'), '/', '~1'))) AS cluster
FROM item_outcomes AS item
JOIN item_identities AS who ON who.run_id = item.run_id AND who.request_key = item.request_key
LEFT JOIN latest_scores AS score
    ON score.run_id = item.run_id AND score.request_key = item.request_key AND score.scorer = $scorer
        AND NOT ($without_fallbacks AND coalesce(who.identity = 'fallback', false))
LEFT JOIN samples AS sample ON sample.sample_key = item.sample_key
WHERE item.run_id IN (SELECT unnest($run_ids::VARCHAR[]))
GROUP BY item.run_id, item.model, item.sample_key
ORDER BY item.run_id, item.model, item.sample_key;
