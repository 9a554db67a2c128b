from __future__ import annotations

from hypothesis import HealthCheck, settings

# How long an example takes says nothing here; the first one on a fresh machine builds tables of characters.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")
