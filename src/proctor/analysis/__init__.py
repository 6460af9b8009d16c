"""Statistics as pure functions: numbers in, frozen values out. One function computes each, whoever asks.

The engine imports `intervals`, `proportions`, `significance` and `multiple`, which need nothing but Python: they and
`power` are in the core install. All other modules need numpy, and with it the extra ``stats``.
"""
