-- What the scores of a sample's epochs can be, of which some are known: with all that are missing at one end of the scale; for a
-- mode also at each of the known scores. Empty where something is missing and the scale is not known.
CREATE OR REPLACE MACRO completions(reducer, known, missing, scale) AS CASE
    WHEN missing = 0 THEN [known]
    WHEN scale IS NULL THEN []
    ELSE list_transform(
        CASE WHEN reducer = 'mode' THEN list_concat(known, scale) ELSE scale END,
        lambda x: list_concat(known, repeat([x], missing))
    )
END;
