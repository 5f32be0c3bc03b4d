-- What a sample belongs to by a column: the default, `cluster`, is what the job says, or else the metadata column of that name; `id` is
-- its id in the dataset, unless that is the name of a metadata column. NULL: the sample has no such column, or no value there.
CREATE OR REPLACE MACRO cluster_of(name, said, own_id, sample) AS coalesce(
    CASE name WHEN 'cluster' THEN said END,
    json_extract_string(sample, '/metadata/' || replace(replace(name, '~', '~0'), '/', '~1')),
    CASE name WHEN 'id' THEN own_id END
);
