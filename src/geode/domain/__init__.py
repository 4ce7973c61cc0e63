"""What tool calling is: pure values and rules, without I/O, clock, randomness or any library of a provider."""
