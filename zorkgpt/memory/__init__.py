"""A memory keyed by place, that knows how long each fact stays true."""
