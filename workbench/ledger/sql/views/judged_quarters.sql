-- `call_quarters` with what follows from the outcomes today (see `judged_attempts`). Of a run that has corrected outcomes its attempts
-- are summed up, which say what they were corrected to.
CREATE OR REPLACE VIEW judged_quarters AS
SELECT
    quarter.* EXCLUDE (sent) REPLACE (
        coalesce(known.accepted, quarter.accepted) AS accepted,
        CASE WHEN quarter.sent = 'never' THEN 'no' ELSE coalesce(known.drew, quarter.drew) END AS drew
    ),
    coalesce(known.concluded, true) AS concluded
FROM call_quarters AS quarter
LEFT JOIN outcomes AS known ON known.outcome = quarter.outcome
WHERE quarter.run_id NOT IN (SELECT run_id FROM corrected_outcomes)
UNION ALL BY NAME
FROM attempt_quarters((SELECT list(DISTINCT run_id) FROM corrected_outcomes));
