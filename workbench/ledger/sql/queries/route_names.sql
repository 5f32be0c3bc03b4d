-- Every name under which a requested model answered, the earliest first; how many of its answers came before that name did.
-- Parameters: none
WITH named AS (
    SELECT model, served_model, count(*) AS answers, min(sent_at) AS first_at, max(sent_at) AS last_at,
        arg_max(run_id, sent_at) AS last_run_id
    FROM judged_attempts WHERE drew = 'yes' AND served_model IS NOT NULL GROUP BY model, served_model
),
who AS (
    SELECT model, served_model, mode(identity) AS identity, mode(evidence) AS evidence FROM served_identities
    GROUP BY model, served_model
)
SELECT named.model, named.served_model, who.identity, who.evidence, named.answers, named.first_at, named.last_at,
    (SELECT count(*) FROM judged_attempts AS before
     WHERE before.model = named.model AND before.drew = 'yes' AND before.sent_at < named.first_at) AS answers_before,
    named.last_run_id
FROM named JOIN who USING (model, served_model)
ORDER BY named.model, named.first_at, named.served_model;
