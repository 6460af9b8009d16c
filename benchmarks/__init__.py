"""Speeds, measured as ratios against peers or the physical limit in one run; never timed tests."""
