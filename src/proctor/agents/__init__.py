"""Who sits the exam: the port, the agents, and trajectories in the ATIF format."""
