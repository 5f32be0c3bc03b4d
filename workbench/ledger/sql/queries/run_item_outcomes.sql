-- How a run's items stand, by model and by the outcome of the attempt that each uses (NULL: it was sent, and no end is
-- known).
-- Parameters: run_id
SELECT side AS model, outcome, any_value(accepted) AS accepted, any_value(scorable) AS scorable,
    any_value(concluded) AS concluded, count(*) AS items
FROM item_outcomes WHERE run_id = $run_id
GROUP BY side, outcome ORDER BY side, items DESC, outcome;
