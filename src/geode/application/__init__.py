"""The only place that awaits in a loop: performing what the domain decided, through the ports."""
