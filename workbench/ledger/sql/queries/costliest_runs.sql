-- The runs that used most tokens.
-- Parameters: most
SELECT run.run_id, run.job, run.started_at, sum(usage.calls)::BIGINT AS calls,
    sum(usage.total_tokens)::BIGINT AS total_tokens,
    sum(usage.calls_without_usage)::BIGINT AS calls_without_usage
FROM usage_by_day AS usage JOIN run_overview AS run USING (run_id)
GROUP BY ALL ORDER BY total_tokens DESC NULLS LAST, run.run_id LIMIT $most;
