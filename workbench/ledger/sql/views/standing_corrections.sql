-- The samples of runs whose target was corrected (`workbench targets`), as the newest word on each says.
CREATE OR REPLACE VIEW standing_corrections AS
SELECT run_id, sample_key, arg_max({key: corrected_key}, recorded_at).key AS corrected_key, max(recorded_at) AS recorded_at,
    arg_max(reason, recorded_at) AS reason
FROM target_corrections
GROUP BY run_id, sample_key;
