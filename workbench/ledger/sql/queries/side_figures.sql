-- What the models of some runs took for their answers, by run and model, in the order in which each was first asked:
-- completion_tokens is the mean of the answers whose usage is known (NULL: of none), p50_ms and p90_ms are over answers,
-- fallbacks counts answers of another model of the list, and unknown those whose name the list does not have.
-- Parameters: run_ids (list)
SELECT item.run_id, item.model, count(*) AS asked, count(*) FILTER (item.accepted) AS answered,
    avg(item.completion_tokens) FILTER (item.accepted) AS completion_tokens,
    count(*) FILTER (item.accepted AND item.completion_tokens IS NULL) AS answers_without_usage,
    quantile_cont(item.latency_ms, 0.5) FILTER (item.accepted) AS p50_ms,
    quantile_cont(item.latency_ms, 0.9) FILTER (item.accepted) AS p90_ms,
    count(*) FILTER (who.identity = 'fallback') AS fallbacks,
    count(*) FILTER (who.identity = 'unknown') AS unknown,
    mode(item.served_model) FILTER (who.identity = 'fallback') AS fallback_name
FROM item_outcomes AS item
JOIN item_identities AS who ON who.run_id = item.run_id AND who.request_key = item.request_key
WHERE item.run_id IN (SELECT unnest($run_ids::VARCHAR[]))
GROUP BY item.run_id, item.model
ORDER BY item.run_id, min(item.answer_call_no), item.model;
