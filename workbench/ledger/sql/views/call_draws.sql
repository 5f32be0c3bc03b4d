-- What every call drew as reported, whether it ended or not. completion_tokens are without reasoning, whether a route reports that
-- inside or beside them. lacks_total, lacks_parts: it may have drawn something and does not say so, or not of its parts.
CREATE OR REPLACE VIEW call_draws AS
SELECT
    call.* EXCLUDE (accepted, completion_tokens, reasoning_tokens),
    coalesce(call.reasoning_tokens, 0) AS reasoning_tokens,
    call.completion_tokens - CASE
        WHEN call.total_tokens >= call.prompt_tokens + call.completion_tokens + call.reasoning_tokens THEN 0
        ELSE least(coalesce(call.reasoning_tokens, 0), call.completion_tokens)
    END AS completion_tokens,
    (call.drew IS NULL OR call.drew <> 'no') AND call.total_tokens IS NULL AS lacks_total,
    (call.drew IS NULL OR call.drew <> 'no') AND (
        call.total_tokens IS NULL OR call.prompt_tokens IS NULL OR call.completion_tokens IS NULL
    ) AS lacks_parts
FROM every_call AS call;
