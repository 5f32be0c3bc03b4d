-- Scores of a run by model and scorer; the mean is over scored answers. n for intervals is samples where epochs repeat.
-- Parameters: run_id
SELECT model, scorer, scored, unscored, mean, is_binary, samples
FROM pass_rates WHERE run_id = $run_id
ORDER BY scorer, mean DESC NULLS LAST, model;
