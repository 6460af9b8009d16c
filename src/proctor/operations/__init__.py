"""Long work of a server: kept as rows, done by its own role, followed by a receipt."""
