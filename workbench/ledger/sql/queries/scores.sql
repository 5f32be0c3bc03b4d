-- The newest score of each run, request and scorer; value NULL is unscored, and reason says why. counts: whether it goes into
-- means (see `item_identities`).
-- Parameters: run_id (NULL takes all)
SELECT score.run_id, run.job, run.identity AS endpoint_identity, score.request_key, item.sample_id, item.sample_key,
    item.epoch, item.model AS requested_model, item.variant, item.served_model, who.identity, who.counts,
    score.scorer, score.value, score.reason, score.extracted
FROM latest_scores AS score
LEFT JOIN item_outcomes AS item ON item.run_id = score.run_id AND item.request_key = score.request_key
LEFT JOIN item_identities AS who ON who.run_id = score.run_id AND who.request_key = score.request_key
LEFT JOIN run_overview AS run ON run.run_id = score.run_id
WHERE $run_id IS NULL OR score.run_id = $run_id
ORDER BY score.run_id, item.sample_id, item.epoch, item.model, score.scorer;
