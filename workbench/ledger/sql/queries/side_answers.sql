-- What the models of some runs answered to some samples, with the score of one scorer; texts are cut to most_chars. scale:
-- of value (NULL: nothing says so, or there is none).
-- Parameters: run_ids (list), sample_keys (list), scorer, most_chars
SELECT item.run_id, item.side AS model, item.sample_key, item.sample_id, item.epoch, item.outcome, item.scorable,
    item.served_model, item.identity, left(response.answer, $most_chars) AS answer, score.value, score.reason, score.extracted,
    scale_of(score.scorer_config) AS scale
FROM item_identities AS item
LEFT JOIN responses AS response ON response.run_id = item.answer_run_id AND response.call_no = item.answer_call_no
LEFT JOIN latest_scores AS score
    ON score.run_id = item.run_id AND score.request_key = item.request_key AND score.scorer = $scorer
WHERE list_contains($run_ids::VARCHAR[], item.run_id) AND item.sample_key IN (SELECT unnest($sample_keys::VARCHAR[]))
ORDER BY item.run_id, item.side, item.sample_key, item.epoch;
