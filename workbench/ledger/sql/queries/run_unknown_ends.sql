-- The reasons for which answers of a run's own calls ended that no rule knows, with how many have each.
-- Parameters: run_id, unknown_reason (with what the evidence of such an answer ends)
SELECT coalesce(finish_reason, '') AS finish_reason, count(*) AS answers
FROM judged_attempts
WHERE run_id = $run_id AND ends_with(evidence, $unknown_reason)
GROUP BY ALL ORDER BY answers DESC, finish_reason;
