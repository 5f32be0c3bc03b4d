-- The most calls of a run in flight at once, in equal spans of its time, told by the seconds to the middle of each: the
-- level that a span begins with, or a higher one within it.
-- Parameters: run_id, spans (how many)
WITH own AS (SELECT sent_at, ended_at FROM attempts WHERE run_id = $run_id),
course AS (
    SELECT min(sent_at) AS first_at, greatest(epoch(max(ended_at) - min(sent_at)), 0.001) AS length_s
    FROM own HAVING count(*) > 0
),
changes AS (
    SELECT sent_at AS happened_at, 1 AS change FROM own
    UNION ALL
    SELECT ended_at AS happened_at, -1 AS change FROM own
),
levels AS (
    -- an end before a start at the same moment: a slot that is handed on counts once
    SELECT happened_at, sum(change) OVER (in_order ROWS UNBOUNDED PRECEDING) AS in_flight,
        row_number() OVER in_order AS place
    FROM changes
    WINDOW in_order AS (ORDER BY happened_at, change)
),
placed AS (
    SELECT in_flight, least(floor(epoch(happened_at - first_at) / length_s * $spans), $spans - 1)::BIGINT AS span,
        place
    FROM levels, course
),
within AS (
    SELECT span, max(in_flight) AS most, arg_max(in_flight, place) AS last_level FROM placed GROUP BY span
),
spans AS (
    SELECT every.span, within.most,
        last_value(within.last_level IGNORE NULLS) OVER (
            ORDER BY every.span ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS level_before
    FROM (SELECT unnest(range($spans::BIGINT)) AS span) AS every LEFT JOIN within ON within.span = every.span
)
SELECT round((spans.span + 0.5) * course.length_s / $spans, 6) AS seconds,
    greatest(coalesce(spans.most, 0), coalesce(spans.level_before, 0))::BIGINT AS most_in_flight
FROM spans, course
ORDER BY spans.span;
