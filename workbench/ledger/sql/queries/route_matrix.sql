-- Requested model by served model, over all answers. served_model NULL: the answer named none.
-- identity and evidence: see call_identities. preset: the platform listed the model as a preset of another one.
-- Parameters: none
WITH answered AS (
    SELECT run_id, model, served_model, count(*) AS answers, min(sent_at) AS first_at, max(sent_at) AS last_at
    FROM judged_attempts WHERE drew = 'yes' GROUP BY ALL
)
SELECT answered.model AS requested_model, answered.served_model, sum(answered.answers)::BIGINT AS answers,
    who.identity, who.evidence, coalesce(any_value(listed.preset), false) AS preset, min(answered.first_at) AS first_at,
    max(answered.last_at) AS last_at
FROM answered
JOIN served_identities AS who
    ON who.run_id = answered.run_id AND who.model = answered.model
    AND who.served_model IS NOT DISTINCT FROM answered.served_model
LEFT JOIN (SELECT model, bool_or(preset) AS preset FROM models_seen GROUP BY model) AS listed ON listed.model = answered.model
GROUP BY answered.model, answered.served_model, who.identity, who.evidence
ORDER BY answered.model, answers DESC, answered.served_model;
