"""The version, in a file of its own so that start-up reads it without touching package metadata."""

__version__ = "0.1.0"
