-- Runs, newest first, with how their requests ended and what they used: total_tokens is 0 where nothing was sent,
-- NULL where no call reported any. answered: reused and completed. failed: in this run, or in an earlier one and not sent again.
-- duration_s: NULL where a run is running or was killed.
-- Parameters: most, run_ids (list; NULL takes all)
WITH newest AS (
    SELECT * EXCLUDE (is_settled) FROM run_overview
    WHERE $run_ids IS NULL OR run_id IN (SELECT unnest($run_ids::VARCHAR[]))
    ORDER BY started_at DESC NULLS LAST LIMIT $most
),
once AS (  -- runs that sent every request once and know how each ended: then the calls say how the requests ended, without a look at each
    SELECT run_id
    FROM (SELECT run_id, sum(calls) AS ends FROM judged_quarters WHERE run_id IN (SELECT run_id FROM newest) GROUP BY run_id)
    JOIN (SELECT run_id, count(*) AS sent FROM requests WHERE run_id IN (SELECT run_id FROM newest) GROUP BY run_id) USING (run_id)
    JOIN (
        SELECT run_id, count(*) AS items FROM run_items WHERE run_id IN (SELECT run_id FROM newest) AND NOT reused GROUP BY run_id
    ) USING (run_id)
    WHERE sent = items AND ends = sent
),
several AS (SELECT run_id FROM newest ANTI JOIN once USING (run_id)),
own AS (
    SELECT run_id, request_key, bool_or(accepted) AS accepted,
        bool_and(NOT concluded) OR max(call_no) < any_value(answer_call_no) AS cut_off
    FROM judged_attempts
    JOIN (FROM run_items WHERE run_id IN (SELECT run_id FROM several)) AS item USING (run_id, request_key)  -- else all are read
    WHERE run_id IN (SELECT run_id FROM several) AND NOT item.reused GROUP BY run_id, request_key
),
ended AS (
    SELECT run_id, count(*) FILTER (accepted) AS completed, count(*) FILTER (NOT accepted AND NOT cut_off) AS failed
    FROM own GROUP BY run_id
    UNION ALL
    SELECT run_id, coalesce(sum(calls) FILTER (accepted), 0)::BIGINT, coalesce(sum(calls) FILTER (NOT accepted AND concluded), 0)::BIGINT
    FROM judged_quarters WHERE run_id IN (SELECT run_id FROM once) GROUP BY run_id
),
used AS (
    SELECT run_id, sum(calls)::BIGINT AS calls, sum(total_tokens)::BIGINT AS total_tokens,
        coalesce(sum(calls) FILTER (drew = 'yes' AND reports = 'nothing'), 0)::BIGINT AS calls_without_usage
    FROM judged_quarters WHERE run_id IN (SELECT run_id FROM newest) GROUP BY run_id
),
sent AS (SELECT DISTINCT run_id FROM requests WHERE run_id IN (SELECT run_id FROM newest)),
taken AS (
    SELECT run_id, count(DISTINCT model) AS models
    FROM run_items WHERE run_id IN (SELECT run_id FROM newest) GROUP BY run_id
),
before AS (
    SELECT item.run_id, count(*) FILTER (attempt.accepted) AS reused, count(*) FILTER (attempt.accepted IS NOT TRUE) AS failed
    FROM run_items AS item
    LEFT JOIN judged_attempts AS attempt ON attempt.run_id = item.answer_run_id AND attempt.call_no = item.answer_call_no
    WHERE item.run_id IN (SELECT run_id FROM newest) AND item.reused GROUP BY item.run_id
)
SELECT newest.run_id, newest.job, newest.status, newest.reason, newest.exit_code, newest.started_at, newest.ended_at,
    newest.duration_s, newest.planned, coalesce(before.reused, 0) AS reused, coalesce(ended.completed, 0) AS completed,
    coalesce(before.reused, 0) + coalesce(ended.completed, 0) AS answered,
    coalesce(ended.failed, 0) + coalesce(before.failed, 0) AS failed,
    newest.planned - coalesce(before.reused, 0) - coalesce(before.failed, 0) - coalesce(ended.completed, 0) - coalesce(ended.failed, 0)
        AS pending,
    coalesce(used.calls, 0) AS calls,
    coalesce(used.total_tokens, CASE WHEN sent.run_id IS NULL THEN 0 END) AS total_tokens,
    coalesce(used.calls_without_usage, 0) AS calls_without_usage,
    coalesce(taken.models, 0) AS models, newest.generation, newest.occasion, newest.narrowed, newest.tags, newest.endpoint,
    newest.job_path, newest.simulated
FROM newest
LEFT JOIN ended USING (run_id)
LEFT JOIN used USING (run_id)
LEFT JOIN sent USING (run_id)
LEFT JOIN taken USING (run_id)
LEFT JOIN before USING (run_id)
ORDER BY newest.started_at DESC NULLS LAST;
