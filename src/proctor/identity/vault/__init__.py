"""Secrets of tenants: kept as envelopes that only this installation's key opens."""
