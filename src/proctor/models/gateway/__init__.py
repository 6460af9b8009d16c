"""The gateway at work: sessions of attempts, and each of their calls from the request to the ledger."""
