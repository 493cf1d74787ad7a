"""RLVE: verifiable conversational shopping environments over the catalogue of a release."""
