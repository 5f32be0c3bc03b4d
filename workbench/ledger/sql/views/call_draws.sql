-- What every call drew as reported, whether it ended or not. completion_tokens are without reasoning, whether a route reports that
-- inside or beside them. lacks_total, lacks_parts: it may have drawn something and does not say so, or not of its parts.
CREATE OR REPLACE VIEW call_draws AS
SELECT
    request.run_id,
    request.call_no,
    request.model,
    request.body_key,
    request.sent_at,
    attempt.ended_at,
    attempt.outcome,
    attempt.scorable,
    attempt.drew,
    attempt.prompt_tokens,
    coalesce(attempt.reasoning_tokens, 0) AS reasoning_tokens,
    attempt.total_tokens,
    attempt.completion_tokens - CASE
        WHEN attempt.total_tokens >= attempt.prompt_tokens + attempt.completion_tokens + attempt.reasoning_tokens THEN 0
        ELSE least(coalesce(attempt.reasoning_tokens, 0), attempt.completion_tokens)
    END AS completion_tokens,
    (attempt.drew IS NULL OR attempt.drew <> 'no') AND attempt.total_tokens IS NULL AS lacks_total,
    (attempt.drew IS NULL OR attempt.drew <> 'no') AND (
        attempt.total_tokens IS NULL OR attempt.prompt_tokens IS NULL OR attempt.completion_tokens IS NULL
    ) AS lacks_parts
FROM requests AS request LEFT JOIN judged_attempts AS attempt USING (run_id, call_no);
