-- name: key_by_row
-- Within one dataset version an example is its row: whole numbers join fast.
CREATE TEMP VIEW keyed AS SELECT job, evaluator, row AS key, row, example, score, status FROM results;

-- name: key_by_example
-- Across dataset versions an example is its id.
CREATE TEMP VIEW keyed AS SELECT job, evaluator, example AS key, row, example, score, status FROM results;

-- name: pair
-- Each example that either job scored, by its mean over the repeats that were scored.
CREATE OR REPLACE TEMP TABLE pairs AS
WITH a AS (
    SELECT key, min(row) AS row, min(example) AS example, avg(score) AS score, count(*) AS repeats FROM keyed
    WHERE job = $a AND evaluator = $evaluator AND status = 'scored' GROUP BY key
), b AS (
    SELECT key, min(row) AS row, min(example) AS example, avg(score) AS score, count(*) AS repeats FROM keyed
    WHERE job = $b AND evaluator = $evaluator AND status = 'scored' GROUP BY key
)
SELECT key, coalesce(a.example, b.example) AS example, a.row AS row_a, b.row AS row_b, a.score AS a, b.score AS b,
       a.repeats AS repeats_a, b.repeats AS repeats_b
FROM a FULL JOIN b USING (key);

-- name: paired_scores
SELECT a, b FROM pairs WHERE a IS NOT NULL AND b IS NOT NULL ORDER BY key;

-- name: count_pairs
SELECT count(*) FILTER (a IS NOT NULL AND b IS NOT NULL) AS paired,
       count(*) FILTER (b IS NULL) AS only_a,
       count(*) FILTER (a IS NULL) AS only_b,
       coalesce(sum(greatest($repeats_a - repeats_a, 0)) FILTER (b IS NOT NULL), 0) AS repeats_a,
       coalesce(sum(greatest($repeats_b - repeats_b, 0)) FILTER (a IS NOT NULL), 0) AS repeats_b
FROM pairs;

-- name: count_versions
-- Examples of the two versions: in both, in one, and of those in both the ones that neither job scored.
SELECT count(*) FILTER (a.id IS NOT NULL AND b.id IS NOT NULL AND pairs.key IS NULL) AS neither,
       count(*) FILTER (a.id IS NULL) AS absent_a,
       count(*) FILTER (b.id IS NULL) AS absent_b
FROM examples_a a FULL JOIN examples_b b USING (id) LEFT JOIN pairs ON pairs.key = coalesce(a.id, b.id);

-- name: moved
-- What a scores lower than b first, the largest drops first.
SELECT example, row_a, row_b, a, b FROM pairs WHERE a <> b ORDER BY a - b, key LIMIT $limit OFFSET $start;

-- name: scored
SELECT score, row FROM results WHERE job = $job AND evaluator = $evaluator AND status = 'scored' ORDER BY row, repeat;

-- name: add_up
-- What the mean of an evaluator's scores and its error follow from (proctor.analysis.means.Sums): each for itself.
SELECT count(*) AS items, count(*) AS clusters, greatest(least(avg(score), max(score)), min(score)) AS mean,
       var_pop(score) * count(*) AS spread, count(*)::DOUBLE AS effective, bool_and(score IN (0, 1)) AS is_binary,
       sum(score) AS total
FROM results WHERE job = $job AND evaluator = $evaluator AND status = 'scored' AND row < $rows;

-- name: add_up_weighted
-- Each for itself, weighted by the inverse of the probability.
WITH scored AS (
    SELECT score, 1 / probability::DOUBLE AS weight FROM results
    WHERE job = $job AND evaluator = $evaluator AND status = 'scored' AND row < $rows
), whole AS (
    SELECT count(*) AS items, sum(weight) AS all_weight, sum(score) AS total, bool_and(score IN (0, 1)) AS is_binary,
           greatest(least(sum(weight * score) / sum(weight), max(score)), min(score)) AS mean
    FROM scored
)
SELECT items, items, mean, sum((weight * (score - mean)) ** 2) / all_weight ** 2 * items ** 2,
       all_weight ** 2 / sum(weight ** 2), is_binary, total
FROM whole LEFT JOIN scored ON true GROUP BY items, all_weight, total, is_binary, mean;

-- name: add_up_clusters
-- In clusters by example, weighted by the inverse of the probability.
WITH scored AS (
    SELECT row, score, 1 / probability::DOUBLE AS weight FROM results
    WHERE job = $job AND evaluator = $evaluator AND status = 'scored' AND row < $rows
), whole AS (
    SELECT count(*) AS items, sum(weight) AS all_weight, sum(score) AS total, bool_and(score IN (0, 1)) AS is_binary,
           greatest(least(sum(weight * score) / sum(weight), max(score)), min(score)) AS mean
    FROM scored
), clusters AS (
    SELECT sum(weight * (score - (SELECT mean FROM whole))) AS part, sum(weight) AS weight FROM scored GROUP BY row
)
SELECT items, count(part), mean, sum(part ** 2) / all_weight ** 2 * items ** 2, all_weight ** 2 / sum(weight ** 2),
       is_binary, total
FROM whole LEFT JOIN clusters ON true GROUP BY items, all_weight, total, is_binary, mean;

-- name: number_scored
-- The scored results of one evaluator, numbered in the order of rows and repeats.
CREATE OR REPLACE TEMP TABLE scored AS
SELECT row_number() OVER (ORDER BY row, repeat) - 1 AS place, row, score FROM results
WHERE job = $job AND evaluator = $evaluator AND status = 'scored';

-- name: numbered_scores
SELECT score, row FROM scored ORDER BY place;

-- name: label_by_tag
CREATE TEMP VIEW labels AS SELECT DISTINCT row, unnest(tags) AS label FROM examples;

-- name: label_by_difficulty
CREATE TEMP VIEW labels AS SELECT row, difficulty AS label FROM examples WHERE difficulty IS NOT NULL;

-- name: label_by_source
CREATE TEMP VIEW labels AS SELECT row, source AS label FROM examples WHERE source IS NOT NULL;

-- name: label_names
SELECT label, count(*) AS results FROM labels JOIN scored USING (row) GROUP BY label ORDER BY label LIMIT $limit;

-- name: unlabelled
SELECT count(*) FROM scored ANTI JOIN labels USING (row);

-- name: members
-- Where the results of each label stand among the scored ones, label after label.
SELECT place FROM labels JOIN scored USING (row) ORDER BY label, place;

-- name: count_statuses
-- Statuses that are no score, the most frequent first, each with the first examples.
SELECT status AS label, count(*) AS count, min(DISTINCT example, 5) AS examples FROM results
WHERE job = $job AND status <> 'scored' AND ($evaluator IS NULL OR evaluator = $evaluator)
GROUP BY status ORDER BY count DESC, label;

-- name: count_errors
-- What failures say, the most frequent first, each with the examples that said it first.
SELECT left(error, $characters) AS error, count(*) AS count, arg_min(DISTINCT example, row, 5) AS examples
FROM results
WHERE job = $job AND status <> 'scored' AND error IS NOT NULL AND ($evaluator IS NULL OR evaluator = $evaluator)
GROUP BY ALL ORDER BY count DESC, error LIMIT $limit;

-- name: count_results
SELECT count(*) AS results, count(*) FILTER (status <> 'scored') AS failures FROM results
WHERE job = $job AND ($evaluator IS NULL OR evaluator = $evaluator);

-- name: passes
-- Of each example with a score how many repeats have one, and how many of those pass.
SELECT count(*) AS trials, sum(score) AS passed FROM results
WHERE job = $job AND evaluator = $evaluator AND status = 'scored' GROUP BY row ORDER BY row;

-- name: count_partial_scores
SELECT count(*) FROM results WHERE job = $job AND evaluator = $evaluator AND status = 'scored' AND score NOT IN (0, 1);

-- name: ratings
-- Where a score stands among all results of an evaluator: repeat after repeat, row after row.
SELECT repeat * $rows + row AS place, score FROM results
WHERE job = $job AND evaluator = $evaluator AND status = 'scored' AND row < $rows;

-- name: label_ranges
-- The rows of each label as ranges, of labels that take few of them.
SELECT label, min(row) AS first, max(row) AS last
FROM (SELECT label, row, row - row_number() OVER (PARTITION BY label ORDER BY row) AS island FROM labels)
GROUP BY label, island QUALIFY count(*) OVER (PARTITION BY label) <= $most ORDER BY label, first;
