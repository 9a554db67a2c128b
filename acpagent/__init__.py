"""acpagent: a coding agent that editors drive over stdio with the Agent Client Protocol.

The public names are handed on lazily (PEP 562), so that importing the package costs nothing.
"""

__all__ = ["Client", "__version__"]


def __getattr__(name: str) -> object:
    if name == "Client":
        from acpagent.client.client import Client

        return Client
    if name == "__version__":
        from acpagent.version import __version__

        return __version__
    raise AttributeError(f"module 'acpagent' has no attribute {name!r}")
