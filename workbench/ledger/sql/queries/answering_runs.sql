-- The runs whose accepted answers a run uses, with the range of their call numbers.
-- Parameters: run_id
SELECT answer_run_id, min(answer_call_no) AS first_call_no, max(answer_call_no) AS last_call_no
FROM run_items
WHERE run_id = $run_id
GROUP BY answer_run_id
ORDER BY answer_run_id;
