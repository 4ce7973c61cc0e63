"""The command `geode`. What a subcommand needs is imported when it runs: `geode --help` needs no extra."""
