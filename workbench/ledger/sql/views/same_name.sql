-- Whether two names of models are the same but for capitals and a prefix: of a vendor or a connection (`openai/gpt-4o`, `lab.gpt-4o`).
CREATE OR REPLACE MACRO same_name(one, other) AS lower(one) = lower(other)
    OR ends_with(lower(one), '/' || lower(other)) OR ends_with(lower(other), '/' || lower(one))
    OR ends_with(lower(one), '.' || lower(other)) OR ends_with(lower(other), '.' || lower(one));
