"""Database servers that are not ours: Debian's PostgreSQL, with TLS, behind a proxy that drops connections."""
