-- Every request of a run with the reply that it uses, verbatim.
-- Parameters: run_id
SELECT item.request_key, item.sample_id, item.epoch, item.side, item.outcome, item.accepted,
    item.http_status, item.evidence, item.error_text, response.raw
FROM item_outcomes AS item
LEFT JOIN responses AS response ON response.run_id = item.answer_run_id AND response.call_no = item.answer_call_no
WHERE item.run_id = $run_id
ORDER BY item.sample_no, length(item.sample_id), item.sample_id, item.epoch, item.side;  -- 2 before 10
