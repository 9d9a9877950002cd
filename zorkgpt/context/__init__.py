"""What a role's model is told: sections in a fixed order, each within its own budget."""
