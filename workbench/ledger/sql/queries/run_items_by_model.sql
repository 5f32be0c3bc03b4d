-- A run's items by requested model (and variant): how many are answered, by this run or an earlier one. cut_off and refused (or
-- filtered): answered, and of no use to a scorer; unusable: these and the empty ones; usable: what a scorer can judge and counts. fallbacks, unknown
-- and suspected: answers by who gave them.
-- Parameters: run_id
SELECT side AS model, count(*) AS items, count(*) FILTER (accepted) AS answered, count(*) FILTER (reused) AS reused,
    count(*) FILTER (accepted IS NOT TRUE) AS unanswered, count(*) FILTER (ends <> '' AND drew = 'yes') AS unusable,
    count(*) FILTER (accepted AND counts AND ends = '') AS usable,
    count(*) FILTER (ends = 'cut_off') AS cut_off, count(*) FILTER (accepted AND ends NOT IN ('', 'cut_off')) AS refused,
    count(*) FILTER (identity = 'fallback') AS fallbacks, count(*) FILTER (identity = 'unknown') AS unknown,
    count(*) FILTER (identity = 'suspected') AS suspected
FROM item_identities
WHERE run_id = $run_id
GROUP BY side ORDER BY side;
