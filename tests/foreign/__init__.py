"""Foreign tools judge what we write and compute: each in a cached environment of its own, asked by JSON."""
