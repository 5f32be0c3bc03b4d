-- The scorers of some runs that failed on answers, or judged some not yet: on how many of those that they were given, and how or why,
-- for one.
-- Parameters: run_ids (list), failed, pending (with what the reason of such a score begins)
SELECT run_id, scorer, count(*) AS answers, count(*) FILTER (broke) AS failed, min(reason) FILTER (broke) AS failed_reason,
    count(*) FILTER (waits) AS pending, min(reason) FILTER (waits) AS pending_reason
FROM (
    SELECT run_id, scorer, reason, value IS NULL AND starts_with(reason, $failed) AS broke,
        value IS NULL AND starts_with(reason, $pending) AS waits
    FROM latest_scores WHERE list_contains($run_ids::VARCHAR[], run_id)
)
GROUP BY run_id, scorer HAVING count(*) FILTER (broke OR waits) > 0
ORDER BY run_id, scorer;
