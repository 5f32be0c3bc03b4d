-- Requested model by served model, over all answers. served_model NULL: the answer named none.
-- identity and evidence: see call_identities. preset: the platform listed the model as a preset of another one.
-- Parameters: none
SELECT attempt.model AS requested_model, attempt.served_model, count(*) AS answers, who.identity, who.evidence,
    coalesce(any_value(listed.preset), false) AS preset, min(sent_at) AS first_at, max(sent_at) AS last_at
FROM judged_attempts AS attempt
JOIN served_identities AS who
    ON who.run_id = attempt.run_id AND who.model = attempt.model AND who.served_model IS NOT DISTINCT FROM attempt.served_model
LEFT JOIN (SELECT model, bool_or(preset) AS preset FROM models_seen GROUP BY model) AS listed ON listed.model = attempt.model
WHERE attempt.drew = 'yes'
GROUP BY attempt.model, attempt.served_model, who.identity, who.evidence
ORDER BY attempt.model, answers DESC, attempt.served_model;
