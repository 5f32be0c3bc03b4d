-- Answers of another model than the one that was asked, by day, with the newest runs that got them, the newest first.
-- Parameters: zone (whose days), most_runs
WITH answered AS (
    SELECT run_id, model, served_model, CAST(quarter_at AT TIME ZONE 'UTC' AT TIME ZONE $zone AS DATE) AS day,
        sum(calls)::BIGINT AS answers, min(first_sent_at) AS first_at, max(last_sent_at) AS last_at, any_value(who.identity) AS identity,
        any_value(who.evidence) AS evidence
    FROM judged_quarters
    JOIN (SELECT * FROM served_identities WHERE identity IN ('fallback', 'suspected')) AS who
        USING (run_id, model, served_model)
    WHERE drew = 'yes'
    GROUP BY ALL
)
SELECT model, served_model, min(identity) AS identity, arg_min(evidence, identity) AS evidence, day,
    sum(answers)::BIGINT AS answers, min(first_at) AS first_at, max(last_at) AS last_at,
    arg_max(run_id, last_at, $most_runs) AS run_ids
FROM answered GROUP BY model, served_model, day ORDER BY model, served_model, day;
