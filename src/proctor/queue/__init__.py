"""The one durable queue: lanes, bands, fair shares, fencing tokens, leases, dead letters, pause."""
