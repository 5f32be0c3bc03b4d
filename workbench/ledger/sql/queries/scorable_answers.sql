-- The answers of a run that scorers judge, with their samples; scorable false is a state that stays unscored: also of an answer
-- that was not accepted and is the model's own doing, so that the run says of every scorer that there is nothing to score.
-- A window of the calls of one of the runs that paid for them: its bounds are repeated for every table, so that each is
-- read by its zone maps, and the joins stay as small as the window.
-- Parameters: run_id, answer_run_id, first_call_no, end_call_no (exclusive)
SELECT item.request_key, item.sample_id, item.sample_key, attempt.outcome, attempt.scorable, response.answer, called.tool_calls,
    attempt.latency_ms, attempt.completion_tokens, attempt.total_tokens, item.model AS requested_model,
    attempt.served_model, sample.sample
FROM (
    SELECT request_key, sample_id, sample_key, content_key, model, answer_call_no AS call_no
    FROM corrected_items
    WHERE run_id = $run_id AND answer_run_id = $answer_run_id
        AND answer_call_no >= $first_call_no AND answer_call_no < $end_call_no
) AS item
JOIN (
    SELECT call_no, outcome, scorable, latency_ms, completion_tokens, total_tokens, served_model
    FROM judged_attempts
    WHERE run_id = $answer_run_id AND call_no >= $first_call_no AND call_no < $end_call_no AND (accepted OR ends <> '')
) AS attempt ON attempt.call_no = item.call_no
LEFT JOIN (
    SELECT call_no, answer
    FROM responses
    WHERE run_id = $answer_run_id AND call_no >= $first_call_no AND call_no < $end_call_no
) AS response ON response.call_no = item.call_no
LEFT JOIN (
    SELECT call_no, list({name: name, arguments: arguments} ORDER BY position) AS tool_calls
    FROM tool_calls
    WHERE run_id = $answer_run_id AND call_no >= $first_call_no AND call_no < $end_call_no
    GROUP BY call_no
) AS called ON called.call_no = item.call_no
LEFT JOIN samples AS sample ON sample.sample_key = item.content_key;
