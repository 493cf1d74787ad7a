"""The Shop world: actions, page state machine, observation, renderer, episode."""
