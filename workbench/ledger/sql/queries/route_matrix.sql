-- Requested model by served model, over all answers. served_model NULL: the answer named none.
-- identity and evidence: see call_identities. preset: the platform listed the model as a preset of another one.
-- Parameters: none
SELECT attempt.model AS requested_model, attempt.served_model, count(*) AS answers, who.identity, who.evidence,
    coalesce(any_value(listed.preset), false) AS preset, min(sent_at) AS first_at, max(sent_at) AS last_at
FROM attempts AS attempt
JOIN call_identities AS who USING (run_id, call_no)
LEFT JOIN (SELECT model, bool_or(preset) AS preset FROM models_seen GROUP BY model) AS listed USING (model)
GROUP BY attempt.model, attempt.served_model, who.identity, who.evidence
ORDER BY attempt.model, answers DESC, attempt.served_model;
