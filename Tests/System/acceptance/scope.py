"""A rate per client holds for the connections of each host."""
from concurrent.futures import ThreadPoolExecutor

from acceptance.harness import Squall, drain, served, source, verdict


def measure():
    seconds, rate = 5, 1_000_000
    fault = {"kind": "bandwidth", "stream": "downstream", "rate": "1 MB/s", "per": "client"}
    hosts = ["127.0.0.2", "127.0.0.2", "127.0.0.3"]
    with served(source) as upstream, Squall({"faults": [fault]}, upstream) as squall:
        with ThreadPoolExecutor(3) as pool:
            parts = list(pool.map(lambda host: drain(squall.port, seconds, host=host), hosts))
    ratios = [(parts[0] + parts[1]) / (rate * seconds), parts[2] / (rate * seconds)]
    verdict("scope", all(abs(ratio - 1) <= 0.01 for ratio in ratios),
            f"1 MB/s per client: {ratios[0]:.4f} of it for two connections of one, {ratios[1]:.4f} for one of another")
