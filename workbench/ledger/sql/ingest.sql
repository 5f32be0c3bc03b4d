-- Distribute the lines of one journal, staged as the temporary table `staged`, over the ledger's tables.
-- Each journal is ingested once (ingested_journals, in the same transaction), so its rows are new by construction;
-- content-addressed rows are taken only where their key is not there yet.

INSERT INTO runs BY NAME
SELECT run_id, 'started' AS event, recorded_at, job, job_path, job_toml, job_hash, tags, generation, planned, dataset_paths,
    dataset_hash, dataset_rows, endpoint, identity, simulated, key_fingerprint, host, pid, max_in_flight, versions,
    limits, git_commit, git_dirty, coalesce(fresh, false) AS fresh, resumed_run, narrowed, on_fallback, scorers, variants,
    reduce,
    -- a journal of an earlier version has it in the generation's name only
    coalesce(occasion, CASE WHEN starts_with(generation, job || '@') THEN substr(generation, length(job) + 2) END) AS occasion
FROM staged WHERE kind = 'run_started';

INSERT INTO runs BY NAME
SELECT run_id, 'ended' AS event, recorded_at, status, exit_code, duration_s, reason FROM staged WHERE kind = 'run_ended';

INSERT INTO models_seen BY NAME
SELECT run_id, recorded_at, model, owned_by, preset, raw,
    CASE WHEN json_valid(raw) THEN json_extract_string(raw, '$.info.base_model_id') END AS base
FROM staged WHERE kind = 'model';

INSERT INTO samples BY NAME
SELECT sample_key, any_value(sample) AS sample FROM staged
WHERE kind = 'sample' AND sample_key NOT IN (SELECT sample_key FROM samples)
GROUP BY sample_key;

INSERT INTO request_bodies BY NAME
SELECT body_key, any_value(body) AS body FROM staged
WHERE kind = 'intent' AND body_key NOT IN (SELECT body_key FROM request_bodies)
GROUP BY body_key;

INSERT INTO requests BY NAME
SELECT run_id, call_no, request_key, generation, body_key, model, sample_key, epoch, occurrence, tools, sent_at
FROM staged WHERE kind = 'intent';

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
        any_value(variant) AS variant,
        kind = 'reuse' AS reused, max(call_no) AS call_no, coalesce(any_value(answer_run_id), run_id) AS answer_run_id,
        coalesce(any_value(answer_call_no), max(call_no)) AS answer_call_no
    FROM staged WHERE kind IN ('intent', 'reuse') GROUP BY run_id, request_key, kind
) AS item ANTI JOIN run_items AS known  -- a journal may be ingested later than its successor
ON known.run_id = item.run_id AND known.request_key = item.request_key AND known.answer_call_no > item.call_no;

INSERT INTO attempts BY NAME
SELECT run_id, call_no, request_key, generation, model, served_model, sample_key, epoch, outcome, accepted, rerun,
    scorable, drew, evidence, sent, sent_at, ended_at, latency_ms, http_status, retry_after_s, error_text,
    finish_reason, response_id, prompt_tokens, completion_tokens, reasoning_tokens, total_tokens
FROM staged WHERE kind = 'answer';

INSERT INTO responses BY NAME
SELECT run_id, call_no, answer, reasoning, raw FROM staged
WHERE kind = 'answer' AND (answer IS NOT NULL OR reasoning IS NOT NULL OR raw IS NOT NULL);

INSERT INTO tool_calls BY NAME
SELECT run_id, call_no, position, call.id AS id, call.name AS name, call.arguments AS arguments
FROM (
    SELECT run_id, call_no, unnest(tool_calls) AS call, generate_subscripts(tool_calls, 1) AS position
    FROM staged WHERE kind = 'answer' AND tool_calls IS NOT NULL
);

INSERT INTO scores BY NAME
SELECT run_id, request_key, scorer, scorer_config, recorded_at, value, reason, extracted FROM staged WHERE kind = 'score';

INSERT INTO paces BY NAME
SELECT run_id, recorded_at, allowed, reason, model, limit_allowed FROM staged WHERE kind = 'pace';

INSERT INTO gates BY NAME
SELECT run_id, recorded_at, gate, scorer, model, result, reason FROM staged WHERE kind = 'gate';

INSERT INTO invalidations BY NAME
SELECT run_id, recorded_at, sample_key, invalid, reason FROM staged WHERE kind = 'invalid';

INSERT INTO unsent_samples BY NAME
SELECT run_id, sample_id, sample_key, epoch FROM staged WHERE kind = 'unsent';

INSERT INTO served_names BY NAME
SELECT DISTINCT staged.run_id, staged.model, staged.served_model
FROM staged ANTI JOIN served_names AS known
    ON known.run_id = staged.run_id AND known.model = staged.model
        AND known.served_model IS NOT DISTINCT FROM staged.served_model
WHERE kind = 'answer';

INSERT INTO readings BY NAME
SELECT reading_id, recorded_at, read_at, of_what, share_low, share_high, units_low, units_high, total_units, said, withdrawn
FROM staged WHERE kind = 'reading';
