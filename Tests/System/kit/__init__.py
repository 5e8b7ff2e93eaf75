"""What the checks and the benchmarks share: the machine, programs that are started and ended, a browser, a terminal."""
