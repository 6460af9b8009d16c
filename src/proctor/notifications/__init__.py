"""Events that somebody may care about: the outbox they are written to, in the transaction of what they tell of."""
