"""One thin module per trainer or framework, each behind an extra; nothing here is imported by the rest."""
