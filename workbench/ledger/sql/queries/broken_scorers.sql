-- The scorers of some runs that failed on answers: on how many of those that they were given, and how, for one.
-- Parameters: run_ids (list), failed (with what the reason of such a score begins)
SELECT run_id, scorer, count(*) FILTER (broke) AS failed, count(*) AS answers, min(reason) FILTER (broke) AS reason
FROM (
    SELECT run_id, scorer, reason, value IS NULL AND starts_with(reason, $failed) AS broke
    FROM latest_scores WHERE list_contains($run_ids::VARCHAR[], run_id)
)
GROUP BY run_id, scorer HAVING count(*) FILTER (broke) > 0
ORDER BY run_id, scorer;
