-- Tokens and calls by day (see `usage_by_day`) and model; beyond `most` models, those that used least are one, `others`.
-- Parameters: most, others (their name)
WITH ranked AS (
    SELECT model, row_number() OVER (ORDER BY sum(total_tokens) DESC NULLS LAST, model) AS place, count(*) OVER () AS models
    FROM usage_by_day GROUP BY model
),
named AS (
    SELECT model, CASE WHEN models <= $most OR place < $most THEN model ELSE $others END AS shown FROM ranked
)
SELECT used.day, named.shown AS model, sum(used.calls)::BIGINT AS calls, sum(used.total_tokens)::BIGINT AS total_tokens,
    sum(used.calls_without_usage)::BIGINT AS calls_without_usage
FROM usage_by_day AS used JOIN named USING (model)
GROUP BY used.day, named.shown ORDER BY used.day, named.shown;
