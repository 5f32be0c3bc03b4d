-- Distribute the lines of a journal, or of a part of a long one, staged as the temporary table `staged`, over the ledger's tables: what
-- is not plain. The others (runs, attempts, requests, scores, …) `entries.plain_inserts` fills, by statements made of the structs.
-- Each journal is ingested once (ingested_journals, in the same transaction), so its rows are new by construction;
-- content-addressed rows are taken only where their key is not there yet.

INSERT INTO samples BY NAME
SELECT sample_key, any_value(sample) AS sample FROM staged
WHERE kind = 'sample' AND sample_key NOT IN (SELECT sample_key FROM samples)
GROUP BY sample_key;

INSERT INTO request_bodies BY NAME
SELECT body_key, any_value(body) AS body FROM staged
WHERE kind = 'intent' AND body_key NOT IN (SELECT body_key FROM request_bodies)
GROUP BY body_key;

-- a request that a run sends again has one row, of its last attempt
DELETE FROM run_items USING (
    SELECT run_id, request_key, max(call_no) AS call_no FROM staged WHERE kind = 'intent' AND attempt > 1 GROUP BY ALL
) AS newer
WHERE run_items.run_id = newer.run_id AND run_items.request_key = newer.request_key
    AND run_items.answer_call_no < newer.call_no;
INSERT INTO run_items BY NAME
SELECT item.* EXCLUDE (call_no) FROM (
    SELECT run_id, request_key, any_value(generation) AS generation, any_value(model) AS model,
        any_value(sample_id) AS sample_id, any_value(sample_key) AS sample_key, any_value(epoch) AS epoch,
        any_value(variant) AS variant, any_value(own_id) AS own_id, any_value(cluster) AS cluster,
        kind = 'reuse' AS reused, max(call_no) AS call_no, coalesce(any_value(answer_run_id), run_id) AS answer_run_id,
        coalesce(any_value(answer_call_no), max(call_no)) AS answer_call_no
    FROM staged WHERE kind IN ('intent', 'reuse') GROUP BY run_id, request_key, kind
) AS item ANTI JOIN run_items AS known  -- a journal may be ingested later than its successor
ON known.run_id = item.run_id AND known.request_key = item.request_key AND known.answer_call_no > item.call_no;

INSERT INTO responses BY NAME
SELECT run_id, call_no, answer, reasoning, raw FROM staged
WHERE kind = 'answer' AND (answer IS NOT NULL OR reasoning IS NOT NULL OR raw IS NOT NULL);

INSERT INTO tool_calls BY NAME
SELECT run_id, call_no, position, call.id AS id, call.name AS name, call.arguments AS arguments
FROM (
    SELECT run_id, call_no, unnest(tool_calls) AS call, generate_subscripts(tool_calls, 1) AS position
    FROM staged WHERE kind = 'answer' AND tool_calls IS NOT NULL
);

INSERT INTO served_names BY NAME
SELECT DISTINCT staged.run_id, staged.model, staged.served_model
FROM staged ANTI JOIN served_names AS known
    ON known.run_id = staged.run_id AND known.model = staged.model
        AND known.served_model IS NOT DISTINCT FROM staged.served_model
WHERE kind = 'answer';
