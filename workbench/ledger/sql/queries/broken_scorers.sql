-- The scorers of a run that failed on answers: on how many of those that they were given, and how, for one.
-- Parameters: run_id, failed (with what the reason of such a score begins)
SELECT scorer, count(*) FILTER (broke) AS failed, count(*) AS answers, min(reason) FILTER (broke) AS reason
FROM (
    SELECT scorer, reason, value IS NULL AND starts_with(reason, $failed) AS broke FROM latest_scores WHERE run_id = $run_id
)
GROUP BY scorer HAVING count(*) FILTER (broke) > 0
ORDER BY scorer;
