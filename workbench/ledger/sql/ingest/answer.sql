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
