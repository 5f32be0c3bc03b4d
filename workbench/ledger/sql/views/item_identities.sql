-- Who answered a run's item, from the answer's own words and the run's model list (NULL: there is no answer).
-- as_requested: the model that was asked names itself. known_alias: the base that the list names for a preset. fallback:
-- another model of the list, which is not its base. unknown: no name, or one that the list does not have.
CREATE OR REPLACE VIEW item_identities AS
SELECT
    item.run_id,
    item.request_key,
    CASE
        WHEN item.accepted IS NOT TRUE THEN NULL
        WHEN item.served_model = item.model THEN 'as_requested'
        WHEN item.served_model = asked.base THEN 'known_alias'
        WHEN listed.model IS NOT NULL THEN 'fallback'
        ELSE 'unknown'
    END AS identity
FROM item_outcomes AS item
LEFT JOIN (
    SELECT run_id, model,
        any_value(CASE WHEN json_valid(raw) THEN json_extract_string(raw, '$.info.base_model_id') END) AS base
    FROM models_seen GROUP BY run_id, model
) AS asked ON asked.run_id = item.run_id AND asked.model = item.model
LEFT JOIN (SELECT DISTINCT run_id, model FROM models_seen) AS listed
    ON listed.run_id = item.run_id AND listed.model = item.served_model;
