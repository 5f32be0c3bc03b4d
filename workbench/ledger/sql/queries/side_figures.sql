-- What the models of some runs took for their answers, by run and model (with its variant, where the job has some:
-- requested_model and variant are its parts), in the order in which each was first asked:
-- completion_tokens is the mean of what each of the answers that count took, empty ones and those asked for before it in its run among
-- them, where the usage of all is known (NULL: of none); p50_ms and p90_ms are over answers that count and are not empty. tokens_deviation and tokens_known are what the mean's interval needs; p50_low_ms and p50_high_ms
-- hold the median with at least 95 % confidence, by the ranks that the binomial distribution gives (NULL: too few answers).
-- cut_off and refused: answers of no use to a scorer (truncated, or all tokens went into reasoning; refused or filtered).
-- fallbacks counts answers of another
-- model, unknown those whose model cannot be told, and suspected those that are left out like a fallback's, as their name is not the model's. reused: answers
-- of earlier runs, with when the oldest and the newest of them were asked for.
-- on_fallback NULL: as each run's job says.
-- Parameters: run_ids (list), on_fallback
WITH took AS (
    SELECT run_id, request_key, CASE WHEN count(*) = count(completion_tokens) THEN sum(completion_tokens) END AS tokens
    FROM judged_attempts
    WHERE drew = 'yes' AND run_id IN (SELECT answer_run_id FROM run_items WHERE list_contains($run_ids::VARCHAR[], run_id))
    GROUP BY run_id, request_key
),
item AS (
    SELECT item.*, took.tokens,
        NOT item.invalid AND (NOT item.another OR coalesce($on_fallback, run.on_fallback, 'exclude') = 'accept') AS may_count,
        item.accepted AND may_count AS has_own,
        (item.accepted OR (item.ends <> '' AND item.drew = 'yes')) AND may_count AS has_drawn
    FROM item_identities AS item
    LEFT JOIN run_overview AS run ON run.run_id = item.run_id
    LEFT JOIN took ON took.run_id = item.answer_run_id AND took.request_key = item.request_key
    WHERE list_contains($run_ids::VARCHAR[], item.run_id)
),
side AS (
    SELECT run_id, side AS model, any_value(model) AS requested_model, any_value(variant) AS variant,
        min(answer_call_no) AS first_call_no, count(*) AS asked, count(*) FILTER (accepted) AS answered,
        count(*) FILTER (ends = 'cut_off') AS cut_off, count(*) FILTER (accepted AND ends NOT IN ('', 'cut_off')) AS refused,
        avg(tokens) FILTER (has_drawn) AS completion_tokens,
        stddev_samp(tokens) FILTER (has_drawn) AS tokens_deviation,
        count(tokens) FILTER (has_drawn) AS tokens_known,
        quantile_cont(latency_ms, 0.5) FILTER (has_own) AS p50_ms,
        quantile_cont(latency_ms, 0.9) FILTER (has_own) AS p90_ms,
        list_sort(list(latency_ms) FILTER (has_own AND latency_ms IS NOT NULL)) AS latencies,
        count(*) FILTER (identity = 'fallback') AS fallbacks,
        count(*) FILTER (identity = 'unknown') AS unknown,
        count(*) FILTER (identity = 'suspected') AS suspected,
        count(*) FILTER (accepted AND reused) AS reused,
        min(sent_at) FILTER (accepted AND reused) AS oldest_at, max(sent_at) FILTER (accepted AND reused) AS newest_at,
        mode(served_model) FILTER (identity = 'fallback') AS fallback_name
    FROM item
    GROUP BY run_id, side
),
ranked AS (
    SELECT *, len(latencies) AS n,
        CAST(floor((len(latencies) - 1.96 * sqrt(len(latencies))) / 2) AS BIGINT) AS below,
        CAST(ceil((len(latencies) + 1.96 * sqrt(len(latencies))) / 2) AS BIGINT) AS above
    FROM side
)
SELECT run_id, model, requested_model, variant,
    asked, answered, cut_off, refused, completion_tokens, tokens_deviation, tokens_known,
    p50_ms, p90_ms,
    CASE WHEN n > 5 THEN latencies[greatest(below, 1)] END AS p50_low_ms,
    CASE WHEN n > 5 THEN latencies[least(above + 1, n)] END AS p50_high_ms,
    fallbacks, unknown, suspected, fallback_name, reused, oldest_at, newest_at
FROM ranked
ORDER BY run_id, first_call_no, model;
