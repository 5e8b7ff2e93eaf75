#!/usr/bin/env python3
"""What one connection, one proxy and one fault cost Squall, from 10 of them to 10,000.

    make scale                                       everything, about 6 minutes; writes Benchmarks/SCALE.txt
    python3 Benchmarks/scale.py --quick              too short to trust, about 1 minute; only prints
    python3 Benchmarks/scale.py --parts proxies      only these: connections proxies faults kinds
    python3 Benchmarks/scale.py --sizes 1000,5000    other numbers

A number that the limit of descriptors or Squall itself doesn't permit is left out, and the tables say so. All of it is
one loop, unless --threads says otherwise.
"""
import argparse, datetime, json, os, re, shutil, subprocess, sys, tempfile, threading, time

from measuring import programs
from measuring.cases import wait_until
from measuring.programs import Failure, load
from measuring.tables import number, padded
from kit import machine

PAGE = os.path.join(programs.ROOT, "Benchmarks", "SCALE.txt")
READING = """\
- kernel KiB each counts all four ends of a connection, two of which belong to the load generators.
- beside them is measured on a separate connection while the others make 1,000 round trips a second in all;
  busy µs a trip is the processor time of one of those.
- on each link: every connection has all faults in both directions. on other links: the faults are for a connection
  that never comes. They are on and never act.
"""
SIZES = (10, 100, 1_000, 10_000)
# Round trips a second over all connections that are lightly busy, however many these are.
LIGHT = 1_000
# Faults that are always on and never in the way.
NEVER = "1000 GB"
KINDS = {
    "latency": {"kind": "latency", "delay": "0 s"},
    "latency, 1 ms": {"kind": "latency", "delay": "1 ms"},
    "bandwidth": {"kind": "bandwidth", "rate": f"{NEVER}/s"},
    "bandwidth, shared": {"kind": "bandwidth", "rate": f"{NEVER}/s", "shared": True},
    "cut": {"kind": "cut", "at": NEVER},
    "stall": {"kind": "stall", "at": NEVER, "for": "1 s"},
    "corrupt": {"kind": "corrupt", "at": NEVER},
    "loss, of none": {"kind": "loss", "rate": "0 %", "rtt": "1 ms"},
}


class Refused(Exception):
    """Squall doesn't take the profile: the text says why."""


class Squall:
    """`squall run` with a profile and as many proxies as it has; without any, one in front of the backend."""

    def __init__(self, profile, backend_port, options):
        self.folder = tempfile.mkdtemp(prefix="squall-scale-")
        path = os.path.join(self.folder, "profile.json")
        with open(path, "w") as file:
            json.dump({"name": "scale", **profile}, file)
        command = [programs.SQUALL, "run", path, "--seed", "1", "--threads", str(options.threads)]
        if "proxies" not in profile:
            command += ["--listen", "127.0.0.1:0", "--upstream", f"127.0.0.1:{backend_port}"]
        begun = time.monotonic()
        self.errors = open(os.path.join(self.folder, "errors"), "w+")
        self.process = programs.start(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.errors,
                                      text=True)
        watch = threading.Timer(60, self.process.kill)
        watch.start()
        self.ports = []
        for _ in profile.get("proxies", [None]):
            found = re.search(r"127\.0\.0\.1:(\d+) ->", self.process.stdout.readline())
            if not found:
                break
            self.ports.append(int(found.group(1)))
        watch.cancel()
        self.seconds_to_ready = time.monotonic() - begun
        if len(self.ports) < len(profile.get("proxies", [None])):
            self.process.wait(10)
            self.errors.seek(0)
            text = self.errors.read().strip()
            self.__exit__()
            raise Refused(text.replace(path + ":", "").split("\n")[0][:200])
        self.port, self.pid = self.ports[-1], self.process.pid

    def resident_bytes(self):
        return machine.resident_bytes(self.pid)

    def descriptors(self):
        return machine.descriptors(self.pid)

    def processor_seconds(self):
        return machine.processor_seconds(self.pid)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        programs.end(self.process)
        self.errors.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def kernel_bytes():
    """What the kernel holds for sockets, among other things."""
    text = machine.read("/proc/meminfo")
    return sum(int(re.search(rf"^{name}:\s+(\d+)", text, re.MULTILINE).group(1)) * 1024
               for name in ("Slab", "KernelStack", "PageTables"))


def settled(squall, backend, count, before):
    """Waits until so many connections have reached the backend, and a moment more."""
    if not wait_until(lambda: machine.descriptors(backend.pid) >= before + count, 60):
        raise Failure(f"{machine.descriptors(backend.pid) - before} of {count} connections are open")
    time.sleep(0.5)


def trips(squall, scale):
    """p50 and p99 of round trips of one connection, and what one of them costs the proxy, in µs."""
    start = squall.processor_seconds()
    found = load("rounds", squall.port, 1, scale.seconds)
    used = squall.processor_seconds() - start
    return found["p50"], found["p99"], used / (found["count"] * (scale.seconds + 0.2) / scale.seconds) * 1e6


def new_connections(squall, scale):
    """New connections a second, over about as long as anything else is measured."""
    first = load("connect", squall.port, 16, 200)
    count = min(scale.connections, max(200, int(200 / first["seconds"] * scale.seconds)))
    found = load("connect", squall.port, 16, count)
    return found["done"] / found["seconds"]


def connections(scale, options):
    rows = [["connections", "KiB each", "KiB each, used once", "kernel KiB each", "new conn/s beside them",
             "p50 µs beside them", "p99 µs", "busy µs a trip"]]
    notes = []
    permitted = (machine.raise_descriptor_limit() - 200) // 2
    sizes = sorted({min(size, permitted) for size in options.sizes})
    if max(options.sizes) > permitted:
        notes.append(f"The limit of descriptors permits {permitted:,} connections here, not {max(options.sizes):,}: "
                     "each takes two.")
    for size in sizes:
        with programs.Backend() as backend, Squall({}, backend.port, options) as squall:
            load("connect", squall.port, 16, 1_000)
            time.sleep(0.5)
            base, kernel, before = squall.resident_bytes(), kernel_bytes(), machine.descriptors(backend.pid)
            with programs.Session("idle", squall.port, size) as session:
                settled(squall, backend, size, before)
                unused = squall.resident_bytes()
                session.tell("use")
                time.sleep(0.5)
                used, held = squall.resident_bytes(), kernel_bytes() - kernel
                new = new_connections(squall, scale)
            wait_until(lambda: machine.descriptors(backend.pid) <= before, 20)
            with programs.Session("rounds", squall.port, size, 0, int(size * 1e6 / LIGHT)):
                settled(squall, backend, size, before)
                start = squall.processor_seconds()
                time.sleep(scale.seconds)
                busy = (squall.processor_seconds() - start) / scale.seconds / LIGHT * 1e6
                p50, p99, _ = trips(squall, scale)
            # Below a thousand, a page more or less decides.
            kernel_cell = number(held / size / 1024) if size >= 1_000 else "–"
            rows.append([f"{size:,}", number((unused - base) / size / 1024), number((used - base) / size / 1024),
                         kernel_cell, number(new), number(p50), number(p99), number(busy)])
    return rows, notes


def proxies(scale, options):
    rows = [["proxies", "ready after ms", "MiB in all", "KiB each", "descriptors each", "new conn/s through the last",
             "p50 µs through the last", "idle % of a core"]]
    notes, alone = [], None
    for size in (1, 10, 64, *(size for size in sorted(options.sizes) if size > 64)):
        with programs.Backend() as backend:
            listed = [{"name": f"proxy {i}", "listen": "127.0.0.1:0", "upstream": f"127.0.0.1:{backend.port}"}
                      for i in range(size)]
            try:
                squall = Squall({"proxies": listed}, backend.port, options)
            except Refused as refusal:
                notes.append(f"{size:,} proxies are refused in one process: {refusal}")
                break
            with squall:
                time.sleep(0.5)
                memory, open_now, start = squall.resident_bytes(), squall.descriptors(), squall.processor_seconds()
                time.sleep(scale.seconds)
                idle = (squall.processor_seconds() - start) / scale.seconds
                new = new_connections(squall, scale)
                p50, _, _ = trips(squall, scale)
            alone = alone or (memory, open_now)
            # Below 64, a page more or less decides.
            each = (number((memory - alone[0]) / size / 1024), number((open_now - alone[1]) / size))
            rows.append([f"{size:,}", number(squall.seconds_to_ready * 1e3), number(memory / 2**20),
                         *(each if size >= 64 else ("–", "–")), number(new), number(p50), f"{idle:.1%}"])
    return rows, notes


def _cost(profile, scale, options):
    """Cells for a profile: memory of a connection, throughput, processor time, round trips, new connections."""
    with programs.Backend() as backend, Squall(profile, backend.port, options) as squall:
        load("connect", squall.port, 16, 1_000)
        time.sleep(0.3)
        base, before, count = squall.resident_bytes(), machine.descriptors(backend.pid), scale.idle
        if len(profile["faults"]) >= 100:
            count = min(count, 200)
        with programs.Session("idle", squall.port, count) as session:
            settled(squall, backend, count, before)
            session.tell("use")
            each = (squall.resident_bytes() - base) / count / 1024
        wait_until(lambda: machine.descriptors(backend.pid) <= before, 20)
        start = squall.processor_seconds()
        moved = load("bulk", squall.port, "down", 1, scale.seconds)
        used = (squall.processor_seconds() - start) / (moved["bytes"] / 1e9)
        p50, _, trip = trips(squall, scale)
        new = new_connections(squall, scale)
    return [number(each), number(moved["bytes"] / moved["seconds"] / 1e6), number(used), number(p50), number(trip),
            number(new)]


COSTS = ["KiB a connection", "MB/s", "s/GB", "p50 µs", "µs a trip", "conn/s"]


def faults(scale, options):
    """Many faults on every link, rates and others; and as many in the profile, of which none is for the connections
    that are made."""
    rows, notes = [["faults", "which", *COSTS], ["0", "–", *_cost({"faults": []}, scale, options)]], []
    for size in (1, 10, 100, 256, *(size for size in sorted(options.sizes) if size > 256)):
        try:
            for which, names in (("rates, on each link", ["bandwidth"]),
                                 ("cuts, stalls and corruptions, on each link", ["cut", "stall", "corrupt"])):
                listed = [KINDS[names[i % len(names)]] for i in range(size)]
                rows.append([f"{size:,}", which, *_cost({"faults": listed}, scale, options)])
            elsewhere = [{**fault, "when": {"connection": 10**11 + i}} for i, fault in enumerate(listed)]
            rows.append([f"{size:,}", "the same, on other links", *_cost({"faults": elsewhere}, scale, options)])
        except Refused as refusal:
            notes.append(f"{size:,} faults are refused in one profile: {refusal}")
            break
    return rows, notes


def kinds(scale, options):
    rows, notes = [["fault, in both directions", *COSTS]], []
    for name, fault in {"none": None, **KINDS}.items():
        try:
            rows.append([name, *_cost({"faults": [fault] if fault else []}, scale, options)])
        except Refused as refusal:
            notes.append(f"{name}: {refusal}")
    return rows, notes


PARTS = {"connections": ("Connections", connections), "proxies": ("Proxies in one process", proxies),
         "faults": ("Faults of a profile", faults), "kinds": ("One fault of a kind", kinds)}


class Scale:
    def __init__(self, quick):
        self.seconds = 0.3 if quick else 1.5
        self.connections = 800 if quick else 10_000
        self.idle = 100 if quick else 1_000


def write(figures):
    with open(PAGE, "w") as file:
        file.write(f"{READING}\n{figures}\n")


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="short, and up to 1,000")
    parser.add_argument("--parts", default=",".join(PARTS), help=f"some of {','.join(PARTS)}")
    parser.add_argument("--sizes", help=f"the numbers ({','.join(map(str, SIZES))})")
    parser.add_argument("--threads", type=int, default=1, help="loops of Squall (1)")
    parser.add_argument("--write", action="store_true", help="write Benchmarks/SCALE.txt")
    options = parser.parse_args()
    options.parts = options.parts.split(",")
    unknown = [part for part in options.parts if part not in PARTS]
    if unknown:
        parser.error(f"--parts knows no {unknown[0]}, only {', '.join(PARTS)}")
    try:
        options.sizes = [int(size) for size in options.sizes.split(",")] if options.sizes else list(SIZES)
    except ValueError:
        parser.error("--sizes takes whole numbers, such as 10,100")
    if options.quick:
        options.sizes = [size for size in options.sizes if size <= 1_000]
    if options.write and (options.quick or options.parts != list(PARTS)):
        parser.error("--write puts in all parts, at full length")
    return options


def main():
    options = parse()
    programs.prepare()
    told = {"date": datetime.date.today().isoformat(), **machine.description(), "loops": str(options.threads)}
    texts = [", ".join(f"{name} {value}" for name, value in told.items()) + "."]
    print(texts[0], flush=True)
    for part in options.parts:
        title, function = PARTS[part]
        rows, notes = function(Scale(options.quick), options)
        texts.append(f"{title}\n\n{padded(rows)}" + "".join(f"\n\n{note}" for note in notes))
        print("\n" + texts[-1], flush=True)
    if options.write:
        write("\n\n".join(texts))
        print(f"\nwritten: {os.path.relpath(PAGE)}")


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(f"scale.py: {failure}")
