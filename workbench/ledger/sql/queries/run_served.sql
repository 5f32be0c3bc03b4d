-- Requested against served model, over the answers of a run's own calls. served_model NULL: the answer named none.
-- identity and evidence: see call_identities. preset: the platform listed the model as a preset of another one.
-- Parameters: run_id
SELECT attempt.model AS requested_model, attempt.served_model, count(*) AS answers, who.identity, who.evidence,
    coalesce(any_value(listed.preset), false) AS preset
FROM attempts AS attempt
JOIN call_identities AS who USING (run_id, call_no)
LEFT JOIN (SELECT model, bool_or(preset) AS preset FROM models_seen WHERE run_id = $run_id GROUP BY model) AS listed
    USING (model)
WHERE attempt.run_id = $run_id
GROUP BY attempt.model, attempt.served_model, who.identity, who.evidence
ORDER BY attempt.model, answers DESC, attempt.served_model;
