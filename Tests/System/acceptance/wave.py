"""A rate that goes up and down has the right mean."""
from acceptance.harness import Squall, drain, served, source, verdict


def measure():
    seconds = 6
    fault = {"kind": "bandwidth", "stream": "downstream",
             "wave": {"low": "1 MB/s", "high": "5 MB/s", "period": "2 s"}}
    with served(source) as upstream, Squall({"faults": [fault]}, upstream) as squall:
        ratio = drain(squall.port, seconds) / (3e6 * seconds)
    verdict("wave", abs(ratio - 1) <= 0.01, f"1 to 5 MB/s within 2 s: {ratio:.4f} of their mean over {seconds} s")
