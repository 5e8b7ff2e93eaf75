"""What the benchmarks share: the machine, the programs that they start, and how figures are told."""
