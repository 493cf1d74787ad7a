"""What stages are handed: paths, artifact store, tagger; later the LLM client and mapper."""
