"""Price annotations of persona tasks: protocol, recorded audit file; the paid path joins later."""
