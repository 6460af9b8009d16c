"""Tenants (users, keys and roles come with the server)."""
