"""The report: its schema, what is written into it, its gate and its page."""
