-- How every requested model's calls ended, by day: of the days from the first one on, and of those before on which none was
-- accepted. accepted_again: the next day on which one was. Cancelled calls are left out.
-- Parameters: zone (whose days), first_day
WITH days AS (
    SELECT model, CAST(quarter_at AT TIME ZONE 'UTC' AT TIME ZONE $zone AS DATE) AS day, sum(calls)::BIGINT AS calls,
        coalesce(sum(calls) FILTER (NOT accepted), 0)::BIGINT AS not_accepted,
        coalesce(sum(calls) FILTER (drew = 'yes'), 0)::BIGINT AS answers
    FROM judged_quarters WHERE concluded GROUP BY ALL
)
SELECT model, day, calls, not_accepted, answers,
    min(day) FILTER (not_accepted < calls)
        OVER (PARTITION BY model ORDER BY day ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) AS accepted_again
FROM days QUALIFY day >= $first_day OR not_accepted = calls ORDER BY model, day;
