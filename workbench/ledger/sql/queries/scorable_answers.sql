-- The answers of a run that scorers judge, with their samples; scorable false is a state that stays unscored.
-- Parameters: run_id
SELECT item.request_key, item.sample_id, item.outcome, item.scorable, response.answer, sample.sample
FROM item_outcomes AS item
LEFT JOIN responses AS response ON response.run_id = item.answer_run_id AND response.call_no = item.answer_call_no
LEFT JOIN samples AS sample USING (sample_key)
WHERE item.run_id = $run_id AND item.accepted;
