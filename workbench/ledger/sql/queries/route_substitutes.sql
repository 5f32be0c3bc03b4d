-- Answers of another model than the one that was asked, by day, with some of the runs that got them.
-- Parameters: zone (whose days), most_runs
SELECT attempt.model, attempt.served_model, any_value(who.evidence) AS evidence,
    CAST(attempt.sent_at AT TIME ZONE 'UTC' AT TIME ZONE $zone AS DATE) AS day, count(*) AS answers,
    min(sent_at) AS first_at, max(sent_at) AS last_at, list(DISTINCT attempt.run_id)[:$most_runs] AS run_ids
FROM judged_attempts AS attempt
JOIN served_identities AS who
    ON who.run_id = attempt.run_id AND who.model = attempt.model AND who.served_model IS NOT DISTINCT FROM attempt.served_model
WHERE attempt.drew = 'yes' AND who.identity IN ('fallback', 'suspected')
GROUP BY attempt.model, attempt.served_model, day ORDER BY attempt.model, attempt.served_model, day;
