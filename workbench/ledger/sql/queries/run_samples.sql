-- A run's items with the answers they use and everything said in them, for the page: in the order in which the run came
-- to them. disagree: on some scorer this sample and epoch has different values by different models, or, where none of
-- them is scored, different answers.
-- Parameters: run_id, most (how many at the most)
WITH item AS (
    SELECT * FROM item_outcomes WHERE run_id = $run_id
    ORDER BY reused DESC, answer_run_id, answer_call_no, request_key LIMIT $most
),
calls AS (
    SELECT run_id, call_no, list({name: name, arguments: arguments} ORDER BY position) AS tool_calls
    FROM tool_calls WHERE run_id IN (SELECT answer_run_id FROM item) GROUP BY run_id, call_no
),
judged AS (
    SELECT request_key, list({scorer: scorer, value: value, reason: reason, extracted: extracted} ORDER BY scorer) AS scores
    FROM latest_scores WHERE run_id = $run_id GROUP BY request_key
),
scored_apart AS (
    SELECT item.sample_key, item.epoch, score.scorer, count(DISTINCT score.value) > 1 AS apart
    FROM item JOIN latest_scores AS score ON score.run_id = $run_id AND score.request_key = item.request_key
    WHERE score.value IS NOT NULL
    GROUP BY item.sample_key, item.epoch, score.scorer
),
answered_apart AS (
    SELECT item.sample_key, item.epoch, count(DISTINCT trim(response.answer)) > 1 AS apart
    FROM item
    JOIN responses AS response ON response.run_id = item.answer_run_id AND response.call_no = item.answer_call_no
    GROUP BY item.sample_key, item.epoch
),
scored AS (SELECT sample_key, epoch, bool_or(apart) AS apart FROM scored_apart GROUP BY sample_key, epoch)
SELECT
    item.request_key, item.sample_id, item.epoch, item.model AS requested_model, item.served_model, item.reused, item.outcome,
    item.accepted, item.http_status, item.latency_ms, item.prompt_tokens, item.completion_tokens, item.reasoning_tokens,
    item.total_tokens, item.finish_reason, item.evidence, item.error_text, response.answer, response.reasoning, response.raw,
    body.body, calls.tool_calls, judged.scores, sample.sample,
    coalesce(scored.apart, answered_apart.apart, false) AS disagree
FROM item
LEFT JOIN responses AS response ON response.run_id = item.answer_run_id AND response.call_no = item.answer_call_no
LEFT JOIN requests AS request ON request.run_id = item.answer_run_id AND request.call_no = item.answer_call_no
LEFT JOIN request_bodies AS body ON body.body_key = request.body_key
LEFT JOIN calls ON calls.run_id = item.answer_run_id AND calls.call_no = item.answer_call_no
LEFT JOIN judged ON judged.request_key = item.request_key
LEFT JOIN samples AS sample ON sample.sample_key = item.sample_key
LEFT JOIN scored ON scored.sample_key = item.sample_key AND scored.epoch = item.epoch
LEFT JOIN answered_apart ON answered_apart.sample_key = item.sample_key AND answered_apart.epoch = item.epoch
ORDER BY item.reused DESC, item.answer_run_id, item.answer_call_no, item.request_key;
