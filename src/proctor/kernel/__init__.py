"""What every package may import, and nothing else: ids, canonical hashing, clock, errors, money, events."""
