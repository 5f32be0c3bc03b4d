-- One row a run's item, with the attempt that it uses (NULL columns: no attempt ended). reused: an earlier run paid.
CREATE OR REPLACE VIEW item_outcomes AS
SELECT
    item.run_id,
    item.request_key,
    item.model,
    item.sample_id,
    item.sample_key,
    item.epoch,
    item.reused,
    item.answer_run_id,
    item.answer_call_no,
    attempt.outcome,
    attempt.accepted,
    attempt.rerun,
    attempt.scorable,
    attempt.drew,
    attempt.evidence,
    attempt.served_model,
    attempt.http_status,
    attempt.latency_ms,
    attempt.sent_at,
    attempt.finish_reason,
    attempt.error_text,
    attempt.prompt_tokens,
    attempt.completion_tokens,
    attempt.reasoning_tokens,
    attempt.total_tokens
FROM run_items AS item
LEFT JOIN attempts AS attempt
    ON attempt.run_id = item.answer_run_id AND attempt.call_no = item.answer_call_no;
