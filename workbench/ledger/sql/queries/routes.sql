-- Every requested model over everything recorded: how its calls ended, how fast it answers, how much of its completion is
-- thinking, and how well it reports usage. latency in ms, of answers. thinking_share: reasoning over completion tokens,
-- of the answers that report both. accepted_share: of the calls, cancelled ones aside. substituted: answers of another model.
-- Shares are NULL where unknown. Tools: without what probes asked.
-- Parameters: none
WITH own AS (
    SELECT model, sum(calls)::BIGINT AS calls, coalesce(sum(calls) FILTER (accepted), 0)::BIGINT AS accepted,
        coalesce(sum(calls) FILTER (drew = 'yes'), 0)::BIGINT AS answers,
        coalesce(sum(calls) FILTER (NOT accepted AND concluded), 0)::BIGINT AS failed,
        coalesce(sum(calls) FILTER (drew = 'yes' AND reports = 'nothing'), 0)::BIGINT AS calls_without_usage,
        sum(completion_tokens) FILTER (reports_reasoning) AS completion_with_reasoning,
        sum(reasoning_tokens) FILTER (reports_reasoning) AS reasoning,
        count(DISTINCT served_model) AS served_names, min(first_sent_at) AS first_at, max(last_sent_at) AS last_at
    FROM judged_quarters GROUP BY model
),
latency AS (
    SELECT model, quantile_cont(latency_ms, [0.5, 0.9, 0.99]) AS quantiles FROM judged_attempts WHERE drew = 'yes' GROUP BY model
),
asked AS (  -- a row an answer, and one more for each further call in it
    SELECT run_id, call_no, request.tools, called.position, coalesce(called.position, 1) = 1 AS is_first
    FROM (SELECT run_id, call_no, tools FROM requests WHERE tools IS NOT NULL) AS request
    FULL JOIN tool_calls AS called USING (run_id, call_no)
),
with_tools AS (  -- few runs have any: to join all calls with theirs takes most of the query's time
    SELECT DISTINCT run_id FROM requests WHERE tools IS NOT NULL
    UNION SELECT DISTINCT run_id FROM tool_calls
),
tools AS (
    SELECT attempt.model, count(tools) FILTER (is_first) AS offered, count(*) FILTER (is_first AND tools = 'forced') AS forced,
        count(tools) FILTER (position = 1) AS called, count(*) FILTER (position = 1 AND tools = 'forced') AS forced_and_called,
        count(position) AS tool_calls
    FROM asked JOIN judged_attempts AS attempt USING (run_id, call_no)
    WHERE attempt.drew = 'yes' AND attempt.run_id IN (FROM with_tools) AND attempt.run_id NOT IN (SELECT run_id FROM probe_runs)
    GROUP BY attempt.model
),
substituted AS (
    SELECT model, sum(answers)::BIGINT AS answers FROM identified_answers
    WHERE identity IN ('fallback', 'suspected') GROUP BY model
),
listed AS (
    SELECT model, arg_max(owned_by, recorded_at) AS owned_by, max(recorded_at) AS listed_at FROM models_seen GROUP BY model
)
SELECT own.model, own.calls, own.accepted, own.answers, own.failed, own.calls_without_usage,
    own.accepted / nullif(own.accepted + own.failed, 0) AS accepted_share,
    1 - own.calls_without_usage / nullif(own.answers, 0) AS usage_share,
    coalesce(substituted.answers, 0) AS substituted,
    coalesce(substituted.answers, 0) / nullif(own.answers, 0) AS substituted_share,
    latency.quantiles[1] AS p50_ms, latency.quantiles[2] AS p90_ms, latency.quantiles[3] AS p99_ms,
    own.reasoning / nullif(own.completion_with_reasoning, 0) AS thinking_share,
    coalesce(tools.offered, 0) AS tools_offered, coalesce(tools.forced, 0) AS tools_forced,
    coalesce(tools.called, 0) AS tools_called, coalesce(tools.forced_and_called, 0) AS forced_and_called,
    coalesce(tools.tool_calls, 0) AS tool_calls, own.served_names, listed.owned_by, own.first_at, own.last_at,
    listed.listed_at
FROM own LEFT JOIN latency USING (model) LEFT JOIN tools USING (model) LEFT JOIN substituted USING (model) LEFT JOIN listed USING (model)
ORDER BY own.model;
