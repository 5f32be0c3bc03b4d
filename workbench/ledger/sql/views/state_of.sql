-- What an answer is to a mean and to a comparison: `scored`; `not right`, without a score by the model's own doing; `not asked`,
-- as its sample has nothing to judge by; or `unknown`: no answer, one that no scorer could read or has read yet, or another
-- model's. ends is of `outcomes`, counts of `item_identities`; counted_unknown is what the job takes for unknown though it is the
-- model's own doing. The reasons are those of the module `scoring`.
CREATE OR REPLACE MACRO state_of(counts, ends, value, reason, counted_unknown) AS CASE
    WHEN starts_with(reason, 'nothing to judge by: ') THEN 'not asked'
    WHEN NOT counts THEN 'unknown'
    WHEN value IS NOT NULL THEN 'scored'
    WHEN ends <> '' AND NOT coalesce(list_contains(counted_unknown, ends), false) THEN 'not right'
    WHEN reason = 'no text to score' AND NOT coalesce(list_contains(counted_unknown, 'tool_call'), false) THEN 'not right'
    ELSE 'unknown'
END;
