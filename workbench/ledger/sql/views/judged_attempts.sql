-- The attempts with what follows from their outcomes today (see `outcomes`). The columns of the same names in `attempts` hold
-- what followed when they were recorded, for older versions of this program; here they count only for an outcome that this
-- version does not know.
CREATE OR REPLACE VIEW judged_attempts AS
SELECT
    attempt.* REPLACE (
        coalesce(known.accepted, attempt.accepted) AS accepted,
        coalesce(known.rerun, attempt.rerun) AS rerun,
        coalesce(known.scorable, attempt.scorable) AS scorable,
        CASE WHEN attempt.sent = 'never' THEN 'no' ELSE coalesce(known.drew, attempt.drew) END AS drew
    ),
    coalesce(known.concluded, true) AS concluded,
    known.resembles
FROM attempts AS attempt
LEFT JOIN outcomes AS known ON known.outcome = attempt.outcome;
