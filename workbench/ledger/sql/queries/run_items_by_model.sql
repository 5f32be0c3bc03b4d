-- A run's items by requested model (and variant): how many are answered, by this run or an earlier one. cut_off and
-- refused: answered, and of no use to a scorer (truncated, or all tokens went into reasoning; refused or filtered). fallbacks and unknown: answers by who gave them.
-- Parameters: run_id
SELECT item.side AS model, count(*) AS items, count(*) FILTER (item.accepted) AS answered,
    count(*) FILTER (item.reused) AS reused,
    count(*) FILTER (item.accepted IS NOT TRUE) AS unanswered,
    count(*) FILTER (item.ends <> '' AND item.drew = 'yes') AS unusable, count(*) FILTER (item.ends = 'cut_off') AS cut_off, count(*) FILTER (item.accepted AND item.ends NOT IN ('', 'cut_off')) AS refused,
    count(*) FILTER (who.identity = 'fallback') AS fallbacks, count(*) FILTER (who.identity = 'unknown') AS unknown
FROM item_outcomes AS item
JOIN item_identities AS who ON who.run_id = item.run_id AND who.request_key = item.request_key
WHERE item.run_id = $run_id
GROUP BY item.side ORDER BY item.side;
