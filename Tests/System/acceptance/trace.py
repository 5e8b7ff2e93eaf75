"""A recorded link passes as many bytes as its trace."""
import os

from acceptance.harness import ROOT, Squall, drain, served, source, verdict


def measure():
    seconds = 5
    path = os.path.join(ROOT, "Profiles", "traces", "12mbit.trace")
    for queue in ("1500 B", "256 KiB"):
        fault = {"kind": "trace", "stream": "downstream", "file": path, "queue": queue}
        with served(source) as upstream, Squall({"faults": [fault]}, upstream) as squall:
            rate = drain(squall.port, seconds) * 8 / seconds / 1e6
        verdict("trace", abs(rate - 12) <= 0.2, f"of 12 Mbit/s with a queue of {queue}: {rate:.3f} Mbit/s over {seconds} s")
