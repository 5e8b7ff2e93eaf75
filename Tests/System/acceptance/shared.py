"""A shared rate holds for all connections together."""
from concurrent.futures import ThreadPoolExecutor

from acceptance.harness import Squall, drain, served, source, verdict


def measure():
    seconds, rate = 5, 1_000_000
    fault = {"kind": "bandwidth", "stream": "downstream", "rate": "1 MB/s", "shared": True}
    with served(source) as upstream, Squall({"faults": [fault]}, upstream) as squall:
        with ThreadPoolExecutor(4) as pool:
            parts = list(pool.map(lambda _: drain(squall.port, seconds), range(4)))
    ratio = sum(parts) / (rate * seconds)
    shares = ", ".join(f"{part / sum(parts):.3f}" for part in parts)
    verdict("shared", abs(ratio - 1) <= 0.01, f"four connections under one 1 MB/s: {ratio:.4f} of it (shares {shares})")
