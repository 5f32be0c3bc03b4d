-- Every model ever asked, in the order of first use: a model keeps its colour on every page of a ledger.
-- Parameters: none
SELECT model, min(sent_at) AS first_at FROM requests GROUP BY model ORDER BY first_at, model;
