-- The lowest and the highest that a sample's score can be (see `reduced`), of which the scores of its epochs are known but for a
-- number of them: from least to most each. missing: how many are not known. Of a mean, and of a number that are right, that is
-- with all of these at one end; a mode may also be any of the known scores. NULL where something is missing and the scale is not
-- known.
CREATE OR REPLACE MACRO reduced_within(reducer, known, missing, scale) AS CASE
    WHEN missing = 0 THEN {low: reduced(reducer, known), high: reduced(reducer, known)}
    WHEN reducer = 'mode' AND scale IS NOT NULL THEN {
        low: list_min(list_transform(list_append(known, scale[1]), lambda x: reduced(reducer, list_concat(known, repeat([x], missing))))),
        high: list_max(list_transform(list_append(known, scale[2]), lambda x: reduced(reducer, list_concat(known, repeat([x], missing)))))
    }
    WHEN scale IS NOT NULL THEN {
        low: reduced(reducer, list_concat(known, repeat([scale[1]], missing))),
        high: reduced(reducer, list_concat(known, repeat([scale[2]], missing)))
    }
END;
