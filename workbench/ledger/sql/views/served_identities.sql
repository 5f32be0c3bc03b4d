-- Who answers under a name, by run and requested model, and what says so. as_requested: the model that was asked names
-- itself. known_alias: the base that the model list of the run names for a preset, or a name that the account's settings
-- confirm (`served_as`, in the variable of that name: model -> names). fallback: another model of the list, a confirmed name
-- of another one, or a name other than the confirmed one. unknown: no name, or one that the list does not have. suspected: such a
-- name of a model that in the same run named itself as well.
CREATE OR REPLACE VIEW served_identities AS
SELECT run_id, model, served_model, who.identity AS identity, who.evidence AS evidence,
    who.identity = 'unknown' AND served_model IS NOT NULL
        AND bool_or(who.identity IN ('as_requested', 'known_alias')) OVER (PARTITION BY run_id, model) AS suspected
FROM (
    SELECT
        name.run_id,
        name.model,
        name.served_model,
        CASE
            WHEN name.served_model IS NULL THEN {identity: 'unknown', evidence: 'not named'}
            WHEN name.served_model = name.model THEN {identity: 'as_requested', evidence: 'names itself'}
            WHEN name.served_model = asked.base THEN {identity: 'known_alias', evidence: 'base in the model list'}
            WHEN list_contains(asked.confirmed, name.served_model)
                THEN {identity: 'known_alias', evidence: 'confirmed in the settings'}
            WHEN listed.model IS NOT NULL THEN {identity: 'fallback', evidence: 'another model of the list'}
            WHEN list_contains(
                flatten(map_values(CAST(getvariable('served_as') AS MAP(VARCHAR, VARCHAR[])))), name.served_model
            ) THEN {identity: 'fallback', evidence: 'confirmed name of another model'}
            WHEN len(asked.confirmed) > 0 THEN {identity: 'fallback', evidence: 'not the confirmed name'}
            ELSE {identity: 'unknown', evidence: 'not in the model list'}
        END AS who
    FROM (SELECT DISTINCT run_id, model, served_model FROM served_names) AS name
    LEFT JOIN (
        SELECT run_id, model, any_value(base) AS base,
            list_concat(
                CAST(getvariable('served_as') AS MAP(VARCHAR, VARCHAR[]))[model],
                CAST(getvariable('served_as') AS MAP(VARCHAR, VARCHAR[]))[any_value(base)]
            ) AS confirmed
        FROM models_seen GROUP BY run_id, model
    ) AS asked ON asked.run_id = name.run_id AND asked.model = name.model
    LEFT JOIN (SELECT DISTINCT run_id, model FROM models_seen) AS listed
        ON listed.run_id = name.run_id AND listed.model = name.served_model
);
