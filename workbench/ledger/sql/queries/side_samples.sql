-- The samples of some runs by run and model, with the score of one scorer: see `sample_scores` and `asked_samples`, whose columns
-- these are. least and most: of the scale of value (NULL: it has none). cluster: what it varies together with. In the order of their
-- ids, 2 before 10.
-- Parameters: run_ids (list), scorer, cluster (see `cluster_of`), on_fallback (NULL: as each run's job says)
SELECT score.run_id, score.side AS model, score.sample_key, asked.sample_id, score.asked, score.answered, score.scored,
    score.not_right, score.not_right_ends, score.unknown, score.unread, score.left_out, score.excluded, score.of_scored,
    score.value, score.low, score.high, score.scale[1] AS least, score.scale[2] AS most,
    cluster_of($cluster, asked.cluster, asked.own_id, sample.sample) AS cluster
FROM sample_scores($run_ids::VARCHAR[], fallbacks := coalesce($on_fallback, '')) AS score
JOIN asked_samples AS asked ON asked.run_id = score.run_id AND asked.sample_key = score.sample_key
LEFT JOIN samples AS sample ON sample.sample_key = asked.content_key
WHERE score.scorer = $scorer AND list_contains($run_ids::VARCHAR[], score.run_id)  -- the list alone is no filter of a scan
ORDER BY score.run_id, score.side, length(asked.sample_id), asked.sample_id, score.sample_key;
