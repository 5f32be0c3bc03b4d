-- The caps on generated tokens of the answers that some runs use, by run and model (and variant); NULL: some have none.
-- Parameters: run_ids (list)
SELECT item.run_id, item.side AS model, min(asked.cap) AS least,
    CASE WHEN count(*) = count(asked.cap) THEN max(asked.cap) END AS most
FROM item_outcomes AS item
JOIN (
    SELECT request.run_id, request.call_no, cap_of(body.body) AS cap
    FROM requests AS request JOIN request_bodies AS body USING (body_key)
) AS asked ON asked.run_id = item.answer_run_id AND asked.call_no = item.answer_call_no
WHERE item.accepted AND list_contains($run_ids::VARCHAR[], item.run_id)
GROUP BY item.run_id, item.side
ORDER BY item.run_id, item.side;
