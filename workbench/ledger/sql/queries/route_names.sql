-- Every name under which a requested model answered, the earliest first; how many of its answers came before that name did.
-- Parameters: none
WITH named AS (
    SELECT model, served_model, sum(answers)::BIGINT AS answers, min(first_at) AS first_at, max(last_at) AS last_at,
        arg_max(run_id, last_at) AS last_run_id
    FROM identified_answers GROUP BY model, served_model
),
who AS (
    SELECT model, served_model, mode(identity) AS identity, mode(evidence) AS evidence FROM served_identities
    GROUP BY model, served_model
),
before AS (  -- of names that are not a model's first answer: of most models there is none
    SELECT later.model, later.served_model, count(*) AS answers
    FROM (SELECT model, served_model, first_at FROM named QUALIFY first_at > min(first_at) OVER (PARTITION BY model)) AS later
    JOIN judged_attempts AS attempt ON attempt.model = later.model AND attempt.sent_at < later.first_at
    WHERE attempt.drew = 'yes' GROUP BY ALL
)
SELECT named.model, named.served_model, who.identity, who.evidence, named.answers, named.first_at, named.last_at,
    coalesce(before.answers, 0) AS answers_before, named.last_run_id
FROM named JOIN who USING (model, served_model) LEFT JOIN before USING (model, served_model)
ORDER BY named.model, named.first_at, named.served_model;
