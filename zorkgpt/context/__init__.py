"""The prompt of the agent and the critic: sections in a fixed order, each within its own budget."""
