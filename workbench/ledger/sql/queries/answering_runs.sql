-- The runs whose accepted answers a run uses, with the range of their call numbers, and the longest text among all of
-- their answers in bytes (0 without any).
-- Parameters: run_id
WITH used AS (
    SELECT answer_run_id, min(answer_call_no) AS first_call_no, max(answer_call_no) AS last_call_no
    FROM run_items WHERE run_id = $run_id GROUP BY answer_run_id
),
longest AS (
    SELECT run_id, max(strlen(answer)) AS bytes FROM responses
    WHERE run_id IN (SELECT answer_run_id FROM used) GROUP BY run_id
)
SELECT used.*, coalesce(longest.bytes, 0) AS longest_bytes
FROM used LEFT JOIN longest ON longest.run_id = used.answer_run_id
ORDER BY used.answer_run_id;
