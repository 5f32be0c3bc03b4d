-- What the model lists of some runs say of each model that changes its answers: the model that a preset stands on, and the
-- preset's settings as JSON (NULL: none).
-- Parameters: run_ids (list)
SELECT run_id, model, any_value(base) AS base,
    any_value(CASE WHEN json_valid(raw) THEN nullif(json_extract(raw, '$.info.params')::VARCHAR, '{}') END) AS settings
FROM models_seen WHERE list_contains($run_ids::VARCHAR[], run_id)
GROUP BY run_id, model ORDER BY run_id, model;
