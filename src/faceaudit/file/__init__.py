"""The audit file: its parts and what they may say."""
