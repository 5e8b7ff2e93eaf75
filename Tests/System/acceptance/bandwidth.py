"""A rate holds from the first byte on."""
from acceptance.harness import Squall, drain, served, source, verdict


def measure():
    seconds = 5
    with served(source) as upstream:
        for text, rate in (("100 KB/s", 1e5), ("1 MB/s", 1e6), ("10 MB/s", 1e7), ("100 MB/s", 1e8)):
            fault = {"kind": "bandwidth", "stream": "downstream", "rate": text}
            with Squall({"faults": [fault]}, upstream) as squall:
                ratio = drain(squall.port, seconds) / (rate * seconds)
            verdict("bandwidth", abs(ratio - 1) <= 0.01,
                    f"{text}: {ratio:.4f} of it over {seconds} s from the first byte")
