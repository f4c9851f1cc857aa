"""Settings that all tests share."""

from hypothesis import settings

# a deadline would be a timed assertion; every run draws other examples
settings.register_profile("project", deadline=None, max_examples=50)
settings.load_profile("project")
