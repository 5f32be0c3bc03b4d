-- The texts of some calls of a run: what was said, verbatim too, what was called, and the body that was sent.
-- Parameters: run_id, first_call_no, last_call_no, call_nos (list within these bounds)
WITH wanted AS (SELECT unnest($call_nos::BIGINT[]) AS call_no),
called AS (
    SELECT call_no, list({id: id, name: name, arguments: arguments} ORDER BY position) AS tool_calls
    FROM tool_calls
    WHERE run_id = $run_id AND call_no BETWEEN $first_call_no AND $last_call_no AND call_no IN (FROM wanted)
    GROUP BY call_no
),
failed AS (
    SELECT call_no, error_text
    FROM attempts
    WHERE run_id = $run_id AND call_no BETWEEN $first_call_no AND $last_call_no AND call_no IN (FROM wanted)
),
said AS (
    SELECT call_no, answer, reasoning, raw
    FROM responses
    WHERE run_id = $run_id AND call_no BETWEEN $first_call_no AND $last_call_no AND call_no IN (FROM wanted)
),
sent AS (
    SELECT request.call_no, content.body
    FROM (
        SELECT call_no, body_key
        FROM requests
        WHERE run_id = $run_id AND call_no BETWEEN $first_call_no AND $last_call_no AND call_no IN (FROM wanted)
    ) AS request
    JOIN request_bodies AS content USING (body_key)
)
SELECT wanted.call_no, said.answer, said.reasoning, said.raw, failed.error_text, sent.body, called.tool_calls
FROM wanted
LEFT JOIN said USING (call_no)
LEFT JOIN failed USING (call_no)
LEFT JOIN sent USING (call_no)
LEFT JOIN called USING (call_no);
