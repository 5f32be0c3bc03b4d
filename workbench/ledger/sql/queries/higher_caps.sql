-- The caps with which runs of a job asked answers again that were cut off, the highest first.
-- Parameters: job
SELECT DISTINCT CAST(json_extract(part, '$.max_tokens') AS BIGINT) AS max_tokens
FROM runs
WHERE event = 'started' AND job = $job AND json_extract(part, '$.max_tokens') IS NOT NULL
ORDER BY max_tokens DESC;
