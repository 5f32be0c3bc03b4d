-- The least and the most that the scores of a scorer may be, from its settings; NULL where nothing says so. `Scorer.ends` says the
-- same.
CREATE OR REPLACE MACRO scale_of(config) AS CASE coalesce(json_extract_string(config, '$.name'), CASE WHEN config IS NULL THEN 'custom' END)
    WHEN 'custom' THEN CAST(json_extract(config, '$.scale') AS DOUBLE[])
    WHEN 'judge' THEN nullif([
        list_min(CAST(json_extract(config, '$.verdicts.*') AS DOUBLE[])),
        list_max(CAST(json_extract(config, '$.verdicts.*') AS DOUBLE[]))
    ], [NULL, NULL])
    ELSE [0.0, 1.0]
END;
