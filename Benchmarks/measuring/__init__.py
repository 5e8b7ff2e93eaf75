"""What the benchmarks share: load generators, the proxies to compare with, and how figures are told."""
import os, sys

# The package `kit`, which they share with the checks of Tests/System.
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../Tests/System"))
