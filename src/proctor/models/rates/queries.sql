-- name: open_bucket
-- A new key's bucket is full.
INSERT INTO proctor.rate_bucket (owner, provider, key, requests, tokens, filled_at)
VALUES (:owner, :provider, :key, :requests, :tokens, clock_timestamp())
ON CONFLICT DO NOTHING;

-- name: lock_bucket
SELECT FROM proctor.rate_bucket WHERE owner = :owner AND provider = :provider AND key = :key FOR UPDATE;

-- name: look_at_bucket
-- After it was locked: else the clock would be read before the wait for it.
SELECT requests, tokens, greatest(0, extract(epoch FROM clock_timestamp() - filled_at))::float AS elapsed,
       greatest(0, coalesce(extract(epoch FROM rests_until - clock_timestamp()), 0))::float AS rests
FROM proctor.rate_bucket WHERE owner = :owner AND provider = :provider AND key = :key;

-- name: fill_bucket
UPDATE proctor.rate_bucket
SET requests = :requests, tokens = :tokens, filled_at = greatest(filled_at, filled_at + :elapsed * interval '1 second')
WHERE owner = :owner AND provider = :provider AND key = :key;

-- name: rest_bucket
-- A key whose provider said that there was too much; the longest rest that was said holds.
INSERT INTO proctor.rate_bucket (owner, provider, key, requests, tokens, filled_at, rests_until)
VALUES (:owner, :provider, :key, 0, 0, clock_timestamp(), clock_timestamp() + :seconds * interval '1 second')
ON CONFLICT (owner, provider, key) DO UPDATE
SET rests_until = greatest(rate_bucket.rests_until, excluded.rests_until);
