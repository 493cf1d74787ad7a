"""Pure stage functions: no Dagster, no network at import, one module per arrow of the data flow."""
