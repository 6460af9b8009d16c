"""Run sets, cells, attempts, gradings, outcomes (policy as data), numbers, leaderboard, history."""
