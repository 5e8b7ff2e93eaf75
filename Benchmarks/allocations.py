#!/usr/bin/env python3
"""What Squall does in memory for each chunk that it passes on: nothing is to be allocated, and no reference counted.

    make allocations                                           about 4 minutes
    python3 Benchmarks/allocations.py --quick                  fewer chunks, to see that it works
    python3 Benchmarks/allocations.py --profiles none,loss     some of the profiles
    python3 Benchmarks/allocations.py --keep DIR               the dumps, for callgrind_annotate --tree=caller

Starts the built command under callgrind, one profile after the other, and passes chunks in two ways: `64 B`, an echo
of 64 bytes, and `64 KiB`, a block that is answered by a byte. Each exchange is two chunks, one in each direction, and
the next waits for it. After a warm-up the counters are set to zero, and after the chunks they are dumped: the calls of
malloc, calloc and realloc, of free, of swift_allocObject, and of all that counts references, for each chunk.

It holds if a chunk costs less than 0.01 allocations and less than 0.05 retains and releases. Exits 1 if it doesn't, and
tells where the calls came from. The instructions are those of the process, the kernel's left out.
"""
import argparse, collections, json, os, re, shutil, signal, socket, subprocess, sys, tempfile, time

from measuring import programs
from measuring.tables import number, padded
from kit import machine
from kit.server import served

WARM_UP, CHUNKS = 2_000, 10_000
MOST_ALLOCATIONS, MOST_COUNTS = 0.01, 0.05
SMALL, LARGE = 64, 64 << 10

FAR = "1000 GiB"
FAULTS = {
    "bandwidth": {"kind": "bandwidth", "rate": "100 Gbit/s"},
    "latency 0": {"kind": "latency", "delay": "0 ms"},
    "latency 1 ms": {"kind": "latency", "delay": "1 ms"},
    "loss": {"kind": "loss", "rate": "0.05 %", "rtt": "1 ms"},
    "trace": {"kind": "trace", "file": "fast.trace", "queue": "1 MiB"},
    "cut": {"kind": "cut", "at": FAR, "how": "reset"},
    "cut by age": {"kind": "cut", "after": "1 h", "how": "reset"},
    "stall": {"kind": "stall", "at": FAR, "for": "1 s"},
    "slice": {"kind": "slice", "size": "16 KiB"},
    "http": {"kind": "cut", "at": FAR, "of": "body", "how": "close"},
}
PROFILES = {"none": [], **{name: [fault] for name, fault in FAULTS.items()},
            "all": [fault for name, fault in FAULTS.items() if name != "latency 1 ms"]}
# The command without what debuggers need, which valgrind can't always read; the names of functions stay.
STRIPPED = os.path.join(programs.BUILT, "squall-stripped")
# Valgrind writes into the mask of a sigsuspend, which libdispatch keeps where nothing may be written.
SHIM = os.path.join(programs.BUILT, "sigsuspend.so")
SHIM_SOURCE = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
int sigsuspend(const sigset_t *mask) {
    sigset_t copy = *mask;
    return ((int (*)(const sigset_t *))dlsym(RTLD_NEXT, "sigsuspend"))(&copy);
}
"""
# What comes before the chunks, and is answered: the chunks are the content of the two messages.
OPENING = b"POST /chunks HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000000\r\n\r\n"
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000000\r\n\r\n"
# 100 opportunities in each millisecond.
TRACE = "1\n" * 100

# The names by which the two groups of functions go; what one of them calls of the same group counts once.
ALLOCATION = re.compile(r"^(malloc|calloc|realloc|aligned_alloc|posix_memalign|memalign)$")
FREE = re.compile(r"^(free|cfree)$")
OBJECT = re.compile(r"^swift_(allocObject|slowAlloc(Typed)?)$")
COUNT = re.compile(r"^swift_(nonatomic_)?(unknownObject|bridgeObject|unowned|weak)?[rR](etain|elease)"
                   r"(_n|_x\d+|Strong)?$"
                   r"|^swift_(tryRetain|(unowned|weak)(Load|Copy|Take)Strong|retain_preservemost|release_dealloc)$")
GROUPS = {"allocations": ALLOCATION, "frees": FREE, "objects": OBJECT, "retains and releases": COUNT}


def receive(connection, count):
    buffer = bytearray(min(count, LARGE))
    while count:
        got = connection.recv_into(buffer, min(count, len(buffer)))
        if not got:
            raise ConnectionError("the connection ended")
        count -= got


class Watched:
    """Squall under callgrind."""

    def __init__(self, faults, upstream):
        self.folder, self.process = tempfile.mkdtemp(prefix="squall-allocations-"), None
        for name, text in (("profile.json", json.dumps({"name": "watched", "seed": 1, "faults": faults})),
                           ("fast.trace", TRACE)):
            with open(os.path.join(self.folder, name), "w") as file:
                file.write(text)
        self.port, self.dumps = programs.free_port(), 0
        self.errors = os.path.join(self.folder, "errors")
        with open(self.errors, "wb") as errors:
            self.process = programs.start(
                ["valgrind", "--tool=callgrind", f"--callgrind-out-file={self.folder}/out", STRIPPED, "run",
                 "profile.json", "--threads", "1", "--listen", f"127.0.0.1:{self.port}", "--upstream",
                 f"127.0.0.1:{upstream}"],
                cwd=self.folder, env={**os.environ, "LD_PRELOAD": SHIM}, stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=errors)
        deadline = time.monotonic() + 60
        while not machine.is_listening(self.port):
            if time.monotonic() > deadline or self.process.poll() is not None:
                with open(self.errors) as file:
                    text = file.read()[-500:]
                self.close()
                raise programs.Failure(f"squall does not start under callgrind: {text}")
            time.sleep(0.05)

    def control(self, option):
        done = subprocess.run(["callgrind_control", option, str(self.process.pid)], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=60)
        if done.returncode != 0 or "Error" in done.stdout + done.stderr:
            raise programs.Failure(f"callgrind_control {option}: {(done.stdout + done.stderr).strip()[-300:]}")

    def zero(self):
        self.control("-z")

    def dump(self):
        """Writes what was counted since the last time to a file of its own, and gives its path."""
        self.control("-d")
        self.dumps += 1
        path = os.path.join(self.folder, f"out.{self.dumps}")
        deadline = time.monotonic() + 20
        while not is_complete(path):
            if time.monotonic() > deadline:
                raise programs.Failure(f"callgrind does not write {path}")
            time.sleep(0.05)
        return path

    def close(self):
        programs.end(self.process)
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def is_complete(path):
    if not os.path.exists(path):
        return False
    with open(path, "rb") as file:
        file.seek(max(0, os.path.getsize(path) - 200))
        return b"totals:" in file.read()


class Calls:
    """What a dump tells: the calls from each function to each other, and the instructions."""

    NAME = re.compile(r"^(c?fn)=\((\d+)\)(?: (.*))?$")

    def __init__(self, path):
        self.arcs, self.instructions = collections.Counter(), 0
        names, caller, callee = {}, "", ""
        with open(path, errors="replace") as file:
            for line in file:
                if line.startswith(("fn=", "cfn=")):
                    which, key, name = self.NAME.match(line.rstrip("\n")).groups()
                    name = names.setdefault(key, name or "?")
                    # Behind the name stands how deep a recursion is.
                    name = re.sub(r"('\d+)?(@+[\w.]+)?$", "", name)
                    if which == "fn":
                        caller = name
                    else:
                        callee = name
                elif line.startswith("calls="):
                    self.arcs[caller, callee] += int(line[6:].split()[0])
                elif line.startswith("totals:"):
                    self.instructions = int(line.split()[1])

    def count(self, group):
        """The calls of a group of functions from outside of it."""
        return sum(calls for (caller, callee), calls in self.arcs.items()
                   if group.match(callee) and not group.match(caller))

    def chains(self, group, least, depth=4):
        """Who calls a group at least so often: the caller, and who calls that most, and so on."""
        found = []
        for (caller, callee), calls in self.arcs.most_common():
            if calls >= least and group.match(callee) and not group.match(caller):
                chain = [callee, caller]
                while len(chain) <= depth:
                    above = [(n, one) for (one, other), n in self.arcs.items()
                             if other == chain[-1] and one not in chain]
                    if not above:
                        break
                    chain.append(max(above)[1])
                found.append((calls, chain))
        return found


def serve(peer, size, answer):
    """The server behind the proxy: answers the opening, then each chunk of a size with one of another size."""
    receive(peer, len(OPENING))
    peer.sendall(ANSWER)
    while True:
        receive(peer, size)
        peer.sendall(bytes(answer))


def exchange(connection, size, answer, times):
    block = bytes(size)
    for _ in range(times):
        connection.sendall(block)
        receive(connection, answer)


def measure(faults, size, answer, options):
    """The calls while so many chunks pass, and their number."""
    with served(lambda peer: serve(peer, size, answer)) as port, Watched(faults, port) as squall, \
            socket.create_connection(("127.0.0.1", squall.port), timeout=60) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(OPENING)
        receive(connection, len(ANSWER))
        exchange(connection, size, answer, options.warm_up // 2)
        squall.zero()
        exchange(connection, size, answer, options.chunks // 2)
        path = squall.dump()
        if options.keep:
            os.makedirs(options.keep, exist_ok=True)
            shutil.copy(path, options.keep)
        return Calls(path)


def demangled(names):
    done = subprocess.run(["swift", "demangle", "--compact", "--simplified"], input="\n".join(names), text=True,
                          capture_output=True) if shutil.which("swift") else None
    return done.stdout.splitlines() if done and done.returncode == 0 else names


def explain(name, calls, chunks):
    """Prints where the calls that are too many came from."""
    for title in ("allocations", "objects", "retains and releases"):
        for count, chain in calls.chains(GROUPS[title], max(1, chunks // 200))[:12]:
            print(f"  {name}: {count / chunks:.3f} a chunk: " + " < ".join(demangled(chain)))


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--profiles", default=",".join(PROFILES), help=f"some of {','.join(PROFILES)}")
    parser.add_argument("--chunks", type=int, default=CHUNKS, help=f"chunks that are counted ({CHUNKS:,})")
    parser.add_argument("--quick", action="store_true", help="200 chunks to warm up and 1,000 that are counted")
    parser.add_argument("--keep", metavar="DIR", help="a folder for the last dump of callgrind")
    options = parser.parse_args()
    options.warm_up = WARM_UP
    if options.quick:
        options.warm_up, options.chunks = 200, 1_000
    options.profiles = options.profiles.split(",")
    unknown = [name for name in options.profiles if name not in PROFILES]
    if unknown:
        parser.error(f"there is no profile {unknown[0]!r} (there are {', '.join(PROFILES)})")
    return options


def main():
    options = parse()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # So that what was started is ended.
    programs.need_squall()
    for program, package in {"valgrind": "valgrind", "callgrind_control": "valgrind", "strip": "binutils",
                             "cc": "gcc"}.items():
        if not shutil.which(program):
            raise SystemExit(f"{program} is missing (Debian's package {package}; `make allocations` installs it)")
    os.makedirs(programs.BUILT, exist_ok=True)
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-x", "c", "-o", SHIM, "-"], input=SHIM_SOURCE, text=True,
                   check=True)
    subprocess.run(["strip", "--strip-debug", "-o", STRIPPED, programs.SQUALL], check=True)
    rows = [["faults", "chunk", "allocations", "objects", "frees", "retains, releases", "instructions", "verdict"]]
    print("calls of a chunk\n" + "  ".join(rows[0]))
    fine = True
    for name in options.profiles:
        for title, size, answer in (("64 B", SMALL, SMALL), ("64 KiB", LARGE, 1)):
            calls = measure(PROFILES[name], size, answer, options)
            found = {group: calls.count(names) / options.chunks for group, names in GROUPS.items()}
            holds = max(found["allocations"], found["objects"]) < MOST_ALLOCATIONS \
                and found["retains and releases"] < MOST_COUNTS
            fine = fine and holds
            rows.append([name, title, *(f"{found[group]:.3f}" for group in
                                        ("allocations", "objects", "frees", "retains and releases")),
                         number(calls.instructions / options.chunks), "holds" if holds else "DOES NOT HOLD"])
            print("  ".join(rows[-1]), flush=True)
            if not holds:
                explain(name, calls, options.chunks)
    print(f"\n{padded(rows)}\n\nverdict: {'holds' if fine else 'DOES NOT HOLD'}")
    sys.exit(0 if fine else 1)


if __name__ == "__main__":
    try:
        main()
    except programs.Failure as failure:
        sys.exit(f"allocations.py: {failure}")
