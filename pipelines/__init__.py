"""The data pipeline: pure stages and their orchestration. Importing this must not import Dagster."""
