-- The most calls of a run in flight at once, in equal spans of its time, told by the seconds to the middle of each.
-- Parameters: run_id, spans (how many)
WITH own AS (SELECT sent_at, ended_at FROM attempts WHERE run_id = $run_id),
course AS (
    SELECT min(sent_at) AS first_at, greatest(epoch(max(ended_at) - min(sent_at)), 0.001) AS length_s FROM own
),
changes AS (
    SELECT sent_at AS happened_at, 1 AS change FROM own
    UNION ALL
    SELECT ended_at AS happened_at, -1 AS change FROM own
),
levels AS (
    -- an end before a start at the same moment: a slot that is handed on counts once
    SELECT happened_at, sum(change) OVER (ORDER BY happened_at, change ROWS UNBOUNDED PRECEDING) AS in_flight FROM changes
),
placed AS (
    SELECT in_flight, length_s, least(floor(epoch(happened_at - first_at) / length_s * $spans), $spans - 1) AS span FROM levels, course
)
SELECT any_value((span + 0.5) * length_s / $spans) AS seconds, max(in_flight)::BIGINT AS most_in_flight
FROM placed
GROUP BY span ORDER BY span;
