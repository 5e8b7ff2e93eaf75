"""How exactly Squall does what a profile asks: rates, delays and cuts, alone and while 1,000 others are busy; and delays
while the machine is.

The others are 1,000 connections through the same proxy, under the same faults, with 2,000 round trips of 64 bytes a
second in all. For the direct baseline they go to the backend without a proxy, too. A machine that is busy has two
programs for each processor that never wait, each in a session of its own.
"""
import json, os, socket, statistics, struct, sys
from contextlib import ExitStack, contextmanager

from .peers import squall
from .programs import Backend, Failure, Proxy, Session, end, load, start

RATES = {"10 KB/s": 1e4, "100 KB/s": 1e5, "1 MB/s": 1e6, "10 MB/s": 1e7, "100 MB/s": 1e8, "500 MB/s": 5e8}
# µs, and connections with probes. They are spread over time, or they would wait for each other.
DELAYS = {"1 ms": (1_000, 2), "10 ms": (10_000, 8), "100 ms": (100_000, 40)}
OTHERS, OTHERS_INTERVAL = 1_000, 500_000  # µs between two round trips of each
BIN = 50  # ms
BUSY_PROGRAMS = 2 * len(os.sched_getaffinity(0))
# Ends when whoever has started it is gone, however that came about.
NEVER_WAITS = "import os\nparent = os.getppid()\nwhile os.getppid() == parent:\n    for _ in range(100_000): pass"


@contextmanager
def others(port, how):
    """The others, or programs that never wait, if there are to be some."""
    with ExitStack() as stack:
        if how == "busy":
            stack.enter_context(Session("rounds", port, OTHERS, 0, OTHERS_INTERVAL))
        for _ in range(BUSY_PROGRAMS if how == "contended" else 0):
            stack.callback(end, start([sys.executable, "-c", NEVER_WAITS]))
        yield


def rates(scale, how):
    """For each rate: what passes, as a part of what is asked, and how it varies from bin to bin."""
    found = {}
    for name, rate in RATES.items():
        if scale.quick and rate in (1e5, 1e6):
            continue
        peer = squall("rate", [{"kind": "bandwidth", "stream": "downstream", "rate": name}])
        with Backend() as backend, Proxy(peer, backend.port) as proxy, others(proxy.port, how):
            result = load("meter", proxy.port, scale.rate_seconds, BIN)
        # The last bin may be cut short, and those of the first 250 ms have what a start brings.
        bins = result["bins"][5:-1]
        mean = statistics.fmean(bins) if bins else 0
        found[name] = {"ratio": result["rate"] / rate,
                       "variation": statistics.pstdev(bins) / mean if mean else None}
    return found


QUANTILES = ("p50", "p90", "p99")


def _trips(port, connections, seconds, delay):
    """Quantiles of round trips, and of their ways back."""
    result = load("rounds", port, connections, seconds, int(1.25 * delay) + 1_000, 0, "way")
    if "way" not in result:
        raise Failure("the kernel doesn't tell when bytes come (SO_TIMESTAMPNS)")
    return [result[name] for name in QUANTILES] + [result["way"][name] for name in QUANTILES]


def _delay(name, seconds, how):
    """One turn of `delays`, for one delay."""
    delay, connections = DELAYS[name]
    with Backend() as backend:
        with others(backend.port, how):
            direct = _trips(backend.port, connections, 0.5 * seconds, delay)
        with Proxy(squall("plain"), backend.port) as proxy, others(proxy.port, how):
            plain = _trips(proxy.port, connections, 0.5 * seconds, delay)
        peer = squall("delay", [{"kind": "latency", "stream": "downstream", "delay": name}])
        with Proxy(peer, backend.port) as proxy, others(proxy.port, how):
            delayed = _trips(proxy.port, connections, seconds, delay)
    figures = [*QUANTILES, *(f"way {name}" for name in QUANTILES)]
    found = {f"{name}{to} µs": more - less - delay for to, base in (("", direct), (" to plain", plain))
             for name, more, less in zip(figures, delayed, base)}
    return found | {f"{name} of plain µs": more - less for name, more, less in zip(figures, plain, direct)}


def delays(scale, how):
    """For each delay of the way back: by how many µs p50, p90 and p99 of a round trip exceed the delay and those of a
    direct connection, and the delay and those of Squall without a fault; and those of Squall without a fault the direct
    one's. The same for the way back by itself. All three are asked in the same rhythm, in several turns; the median of
    the turns counts, since one disturbance of the machine decides a p99."""
    found = {name: [] for name in DELAYS}
    for _ in range(scale.delay_turns):
        for name, (delay, _) in DELAYS.items():
            found[name].append(_delay(name, scale.delay_seconds * (1 if delay < 100_000 else 2), how))
    return {name: {figure: statistics.median(turn[figure] for turn in turns) for figure in turns[0]}
            for name, turns in found.items()}


def _received(port):
    """Bytes of a download that is cut, and how it ended."""
    count = 0
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
            connection.sendall(b"S".ljust(8, b"\0") + struct.pack("=Q", 1 << 40))
            while True:
                piece = connection.recv(1 << 20)
                if not piece:
                    return count, "close"
                count += len(piece)
    except ConnectionError:
        return count, "reset"


def cuts(scale, how):
    """Of how many cuts at odd places, how many were exact, in bytes and in their end."""
    places = [0, 1, 1_459, 65_537, 1_048_577, 10_000_019]
    times = 2 if scale.quick else 10
    exact = tried = 0
    for how in ("close", "reset"):
        for place in places:
            fault = {"kind": "cut", "stream": "downstream", "at": f"{place} B", "how": how}
            # The others would be cut as well at the places that a few messages reach.
            with Backend() as backend, Proxy(squall("cut", [fault]), backend.port) as proxy, \
                    others(proxy.port, how if place > 60_000 else "alone"):
                for _ in range(times):
                    tried += 1
                    exact += _received(proxy.port) == (place, how)
    return {"exact": exact, "tried": tried}


PARTS = {"rates": (rates, ("alone", "busy")), "delays": (delays, ("alone", "busy", "contended")),
         "cuts": (cuts, ("alone", "busy"))}


def measure(scale, tell):
    """Everything, alone and beside others: {part: {"alone": …, "busy": …}}; what failed is a text."""
    found = {}
    for part, (function, ways) in PARTS.items():
        found[part] = {}
        for how in ways:
            try:
                found[part][how] = function(scale, how)
            except (Failure, OSError) as failure:
                found[part][how] = str(failure)
            tell(f"{part} {how}: {json.dumps(found[part][how])}")
    return found
