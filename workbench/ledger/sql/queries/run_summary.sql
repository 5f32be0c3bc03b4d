-- How a run's requests ended: planned = reused + completed + failed + pending.
-- reused: accepted answers that an earlier run paid for; completed: that this one did. failed: ended without acceptance, in this
-- run or in an earlier one where no rerun is worth it. pending: never sent, or cut off.
-- retryable: failed ones that a rerun sends again. retried: requests that this run sent more than once.
-- Tokens cover this run's calls only: 0 where none was sent, NULL where none reported any.
-- Parameters: run_id
WITH own AS (
    SELECT request_key, count(*) AS attempts, bool_or(accepted) AS accepted, arg_max(rerun, call_no) AS rerun,
        bool_and(NOT concluded) OR max(call_no) < any_value(answer_call_no) AS cut_off  -- sent again, then lost
    FROM judged_attempts JOIN run_items USING (run_id, request_key)
    WHERE run_id = $run_id AND NOT reused GROUP BY request_key
),
taken AS (
    SELECT count(*) FILTER (accepted) AS accepted, count(*) FILTER (accepted IS NOT TRUE) AS failed
    FROM item_outcomes WHERE run_id = $run_id AND reused
),
counted AS (
    SELECT
        (SELECT any_value(planned) FROM runs WHERE run_id = $run_id AND event = 'started') AS planned,
        (SELECT accepted FROM taken) AS reused,
        (SELECT count(*) FROM own WHERE accepted) AS completed,
        (SELECT count(*) FROM own WHERE NOT accepted AND NOT cut_off) + (SELECT failed FROM taken) AS failed,
        (SELECT count(*) FROM own WHERE NOT accepted AND NOT cut_off AND rerun) AS retryable,
        (SELECT count(*) FROM own WHERE attempts > 1) AS retried
),
unsent AS (SELECT 0::BIGINT AS tokens WHERE NOT EXISTS (SELECT 1 FROM requests WHERE run_id = $run_id)),
used AS (
    SELECT
        count(*) AS calls,
        coalesce(sum(prompt_tokens)::BIGINT, (SELECT tokens FROM unsent)) AS prompt_tokens,
        coalesce(sum(completion_tokens)::BIGINT, (SELECT tokens FROM unsent)) AS completion_tokens,
        coalesce(sum(reasoning_tokens)::BIGINT, (SELECT tokens FROM unsent)) AS reasoning_tokens,
        coalesce(sum(total_tokens)::BIGINT, (SELECT tokens FROM unsent)) AS total_tokens,
        count(*) FILTER (drew = 'yes' AND total_tokens IS NULL) AS calls_without_usage,
        count(*) FILTER (drew = 'maybe' AND total_tokens IS NULL) AS maybe_drawn
    FROM judged_attempts WHERE run_id = $run_id
)
SELECT counted.*, reused + completed AS answered, planned - reused - completed - failed AS pending, used.*,
    (SELECT count(*) FROM requests WHERE run_id = $run_id) - used.calls AS open_intents
FROM counted, used;
