-- The numbers that a scorer read in the answers of a run, beside the targets, by side, sample and epoch; without the samples that
-- were taken out. given: NULL where there is no answer, none that counts, or no number in it.
-- cluster: what the sample belongs to, as its metadata say (NULL: nothing). Those are texts, as recorded.
-- Parameters: run_id, scorer
SELECT item.side, item.sample_key, item.epoch, CASE WHEN item.counts THEN score.extracted END AS given,
    json_extract_string(sample.sample, '/target') AS target, json_extract_string(sample.sample, '/metadata/cluster') AS cluster
FROM item_identities AS item
JOIN samples AS sample ON sample.sample_key = item.sample_key
LEFT JOIN latest_scores AS score
    ON score.run_id = item.run_id AND score.request_key = item.request_key AND score.scorer = $scorer
WHERE item.run_id = $run_id AND NOT item.invalid
ORDER BY item.side, item.sample_key, item.epoch;
