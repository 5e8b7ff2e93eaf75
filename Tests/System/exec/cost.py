#!/usr/bin/env python3
"""What `squall exec` adds to a connect that blocks: nine rounds in turn, by one thread and by 64.

    SQUALL=.build/release/squall python3 Tests/System/exec/cost.py

Each round makes 1,000 connects by one thread, then 1,024 by 64 threads. Asked is 100 µs more than without Squall at p50 of one
thread, and 64 times that at p99 of 64. Exits 1 if it takes more; beside other work it does. In the same rounds `least.c` makes the
calls alone that a connect takes this way: what it costs depends on the machine.
"""
import os, socket, statistics, subprocess, sys, tempfile, threading, time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from kit import programs
from kit.verdicts import finish, verdict

ROUNDS, MORE, THREADS = 9, 100, 64


def accept(listener):
    while True:
        listener.accept()[0].close()


def connects(target, count):
    times = []
    for _ in range(count):
        with socket.socket() as made:
            began = time.perf_counter()
            made.connect(target)
            times.append((time.perf_counter() - began) * 1e6)
    return times


def measure():
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(4_096)
    threading.Thread(target=accept, args=(listener,), daemon=True).start()
    single, many = sorted(connects(listener.getsockname(), 1_000)), []
    workers = [threading.Thread(target=lambda: many.extend(connects(listener.getsockname(), 16))) for _ in range(THREADS)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    many.sort()
    print(single[500], single[990], many[len(many) * 99 // 100])


def main():
    if sys.argv[1:] == ["measure"]:
        return measure()
    programs.need_squall()
    with tempfile.TemporaryDirectory() as folder:
        least = os.path.join(folder, "least")
        subprocess.run(["cc", "-O2", "-o", least, os.path.join(HERE, "least.c")], check=True)
        compare(least)


def compare(least):
    own = [sys.executable, os.path.abspath(__file__), "measure"]
    ways = {"plain": own, "least": [least, *own], "exec": [programs.SQUALL, "exec", "--latency", "0ms", "--", *own]}
    found = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, command in ways.items():
            found[name].append([float(word) for word in subprocess.run(command, capture_output=True, check=True).stdout.split()])
    middle = {}
    for name, rounds in found.items():
        columns = [sorted(column) for column in zip(*rounds)]
        middle[name] = [statistics.median(column) for column in columns]
        texts = [f"{text} {statistics.median(column):5.0f} ({column[0]:.0f} to {column[-1]:.0f}) µs"
                 for text, column in zip(("p50", "p99", f"p99 of {THREADS} threads"), columns)]
        print(f"{name:6} {', '.join(texts)}", flush=True)
    print(f"exec / least: {middle['exec'][0] / middle['least'][0]:.2f} at p50, {middle['exec'][2] / middle['least'][2]:.2f} at p99 of {THREADS} threads")
    more = [exec - plain for plain, exec in zip(middle["plain"], middle["exec"])]
    verdict("p50", more[0] <= MORE, f"{more[0]:.0f} µs more, asked {MORE}")
    verdict("p99", more[2] <= MORE * THREADS, f"{more[2]:.0f} µs more by {THREADS} threads, asked {MORE * THREADS}")
    finish()


main()
