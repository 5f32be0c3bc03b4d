-- The cap on generated tokens that a request body sets, the higher where it has two; NULL: none.
CREATE OR REPLACE MACRO cap_of(body) AS greatest(
    TRY_CAST(json_extract(body, '$.max_tokens') AS BIGINT), TRY_CAST(json_extract(body, '$.max_completion_tokens') AS BIGINT)
);
