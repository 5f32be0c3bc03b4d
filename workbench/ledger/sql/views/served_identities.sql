-- Who answers under a name, by run and requested model, and what says so. as_requested: the model that was asked names
-- itself. known_alias: its id but for capitals or a prefix, the base that the model list of the run names for a preset, or a name
-- that the account's settings confirm (`served_as`, in the variable of that name: model -> names). fallback: another model of the
-- list, a confirmed name of another one, or a name other than the confirmed one. suspected: a name that the list does not have, of
-- a model that has answered under its own name (on the same platform, in whichever run), or where at least five others have
-- answered and all of them under their own. unknown: no name, or another one that the list does not have. How often a name came
-- decides nothing.
CREATE OR REPLACE VIEW served_identities AS
WITH named AS (
    SELECT
        name.run_id,
        name.model,
        name.served_model,
        run.platform,
        CASE
            WHEN name.served_model IS NULL THEN {identity: 'unknown', evidence: 'not named'}
            WHEN name.served_model = name.model THEN {identity: 'as_requested', evidence: 'names itself'}
            WHEN name.served_model = asked.base THEN {identity: 'known_alias', evidence: 'base in the model list'}
            WHEN list_contains(asked.confirmed, name.served_model)
                THEN {identity: 'known_alias', evidence: 'confirmed in the settings'}
            WHEN same_name(name.served_model, name.model) THEN {identity: 'known_alias', evidence: 'its id without a prefix'}
            WHEN listed.model IS NOT NULL THEN {identity: 'fallback', evidence: 'another model of the list'}
            WHEN list_contains(
                flatten(map_values(CAST(getvariable('served_as') AS MAP(VARCHAR, VARCHAR[])))), name.served_model
            ) THEN {identity: 'fallback', evidence: 'confirmed name of another model'}
            WHEN len(asked.confirmed) > 0 THEN {identity: 'fallback', evidence: 'not the confirmed name'}
            WHEN same_name(name.served_model, asked.base)
                THEN {identity: 'known_alias', evidence: 'base in the model list, without a prefix'}
            ELSE {identity: 'unknown', evidence: 'not in the model list'}
        END AS who
    FROM (SELECT DISTINCT run_id, model, served_model FROM served_names) AS name
    LEFT JOIN (SELECT run_id, any_value(identity) AS platform FROM runs WHERE event = 'started' GROUP BY run_id) AS run
        ON run.run_id = name.run_id
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
),
route AS (
    SELECT platform, model, bool_or(who.identity IN ('as_requested', 'known_alias')) AS named_itself
    FROM named WHERE served_model IS NOT NULL GROUP BY platform, model
),
platform AS (
    SELECT platform, count(*) AS routes, count(*) FILTER (named_itself) AS named_themselves FROM route GROUP BY platform
)
SELECT named.run_id, named.model, named.served_model,
    CASE WHEN suspicion IS NOT NULL AND who.identity = 'unknown' THEN 'suspected' ELSE who.identity END AS identity,
    CASE WHEN suspicion IS NOT NULL AND who.identity = 'unknown' THEN suspicion ELSE who.evidence END AS evidence
FROM named
LEFT JOIN (
    SELECT route.platform, route.model,
        CASE
            WHEN route.named_itself THEN 'not its name, which it has given'
            WHEN platform.routes > 5 AND platform.named_themselves = platform.routes - 1
                THEN 'not its name, where all others give theirs'
        END AS suspicion
    FROM route JOIN platform ON platform.platform IS NOT DISTINCT FROM route.platform
) AS known
    ON known.platform IS NOT DISTINCT FROM named.platform AND known.model = named.model AND named.served_model IS NOT NULL;
