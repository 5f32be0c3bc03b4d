-- The readings of the allowance that were not withdrawn, in the order of when they were read.
-- Parameters: none
SELECT * EXCLUDE (place) FROM (
    SELECT *, row_number() OVER (PARTITION BY reading_id ORDER BY recorded_at DESC) AS place FROM readings
)
WHERE place = 1 AND NOT withdrawn
ORDER BY read_at, recorded_at;
