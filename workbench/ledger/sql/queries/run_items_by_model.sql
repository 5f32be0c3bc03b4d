-- A run's items by requested model: how many are answered, by this run or an earlier one.
-- Parameters: run_id
SELECT model, count(*) AS items, count(*) FILTER (accepted) AS answered, count(*) FILTER (reused) AS reused,
    count(*) FILTER (accepted IS NOT TRUE) AS unanswered
FROM item_outcomes WHERE run_id = $run_id
GROUP BY model ORDER BY model;
