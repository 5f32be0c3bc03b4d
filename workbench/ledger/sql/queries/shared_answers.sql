-- Runs that use the same answers as an earlier one of those given: one call was paid for, and both count it.
-- Parameters: run_ids (list)
WITH item AS (
    SELECT run_id, request_key, answer_run_id, answer_call_no, list_position($run_ids::VARCHAR[], run_id) AS place
    FROM item_outcomes WHERE accepted AND list_contains($run_ids::VARCHAR[], run_id)
)
SELECT later.run_id, earlier.run_id AS of_run_id, count(*) AS shared,
    (SELECT count(*) FROM item WHERE item.run_id = later.run_id) AS answers
FROM item AS earlier
JOIN item AS later USING (answer_run_id, answer_call_no)
WHERE earlier.place < later.place
GROUP BY later.run_id, earlier.run_id
ORDER BY later.run_id, earlier.run_id;
