"""Text rules that both halves share: normalisation, tokens, nouns, Chinese amounts."""
