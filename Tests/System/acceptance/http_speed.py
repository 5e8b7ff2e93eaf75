"""The throughput with faults that read HTTP, each beside none in turns."""
import statistics, subprocess

from acceptance.harness import Nginx, Squall, need, verdict


def measure():
    need("curl")
    never = {"http": {"path": "/other"}}
    profiles = {
        "none": [],
        "http": [{"kind": "http", "answer": {"status": 503}, "when": never}],
        "http, latency, loss": [{"kind": "http", "answer": {"status": 503}, "when": never},
                                {"kind": "latency", "delay": "0 s"},
                                {"kind": "loss", "rate": "0 %", "rtt": "1 ms", "link": "100 Gbit/s"}],
    }
    size = 2_000_000_000
    results = {name: [] for name in profiles}
    with Nginx() as nginx:
        with open(f"{nginx.folder}/www/large.bin", "wb") as file:
            file.truncate(size)
        for _ in range(3):
            for name, faults in profiles.items():
                with Squall({"faults": faults}, nginx.port, "--threads", "1") as squall:
                    seconds = float(subprocess.run(
                        ["curl", "-s", "-o", "/dev/null", "-w", "%{time_total}",
                         f"http://127.0.0.1:{squall.port}/large.bin"], stdout=subprocess.PIPE, text=True).stdout)
                    results[name].append(size / seconds / 1e6)
    for name, rates in results.items():
        rate = statistics.median(rates)
        verdict("http-speed", rate >= 500, f"one download by curl with {name}: {rate:,.0f} MB/s")
