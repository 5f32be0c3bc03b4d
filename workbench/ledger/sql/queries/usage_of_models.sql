-- What answers of some models used and took before, in the runs of one job where there are any, else in all;
-- of_job says which. Only answers that reported their tokens; cut_off of them ran to their cap.
-- Parameters: models (list), job
WITH answer AS (
    SELECT attempt.model, run.job = $job AS of_job, attempt.total_tokens, attempt.completion_tokens, attempt.ends,
        attempt.latency_ms
    FROM judged_attempts AS attempt JOIN run_overview AS run USING (run_id)
    WHERE attempt.accepted AND attempt.total_tokens IS NOT NULL AND list_contains($models::VARCHAR[], attempt.model)
),
chosen AS (SELECT model, bool_or(of_job) AS of_job FROM answer GROUP BY model)
SELECT model, of_job, count(*) AS answers, avg(total_tokens) AS mean, stddev_samp(total_tokens) AS deviation,
    stddev_samp(ln(greatest(total_tokens, 1))) AS log_deviation, count(*) FILTER (ends = 'cut_off') AS cut_off,
    coalesce(avg(completion_tokens), 0) AS completion,
    avg(latency_ms) AS latency_ms, max(latency_ms) AS longest_ms
FROM answer JOIN chosen USING (model, of_job)
GROUP BY model, of_job;
