-- The answers of runs by requested and served model, with who gave them and what says so; see `served_identities`.
CREATE OR REPLACE VIEW identified_answers AS
SELECT answered.*, who.identity, who.evidence
FROM (
    SELECT run_id, model, served_model, sum(calls)::BIGINT AS answers, min(first_sent_at) AS first_at, max(last_sent_at) AS last_at
    FROM judged_quarters WHERE drew = 'yes' GROUP BY ALL
) AS answered
JOIN served_identities AS who
    ON who.run_id = answered.run_id AND who.model = answered.model AND who.served_model IS NOT DISTINCT FROM answered.served_model;
