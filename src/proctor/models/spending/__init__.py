"""Room in budgets, drawn in slices and kept in a journal, and the ledger of calls."""
