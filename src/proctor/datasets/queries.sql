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
