"""The instrument: rows and suites, inputs, the pyperf runner, tables, the baseline. It knows nothing of the adapter."""
