"""The shop's policy: rules drawn per episode, questions about them, search in them."""
