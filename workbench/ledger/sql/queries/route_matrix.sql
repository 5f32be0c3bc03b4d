-- Requested model by served model, over all answers. served_model NULL: the answer named none.
-- identity and evidence: see `identified_answers`. preset: the platform listed the model as a preset of another one.
-- Parameters: none
SELECT answered.model AS requested_model, answered.served_model, sum(answered.answers)::BIGINT AS answers,
    answered.identity, answered.evidence, coalesce(any_value(listed.preset), false) AS preset, min(answered.first_at) AS first_at,
    max(answered.last_at) AS last_at
FROM identified_answers AS answered
LEFT JOIN (SELECT model, bool_or(preset) AS preset FROM models_seen GROUP BY model) AS listed ON listed.model = answered.model
GROUP BY answered.model, answered.served_model, answered.identity, answered.evidence
ORDER BY answered.model, answers DESC, answered.served_model;
