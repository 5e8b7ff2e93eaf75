#!/usr/bin/env python3
"""What `squall exec` adds to a connect: p50 and p99 of 1,000 connects that block, in µs, nine rounds in turn.

    SQUALL=.build/release/squall python3 Tests/exec/cost.py
"""
import os, socket, statistics, subprocess, sys, threading, time

SQUALL = os.environ.get("SQUALL", ".build/release/squall")


def accept(listener):
    while True:
        listener.accept()[0].close()


def measure():
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(4_096)
    threading.Thread(target=accept, args=(listener,), daemon=True).start()
    times = []
    for _ in range(1_000):
        with socket.socket() as made:
            began = time.perf_counter()
            made.connect(listener.getsockname())
            times.append((time.perf_counter() - began) * 1e6)
    times.sort()
    print(times[500], times[990])


def main():
    if sys.argv[1:] == ["measure"]:
        return measure()
    own = [sys.executable, os.path.abspath(__file__), "measure"]
    ways = {"plain": own, "exec": [SQUALL, "exec", "--latency", "0ms", "--", *own]}
    found = {name: [] for name in ways}
    for _ in range(9):
        for name, command in ways.items():
            found[name].append([float(word) for word in subprocess.run(command, capture_output=True, check=True).stdout.split()])
    for name, rounds in found.items():
        p50, p99 = (sorted(column) for column in zip(*rounds))
        print(f"{name:6} p50 {statistics.median(p50):5.0f} ({p50[0]:.0f} to {p50[-1]:.0f}) µs, p99 {statistics.median(p99):5.0f} ({p99[0]:.0f} to {p99[-1]:.0f}) µs")


main()
