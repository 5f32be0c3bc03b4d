"""A large synthetic ledger, made by SQL: many runs of a few jobs over three months, with everything that goes wrong in some.

python -m tests.benchmarks.big_ledger PATH [CALLS]
"""

import sys
from pathlib import Path

from workbench.ledger.database import opened_for_writing
from workbench.ledger.schema import sql
from workbench.ledger.store import Ledger

DAYS, MODELS, JOBS = 90, 40, 9
LARGE_RUN, LARGE_RUN_CALLS = "20261120T020000-large1", 10_000

_BASE = """
CREATE TEMP TABLE calls AS
WITH run AS (
    SELECT day, job, '2026' || strftime(began_at, '%m%d') || 'T0' || job || '0000-' || lpad(hex(day * 10 + job), 6, '0') AS run_id, began_at
    FROM (SELECT day, job, TIMESTAMP '2026-08-22' + to_days(day::INT) + to_hours(job::INT) AS began_at
          FROM range({days}) AS days(day), range({jobs}) AS jobs(job))
), planned AS (
    SELECT run_id, job, began_at, call_no, {models} AS models FROM run, range(1, {per_run} + 1) AS numbers(call_no)
    UNION ALL
    SELECT '{large}', 0, TIMESTAMP '2026-11-20 02:00', call_no, 4 FROM range(1, {large_calls} + 1) AS numbers(call_no)
)
SELECT run_id, job, call_no, call_no % models AS m, (call_no - 1) // models AS row_no,
    hash(run_id, call_no) % 1000 AS luck, hash(call_no, run_id, 1) % 1000 AS size,
    began_at + to_milliseconds((call_no * 40)::BIGINT) AS sent_at
FROM planned
"""
_STEPS = (
    """ALTER TABLE calls ADD COLUMN model VARCHAR""",
    """UPDATE calls SET model = 'Route ' || chr((65 + m % 26)::INT) || repeat('2', (m // 26)::INT) || ' [' || ['fast', 'careful', 'thinking', 'large'][m % 4 + 1] || ']'""",
    """CREATE TEMP TABLE made AS SELECT *, sha256(job || '/' || row_no) AS sample_key,
        sha256(run_id || call_no) AS request_key,
        CASE WHEN luck < 12 THEN 'route_down' WHEN luck < 16 THEN 'connection_lost' WHEN luck < 40 THEN 'truncated'
             ELSE 'ok' END AS outcome,
        200 + m * 150 + size * (1 + m % 3) AS latency_ms, 30 + size // 10 AS prompt_tokens,
        40 + size // 4 + m * 10 AS completion_tokens
       FROM calls ORDER BY sent_at, run_id, call_no""",  # as ingests leave them: the rows of a run lie together
    """INSERT INTO runs BY NAME SELECT run_id, 'started' AS event, min(sent_at) AS recorded_at, 'job ' || job AS job,
        'jobs/job' || job || '.toml' AS job_path, 'name = "job ' || job || '"' AS job_toml, 'hash' || job AS job_hash,
        MAP {'team': ['optics', 'search', 'voice'][job % 3 + 1]} AS tags, run_id AS generation, count(*) AS planned,
        'datasets/d.jsonl' AS dataset_paths, 'dataset' AS dataset_hash, count(DISTINCT row_no) AS dataset_rows,
        'https://chat.example.org/api' AS endpoint, 'https://chat.example.org/api' AS identity, false AS simulated,
        'f00dfeed' AS key_fingerprint, 'host' AS host, 1 AS pid, 8 AS max_in_flight, MAP {'workbench': '0.1.0'} AS versions,
        map_from_entries(list(DISTINCT {k: model, v: '8 in flight, 375 s a call'})) AS limits, false AS fresh
       FROM made GROUP BY run_id, job""",
    """INSERT INTO runs BY NAME SELECT run_id, 'ended' AS event, max(sent_at) + INTERVAL 1 MINUTE AS recorded_at,
        CASE WHEN job = 4 AND day(min(sent_at)) = 13 THEN 'interrupted' ELSE 'complete' END AS status, 0 AS exit_code,
        epoch(max(sent_at) - min(sent_at)) AS duration_s FROM made GROUP BY run_id, job""",
    """INSERT INTO models_seen BY NAME SELECT run_id, min(sent_at) AS recorded_at, model, 'lab' AS owned_by, false AS preset,
        '{}' AS raw FROM made GROUP BY run_id, model""",
    """INSERT INTO samples BY NAME SELECT DISTINCT sample_key,
        '{"input":"Question ' || job || '/' || row_no || ' ' || repeat('with some words ', 12) || '","target":"' || row_no || '"}'
        AS sample FROM made""",
    """INSERT INTO request_bodies BY NAME SELECT DISTINCT sha256(model || sample_key) AS body_key,
        '{"model":"' || model || '","messages":[{"role":"user","content":"Question ' || job || '/' || row_no || '"}]}' AS body
       FROM made""",
    """INSERT INTO requests BY NAME SELECT run_id, call_no, request_key, run_id AS generation,
        sha256(model || sample_key) AS body_key, model, sample_key, 1 AS epoch, 0 AS occurrence,
        CASE WHEN job = 3 THEN 'forced' WHEN job = 5 THEN 'offered' END AS tools, sent_at FROM made""",
    """INSERT INTO run_items BY NAME SELECT run_id, request_key, run_id AS generation, model, 'q' || row_no AS sample_id,
        sample_key, 1 AS epoch, false AS reused, run_id AS answer_run_id, call_no AS answer_call_no FROM made""",
    """INSERT INTO attempts BY NAME SELECT run_id, call_no, request_key, run_id AS generation, model,
        CASE WHEN outcome IN ('ok', 'truncated') THEN CASE WHEN luck > 985 AND m = 2 THEN 'Route A [fast]' ELSE 'lab/' || m END
        END AS served_model, sample_key, 1 AS epoch, outcome, outcome IN ('ok', 'truncated') AS accepted,
        outcome IN ('route_down', 'connection_lost') AS rerun, outcome = 'ok' AS scorable,
        CASE outcome WHEN 'route_down' THEN 'no' WHEN 'connection_lost' THEN 'maybe' ELSE 'yes' END AS drew, 'synthetic' AS evidence,
        CASE outcome WHEN 'connection_lost' THEN 'maybe' ELSE 'answered' END AS sent, sent_at,
        sent_at + to_milliseconds(latency_ms::BIGINT) AS ended_at, latency_ms,
        CASE outcome WHEN 'route_down' THEN 502 WHEN 'connection_lost' THEN NULL ELSE 200 END AS http_status,
        CASE outcome WHEN 'truncated' THEN 'length' WHEN 'ok' THEN 'stop' END AS finish_reason,
        CASE WHEN outcome IN ('ok', 'truncated') AND luck % 50 <> 49 THEN prompt_tokens END AS prompt_tokens,
        CASE WHEN outcome IN ('ok', 'truncated') AND luck % 50 <> 49 THEN completion_tokens END AS completion_tokens,
        CASE WHEN outcome IN ('ok', 'truncated') AND m % 4 = 2 THEN completion_tokens // 2 END AS reasoning_tokens,
        CASE WHEN outcome IN ('ok', 'truncated') AND luck % 50 <> 49 THEN prompt_tokens + completion_tokens END AS total_tokens
       FROM made""",
    """INSERT INTO served_names SELECT DISTINCT run_id, model, served_model FROM attempts WHERE drew = 'yes'""",
    "".join(sql("schema", "0026_call_quarters").partition("INSERT INTO call_quarters")[1:]),  # as of an earlier ledger
    """INSERT INTO responses BY NAME SELECT run_id, call_no,
        'The answer is ' || CASE WHEN luck % 10 < 3 THEN luck ELSE row_no END || '. ' || repeat('It follows from the words. ', (size // 40)::INT)
        AS answer, CASE WHEN m % 4 = 2 THEN repeat('Let me think. ', 20) END AS reasoning, '{"choices":[]}' AS raw
       FROM made WHERE outcome IN ('ok', 'truncated')""",
    """INSERT INTO tool_calls BY NAME SELECT run_id, call_no, 1 AS position, 'c' || call_no AS id, 'look_up' AS name,
        '{"row": ' || row_no || '}' AS arguments FROM made WHERE job IN (3, 5) AND outcome = 'ok' AND luck % 4 > 0""",
    """INSERT INTO scores BY NAME SELECT run_id, request_key, 'numeric' AS scorer, '{"name":"numeric"}' AS scorer_config,
        sent_at AS recorded_at, CASE WHEN outcome = 'ok' THEN (luck % 10 >= 3)::INT::DOUBLE END AS value,
        CASE WHEN outcome = 'ok' THEN 'compared' ELSE 'the answer is truncated' END AS reason, row_no::VARCHAR AS extracted
       FROM made WHERE outcome IN ('ok', 'truncated')""",
)  # fmt: skip


def make_big_ledger(path: Path, calls: int = 1_000_000) -> Ledger:
    """Fill a new ledger with that many calls of `DAYS` days, `MODELS` models and `JOBS` jobs, one run a job and day.

    One more run of the same job has `LARGE_RUN_CALLS` calls.
    """
    ledger = Ledger(path)
    per_run = (calls - LARGE_RUN_CALLS) // (DAYS * JOBS)
    numbers = {"days": DAYS, "jobs": JOBS, "models": MODELS, "per_run": per_run, "large_calls": LARGE_RUN_CALLS}
    with ledger.locked(exclusive=True), opened_for_writing(ledger) as db:
        db.execute("SET memory_limit = '4GiB'")
        db.execute(_BASE.format(large=LARGE_RUN, **numbers))
        for step in _STEPS:
            db.execute(step)
    return ledger


if __name__ == "__main__":
    make_big_ledger(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000)
