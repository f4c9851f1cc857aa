"""Settings that all tests share."""

from hypothesis import settings

from colllib import cli_io

cli_io.PATIENCE = 3600.0  # on a slow machine, too, standard error stays empty
# a deadline would be a timed assertion; every run draws other examples
settings.register_profile("project", deadline=None, max_examples=50)
settings.load_profile("project")
