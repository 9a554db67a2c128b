from __future__ import annotations

from hypothesis import settings

# How long one example takes says nothing here, and machines that test are busy.
settings.register_profile("runtime", deadline=None)
settings.load_profile("runtime")
