-- Asked of DuckDB, over the Parquet files of versions. A row's position is the first position of its file and its
-- number in it; $firsts has the first positions, in the order of $files.

-- name: repeated
-- Rows whose id an earlier row has, with that row's position.
WITH row_of AS (
    SELECT id, CAST($firsts[CAST(file_index AS BIGINT) + 1] + file_row_number AS BIGINT) AS position
    FROM read_parquet($files)
), doubled AS (
    SELECT id, min(position) AS first FROM row_of GROUP BY id HAVING count(*) > 1
)
SELECT r.position, d.first, r.id
FROM row_of r JOIN doubled d ON d.id = r.id
WHERE r.position > d.first
ORDER BY r.position

-- name: contradicting
-- Ids that stand for different examples.
SELECT id FROM read_parquet($files) GROUP BY id HAVING count(DISTINCT digest) > 1 ORDER BY id LIMIT $most

-- name: superseded
-- Rows whose id a later row has.
WITH row_of AS (
    SELECT id, CAST($firsts[CAST(file_index AS BIGINT) + 1] + file_row_number AS BIGINT) AS position
    FROM read_parquet($files)
), doubled AS (
    SELECT id, max(position) AS last FROM row_of GROUP BY id HAVING count(*) > 1
)
SELECT r.position
FROM row_of r JOIN doubled d ON d.id = r.id
WHERE r.position < d.last
ORDER BY r.position

-- name: counted_changes
-- How two versions differ, by the ids of their examples.
SELECT
    count(*) FILTER (WHERE b.id IS NULL) AS added,
    count(*) FILTER (WHERE a.id IS NOT NULL AND b.id IS NOT NULL AND a.digest <> b.digest) AS changed,
    count(*) FILTER (WHERE a.id IS NULL) AS removed,
    count(*) FILTER (WHERE a.digest = b.digest) AS same
FROM read_parquet($before) b FULL OUTER JOIN read_parquet($after) a ON a.id = b.id

-- name: changes
-- Examples that differ, by their ids' order, after a given one.
WITH b AS (
    SELECT id, digest, CAST($before_firsts[CAST(file_index AS BIGINT) + 1] + file_row_number AS BIGINT) AS position
    FROM read_parquet($before)
), a AS (
    SELECT id, digest, CAST($after_firsts[CAST(file_index AS BIGINT) + 1] + file_row_number AS BIGINT) AS position
    FROM read_parquet($after)
)
SELECT coalesce(a.id, b.id) AS id, b.position AS before, a.position AS after
FROM b FULL OUTER JOIN a ON a.id = b.id
WHERE a.digest IS DISTINCT FROM b.digest AND coalesce(a.id, b.id) > $beyond
ORDER BY 1
LIMIT $most

-- name: alike_by_input
-- Rows whose input an earlier row has.
WITH row_of AS (
    SELECT sha256(input || CASE WHEN input_is_json THEN chr(1) ELSE chr(0) END) AS said,
           CAST($firsts[CAST(file_index AS BIGINT) + 1] + file_row_number AS BIGINT) AS position
    FROM read_parquet($files)
), doubled AS (
    SELECT said, min(position) AS first FROM row_of GROUP BY said HAVING count(*) > 1
)
SELECT r.position FROM row_of r JOIN doubled d ON d.said = r.said WHERE r.position > d.first ORDER BY r.position

-- name: alike_by_input_and_expected
-- Rows whose input and expected an earlier row has.
WITH row_of AS (
    SELECT sha256(input || CASE WHEN input_is_json THEN chr(1) ELSE chr(0) END)
               || coalesce(sha256(expected || CASE WHEN expected_is_json THEN chr(1) ELSE chr(0) END), '') AS said,
           CAST($firsts[CAST(file_index AS BIGINT) + 1] + file_row_number AS BIGINT) AS position
    FROM read_parquet($files)
), doubled AS (
    SELECT said, min(position) AS first FROM row_of GROUP BY said HAVING count(*) > 1
)
SELECT r.position FROM row_of r JOIN doubled d ON d.said = r.said WHERE r.position > d.first ORDER BY r.position

-- name: strata
-- How many rows have each value; NULL is a value of its own here.
SELECT CASE $by WHEN 'difficulty' THEN difficulty WHEN 'source' THEN source END AS stratum, count(*) AS size
FROM read_parquet($files) GROUP BY 1 ORDER BY 1 NULLS FIRST

-- name: drawn
-- The rows of a stratified sample: of each stratum, those whose hash of seed and id comes first.
WITH hashed AS (
    SELECT CASE $by WHEN 'difficulty' THEN difficulty WHEN 'source' THEN source END AS stratum,
           sha256($seed || ':' || id) AS lot,
           CAST($firsts[CAST(file_index AS BIGINT) + 1] + file_row_number AS BIGINT) AS position
    FROM read_parquet($files)
), ranked AS (
    SELECT stratum, position, row_number() OVER (PARTITION BY stratum ORDER BY lot, position) AS place FROM hashed
), wanted AS (
    SELECT unnest(CAST($strata AS VARCHAR[])) AS stratum, unnest(CAST($sizes AS BIGINT[])) AS size
)
SELECT r.position
FROM ranked r JOIN wanted w ON w.stratum IS NOT DISTINCT FROM r.stratum
WHERE r.place <= w.size
ORDER BY r.position

-- name: alike
-- Rows whose input another row has, with the first of them: by a short hash first, so that few are compared in full.
CREATE OR REPLACE TEMP TABLE alike AS
WITH doubled AS (
    SELECT hash(input, input_is_json) AS lot FROM read_parquet($files) GROUP BY lot HAVING count(*) > 1
), candidate AS (
    SELECT sha256(input || CASE WHEN input_is_json THEN chr(1) ELSE chr(0) END) AS said,
           sha256(expected || CASE WHEN expected_is_json THEN chr(1) ELSE chr(0) END) AS answer,
           CAST($firsts[CAST(file_index AS BIGINT) + 1] + file_row_number AS BIGINT) AS position
    FROM read_parquet($files)
    WHERE hash(input, input_is_json) IN (SELECT lot FROM doubled)
), grouped AS (
    SELECT said, min(position) AS first, min(answer) <> max(answer) AS contradicts
    FROM candidate GROUP BY said HAVING count(*) > 1
)
SELECT c.position, g.first, coalesce(g.contradicts, false) AND c.answer IS NOT NULL AS contradicts
FROM candidate c JOIN grouped g ON g.said = c.said

-- name: placed
-- Rows in splits, each with the first row of the same input: an example may be in several splits of different seeds.
CREATE OR REPLACE TEMP TABLE placed AS
WITH split AS (
    SELECT unnest(CAST($numbers AS INTEGER[])) AS number, unnest(CAST($seeds AS BIGINT[])) AS seed,
           unnest(CAST($lows AS BIGINT[])) AS low, unnest(CAST($highs AS BIGINT[])) AS high
), lot AS (
    SELECT s.seed, CAST('0x' || left(sha256(s.seed || ':' || r.id), 16) AS UBIGINT) % 1000000 AS place,
           CAST($firsts[CAST(r.file_index AS BIGINT) + 1] + r.file_row_number AS BIGINT) AS position
    FROM read_parquet($files) r CROSS JOIN (SELECT DISTINCT seed FROM split) s
)
SELECT l.position, s.number, coalesce(a.first, l.position) AS first
FROM lot l
JOIN split s ON s.seed = l.seed AND l.place >= s.low AND l.place < s.high
LEFT JOIN alike a ON a.position = l.position

-- name: duplicates
-- Rows whose input another row has.
SELECT position FROM alike

-- name: contradictions
-- Of these, those that expect something where another one expects something else.
SELECT position FROM alike WHERE contradicts

-- name: leaked
-- Rows of a split whose input another split has.
WITH leaking AS (SELECT first FROM placed GROUP BY first HAVING min(number) <> max(number))
SELECT DISTINCT p.position FROM placed p JOIN leaking l ON l.first = p.first

-- name: counted_alike
-- How many inputs and how many rows.
SELECT count(DISTINCT first), count(*),
       count(DISTINCT first) FILTER (WHERE contradicts), count(*) FILTER (WHERE contradicts)
FROM alike

-- name: counted_leaks
-- How many inputs and how many rows.
WITH leaking AS (SELECT first FROM placed GROUP BY first HAVING min(number) <> max(number))
SELECT count(DISTINCT p.first), count(DISTINCT p.position) FROM placed p JOIN leaking l ON l.first = p.first

-- name: counted_splits
-- Of each split its rows, and those whose input another split has.
WITH leaking AS (SELECT first FROM placed GROUP BY first HAVING min(number) <> max(number))
SELECT p.number, count(*), count(l.first)
FROM placed p LEFT JOIN leaking l ON l.first = p.first GROUP BY p.number ORDER BY p.number

-- name: said_values
-- What rows say in their fields: how many rows say each value, and whether all of them as a text. A long value stands
-- for itself by its hash.
CREATE OR REPLACE TEMP TABLE said_value AS
WITH told AS (
    SELECT false AS is_metadata, 'difficulty' AS name, difficulty AS value, true AS is_text FROM read_parquet($files)
    UNION ALL
    SELECT false, 'source', source, true FROM read_parquet($files)
    UNION ALL
    SELECT false, 'tag', unnest(tags), true FROM read_parquet($files)
    UNION ALL
    SELECT true, entry.key, CASE WHEN json_type(entry.value) = 'VARCHAR' THEN entry.value ->> '$'
                                 ELSE CAST(entry.value AS VARCHAR) END,
           json_type(entry.value) = 'VARCHAR'
    FROM (
        SELECT unnest(map_entries(CAST(CAST(metadata AS JSON) AS MAP(VARCHAR, JSON)))) AS entry
        FROM read_parquet($files)
    )
)
SELECT is_metadata, name, CASE WHEN length(value) <= $most THEN value ELSE sha256(value) END AS value,
       length(value) > $most AS is_long, bool_and(is_text) AS is_text, count(*) AS size
FROM told WHERE value IS NOT NULL
GROUP BY ALL

-- name: tagged
-- Rows with any tag.
SELECT count(*) FROM read_parquet($files) WHERE len(tags) > 0

-- name: counted_fields
-- The fields that most rows have, with the number of fields in all.
SELECT is_metadata, name, CAST(sum(size) AS BIGINT), count(*), count(*) OVER ()
FROM said_value GROUP BY is_metadata, name
ORDER BY is_metadata, sum(size) DESC, name LIMIT $most

-- name: common_values
-- The values of a field that most rows say.
SELECT value, is_long, is_text, size FROM said_value
WHERE is_metadata = $is_metadata AND name = $name ORDER BY size DESC, value LIMIT $most
