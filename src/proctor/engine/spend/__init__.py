"""What was spent, entry by entry: by day, on what, without a verdict, and to what the month will come."""
