"""A model that follows a script: for tests of applications, without a network."""
