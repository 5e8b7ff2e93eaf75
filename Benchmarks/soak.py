#!/usr/bin/env python3
"""Whether Squall stays as it is: a million short connections, then minutes at full rate.

    make soak                                                  about 5 minutes
    python3 Benchmarks/soak.py --quick                         20,000 connections and 10 s, to see that it works
    python3 Benchmarks/soak.py --seconds 3600                  an hour at full rate
    python3 Benchmarks/soak.py --connections 0 --profile Profiles/wifi-edge-loss.json

Prints a row for each stretch of time: resident memory, open descriptors, and p50 and p99 of the round trips of a probe,
one connection that stays open for all of the soak. The short connections are ended by the client, by the server and by
a reset in turn, and come from 8 loopback addresses, since one has too few ports; what they leave is looked at when they
have gone. At full rate 4 connections download and 4 upload, and are looked at while they do.

It is flat if the median of the last quarter of the rows exceeds that of the second quarter by no more than this:
memory 5 % and 1 MiB, descriptors 2, p50 20 % and 50 µs, p99 40 % and 500 µs. The first quarter is for warming up.
Exits 1 if something isn't flat, or if descriptors are left at the end.
"""
import argparse, dataclasses, json, os, shlex, statistics, sys, time

from measuring import peers, programs
from measuring.cases import wait_until
from measuring.tables import number, padded
from kit import machine

ADDRESSES, WORKERS, STREAMS, ROWS = 8, 16, 4, 20
# What is compared, and what may be added to it, as a part and as a number of its own.
TOLERANCES = {"memory MiB": (0.05, 1), "descriptors": (0, 2), "p50 µs": (0.20, 50), "p99 µs": (0.40, 500)}


class Soak:
    def __init__(self, options, proxy):
        self.options, self.proxy, self.start, self.tables = options, proxy, time.monotonic(), {}

    def row(self, part, probe, figure, value):
        reports = probe.take()
        middle = {name: statistics.median([one[name] for one in reports]) if reports else None
                  for name in ("p50", "p99")}
        row = {"s": time.monotonic() - self.start, figure: value,
               "memory MiB": self.proxy.resident_bytes() / 2**20, "descriptors": self.proxy.descriptors(),
               "p50 µs": middle["p50"], "p99 µs": middle["p99"]}
        rows = self.tables.setdefault(part, [])
        if not rows:
            print(f"\n{part}\n" + "  ".join(name.rjust(12) for name in row))
        rows.append(row)
        print("  ".join(number(cell).rjust(12) for cell in row.values()), flush=True)

    def short_connections(self, probe):
        each = self.options.connections // ROWS
        for _ in range(ROWS if each else 0):
            found = programs.load("connect", self.proxy.port, WORKERS, each, "mix", ADDRESSES, patience=600)
            if found["failed"]:
                raise programs.Failure(f"{found['failed']} of {each} connections failed")
            self.settle(self.probed)
            self.row("short connections", probe, "conn/s", found["done"] / found["seconds"])

    def full_rate(self, probe):
        seconds, step = self.options.seconds, self.options.seconds / ROWS
        if not seconds:
            return
        # They go on for a little longer than they are looked at, and are ended then.
        arguments = (STREAMS, seconds + 2, max(100, int(200 * step)))
        with programs.Reports("bulk", self.proxy.port, "down", *arguments) as down, \
                programs.Reports("bulk", self.proxy.port, "up", *arguments) as up:
            before, start = 0, time.monotonic()
            for turn in range(ROWS):
                time.sleep(max(0, start + step * (turn + 1) - time.monotonic()))
                if not (down.is_running() and up.is_running()):
                    raise programs.Failure("a stream ended early")
                moved = sum(one.lines[-1]["bytes"] if one.lines else 0 for one in (down, up))
                self.row("full rate", probe, "MB/s", (moved - before) / step / 1e6)
                before = moved

    def settle(self, descriptors, patience=5):
        """Waits until no more than so many descriptors are open, for some seconds at most."""
        wait_until(lambda: self.proxy.descriptors() <= descriptors, patience)

    def run(self):
        programs.load("connect", self.proxy.port, WORKERS, 1_000)
        time.sleep(2.5)  # Sockets that are kept for a while after the first connections are closed by then.
        base = self.proxy.descriptors(), self.proxy.resident_bytes()
        interval, report = 1_000, 200 if self.options.quick else 1_000
        with programs.Reports("rounds", self.proxy.port, 1, 0, interval, report) as probe:
            time.sleep(1.5 * report / 1_000)
            self.probed = self.proxy.descriptors()
            self.short_connections(probe)
            self.full_rate(probe)
        self.settle(base[0], 60)  # What a slow profile still holds has to leave first.
        time.sleep(1)
        return base, (self.proxy.descriptors(), self.proxy.resident_bytes())


def quarters(rows):
    """The second and the last quarter of the rows."""
    size = len(rows) // 4
    return rows[size:2 * size], rows[-size:]


def judge(rows):
    """For each figure: the medians of the second and of the last quarter, what is permitted, and whether it is flat."""
    found = [["", "second quarter", "last quarter", "at most", "verdict"]]
    for name, (part, more) in TOLERANCES.items():
        early, late = ([row[name] for row in quarter if row[name] is not None] for quarter in quarters(rows))
        if not early or not late:
            found.append([name, "–", "–", "–", "not measured"])
            continue
        then, now = statistics.median(early), statistics.median(late)
        limit = then * (1 + part) + more
        found.append([name, number(then), number(now), number(limit), "flat" if now <= limit else "NOT FLAT"])
    return found


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--connections", type=int, default=1_000_000, help="short connections (1,000,000)")
    parser.add_argument("--seconds", type=float, default=150, help="time at full rate (150)")
    parser.add_argument("--threads", type=int, default=0, help="loops of Squall (0: one for each processor)")
    parser.add_argument("--profile", metavar="FILE", help="faults to soak it under; none if nothing is said")
    parser.add_argument("--quick", action="store_true", help="20,000 connections and 10 s")
    parser.add_argument("--json", metavar="FILE", help="the rows, as JSON")
    options = parser.parse_args()
    if options.quick:
        options.connections, options.seconds = 20_000, 10
    return options


def main():
    options = parse()
    programs.prepare()
    peer = peers.squall("soak", options=f"--threads {options.threads}")
    if options.profile:
        path = shlex.quote(os.path.abspath(options.profile))
        peer = dataclasses.replace(peer, command=peer.command.replace("{folder}/profile.json", path))
    facts = machine.description()
    print(", ".join(f"{name}: {value}" for name, value in facts.items()))
    with programs.Backend() as backend, programs.Proxy(peer, backend.port) as proxy:
        soak = Soak(options, proxy)
        base, left = soak.run()
    verdicts = []
    for part, rows in soak.tables.items():
        table = judge(rows)
        verdicts += [row[-1] for row in table[1:]]
        print(f"\n{part}: is it flat?\n{padded(table)}")
    print(f"\nat the end, with no connection: {left[0]} descriptors, {number(left[1] / 2**20)} MiB; "
          f"at the start {base[0]}, {number(base[1] / 2**20)} MiB")
    flat = all(verdict == "flat" for verdict in verdicts) and left[0] <= base[0]
    print("verdict: flat" if flat else "verdict: NOT FLAT")
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"facts": facts, "tables": soak.tables, "base": base, "left": left, "flat": flat}, file, indent=1)
    sys.exit(0 if flat else 1)


if __name__ == "__main__":
    try:
        main()
    except programs.Failure as failure:
        sys.exit(f"soak.py: {failure}")
