INSERT INTO request_bodies BY NAME
SELECT body_key, any_value(body) AS body FROM staged
WHERE kind = 'intent' AND body_key NOT IN (SELECT body_key FROM request_bodies)
GROUP BY body_key;

-- a request that a run sends again has one row, of its last attempt
DELETE FROM run_items USING (
    SELECT run_id, request_key, max(call_no) AS call_no FROM staged WHERE kind = 'intent' AND attempt > 1 GROUP BY ALL
) AS newer
WHERE run_items.run_id = newer.run_id AND run_items.request_key = newer.request_key
    AND run_items.answer_call_no < newer.call_no;
INSERT INTO run_items BY NAME
SELECT item.* FROM (
    SELECT run_id, request_key, any_value(generation) AS generation, any_value(model) AS model,
        any_value(sample_id) AS sample_id, any_value(sample_key) AS sample_key, any_value(epoch) AS epoch,
        any_value(variant) AS variant, any_value(own_id) AS own_id, any_value(cluster) AS cluster,
        any_value(sample_no) AS sample_no, any_value(content_key) AS content_key,
        false AS reused, run_id AS answer_run_id, max(call_no) AS answer_call_no
    FROM staged WHERE kind = 'intent' GROUP BY run_id, request_key
) AS item ANTI JOIN run_items AS known  -- a journal may be ingested later than its successor
ON known.run_id = item.run_id AND known.request_key = item.request_key AND known.answer_call_no > item.answer_call_no;
