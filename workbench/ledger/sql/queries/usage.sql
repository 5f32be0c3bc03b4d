-- What our calls used by day (see `usage_by_day`), run and model; calls with unknown usage are counted beside the tokens reported.
-- tags: as JSON.
-- Parameters: run_id (NULL takes all)
SELECT usage.day, usage.run_id, run.job, CAST(to_json(run.tags) AS VARCHAR) AS tags, usage.model AS requested_model,
    usage.calls, usage.accepted, usage.prompt_tokens, usage.completion_tokens, usage.reasoning_tokens, usage.total_tokens,
    usage.calls_without_usage, usage.maybe_drawn, usage.open_intents
FROM usage_by_day AS usage LEFT JOIN run_overview AS run USING (run_id)
WHERE $run_id IS NULL OR usage.run_id = $run_id
ORDER BY usage.day, usage.run_id, usage.model;
