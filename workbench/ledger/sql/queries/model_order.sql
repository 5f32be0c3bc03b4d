-- Every model ever asked, in the order of first use, and then every variant of one: each keeps its colour on every page of
-- a ledger.
-- Parameters: none
SELECT model, min(sent_at) AS first_at, 0 AS rank FROM requests GROUP BY model
UNION ALL
SELECT concat_ws(' · ', item.model, item.variant), min(run.started_at), 1
FROM run_items AS item JOIN run_overview AS run USING (run_id)
WHERE item.variant IS NOT NULL
GROUP BY item.model, item.variant
ORDER BY rank, first_at, model;
