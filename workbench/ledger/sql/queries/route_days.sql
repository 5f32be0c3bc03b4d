-- How every requested model's calls ended, by day: of the days from the first one on, and of those before on which none was
-- accepted. accepted_again: the next day on which one was. Cancelled calls are left out.
-- Parameters: zone (whose days), first_day
WITH quarters AS (  -- zones differ by quarters of an hour: to convert each call's time would take most of the query's time
    SELECT model, time_bucket(INTERVAL 15 MINUTE, sent_at) AS quarter, count(*) AS calls,
        count(*) FILTER (NOT accepted) AS not_accepted, count(*) FILTER (drew = 'yes') AS answers
    FROM judged_attempts WHERE concluded GROUP BY ALL
),
days AS (
    SELECT model, CAST(quarter AT TIME ZONE 'UTC' AT TIME ZONE $zone AS DATE) AS day, sum(calls)::BIGINT AS calls,
        sum(not_accepted)::BIGINT AS not_accepted, sum(answers)::BIGINT AS answers
    FROM quarters GROUP BY ALL
)
SELECT model, day, calls, not_accepted, answers,
    min(day) FILTER (not_accepted < calls)
        OVER (PARTITION BY model ORDER BY day ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) AS accepted_again
FROM days QUALIFY day >= $first_day OR not_accepted = calls ORDER BY model, day;
