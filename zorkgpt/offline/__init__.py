"""The roles without a language model: game-independent rules, labelled as such wherever they are shown."""
