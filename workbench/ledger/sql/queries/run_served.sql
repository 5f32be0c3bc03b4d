-- Requested against served model, over the answers of a run's own calls. served_model NULL: the answer named none.
-- preset: the platform listed the model as a preset of another one.
-- Parameters: run_id
SELECT attempt.model AS requested_model, attempt.served_model, count(*) AS answers,
    coalesce(any_value(listed.preset), false) AS preset
FROM attempts AS attempt
LEFT JOIN (SELECT model, bool_or(preset) AS preset FROM models_seen WHERE run_id = $run_id GROUP BY model) AS listed
    USING (model)
WHERE attempt.run_id = $run_id AND attempt.drew = 'yes'
GROUP BY attempt.model, attempt.served_model ORDER BY attempt.model, answers DESC, attempt.served_model;
