-- A run's items with the answers they use, but for their texts (see call_texts), in the order in which the run came to
-- them. attempts: the run's own calls for the item. disagree: on some scorer this sample and epoch has different values by
-- different models, or, where nothing of the run is scored, different answers.
-- Parameters: run_id, most (how many at the most)
WITH item AS (
    SELECT * FROM item_identities WHERE run_id = $run_id
    ORDER BY reused DESC, answer_run_id, answer_call_no, request_key LIMIT $most
),
own AS (SELECT request_key, count(*) AS attempts FROM judged_attempts WHERE run_id = $run_id GROUP BY request_key),
scored AS (SELECT * FROM latest_scores WHERE run_id = $run_id),
judged AS (
    SELECT request_key, list({scorer: scorer, value: value, reason: reason, extracted: extracted, scale: scale_of(scorer_config)} ORDER BY scorer) AS scores
    FROM scored GROUP BY request_key
),
scores_apart AS (
    SELECT sample_key, epoch, bool_or(apart) AS apart
    FROM (
        SELECT item.sample_key, item.epoch, count(DISTINCT scored.value) > 1 AND count(DISTINCT item.side) > 1 AS apart
        FROM item JOIN scored USING (request_key)
        WHERE scored.value IS NOT NULL
        GROUP BY item.sample_key, item.epoch, scored.scorer
    )
    GROUP BY sample_key, epoch
),
said AS (
    SELECT run_id, call_no, hash(trim(answer)) AS digest
    FROM responses WHERE answer IS NOT NULL AND run_id IN (SELECT answer_run_id FROM item)
),
answers_apart AS (
    SELECT item.sample_key, item.epoch, count(DISTINCT said.digest) > 1 AND count(DISTINCT item.side) > 1 AS apart
    FROM item JOIN said ON said.run_id = item.answer_run_id AND said.call_no = item.answer_call_no
    GROUP BY item.sample_key, item.epoch
)
SELECT
    item.run_id, item.request_key, item.sample_id, item.sample_key, item.content_key, item.epoch, item.model AS requested_model,
    item.variant, item.side, item.served_model,
    item.identity, item.identity_evidence, item.counts, item.reused, item.answer_run_id, item.answer_call_no, item.outcome,
    item.accepted, item.http_status,
    coalesce(own.attempts, 0) AS attempts, item.latency_ms, item.prompt_tokens, item.completion_tokens,
    item.reasoning_tokens, item.total_tokens, item.finish_reason, item.evidence, judged.scores,
    coalesce(CASE WHEN EXISTS (FROM scored) THEN scores_apart.apart ELSE answers_apart.apart END, false) AS disagree
FROM item
LEFT JOIN own ON own.request_key = item.request_key
LEFT JOIN judged ON judged.request_key = item.request_key
LEFT JOIN scores_apart ON scores_apart.sample_key = item.sample_key AND scores_apart.epoch = item.epoch
LEFT JOIN answers_apart ON answers_apart.sample_key = item.sample_key AND answers_apart.epoch = item.epoch
ORDER BY item.reused DESC, item.answer_run_id, item.answer_call_no, item.request_key;
