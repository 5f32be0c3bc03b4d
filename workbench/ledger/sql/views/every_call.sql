-- Every call that was sent, with how it ended and what it drew; of those without a recorded end that is NULL.
CREATE OR REPLACE VIEW every_call AS
SELECT run_id, call_no, model, sent_at, ended_at, outcome, accepted, scorable, drew, prompt_tokens, completion_tokens,
    reasoning_tokens, total_tokens
FROM judged_attempts
UNION ALL BY NAME
FROM open_calls;
