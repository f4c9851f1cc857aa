"""Settings that all tests share."""

from hypothesis import settings

# a deadline would be a timed assertion
settings.register_profile("project", deadline=None)
settings.load_profile("project")
