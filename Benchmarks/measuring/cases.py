"""What is measured of a proxy that runs: a function for each case, from a proxy to figures."""
import os, time

from kit import machine
from .programs import Backend, Failure, Proxy, Session, load

LAST_PROCESSOR = {max(os.sched_getaffinity(0))}
EVERY_PROCESSOR = os.sched_getaffinity(0)


class Meter:
    """Processor time while a load runs: of the proxy, of the backend, of the machine, and of anybody else."""

    def __init__(self, proxy, backend):
        self.proxy, self.backend = proxy, backend
        self.start, self.before = time.monotonic(), self._read()

    def _read(self):
        return (self.proxy.processor_seconds(), machine.processor_seconds(self.backend.pid),
                machine.machine_seconds())

    def stop(self, generator):
        """The figures, in seconds; `generator` is what the load generator has taken itself."""
        proxy, backend, whole = (now - then for now, then in zip(self._read(), self.before))
        others = max(0.0, whole - proxy - backend - generator) / (time.monotonic() - self.start)
        if not self.proxy.pid:
            proxy = None  # There is no proxy.
        return {"proxy": proxy, "load": backend + generator, "machine": whole, "others": others}


def part(seconds, count):
    """Processor time for one of so many, or nothing where there is no proxy."""
    return None if seconds is None else seconds / count


def bulk(proxy, backend, scale, direction, connections):
    meter = Meter(proxy, backend)
    found = load("bulk", proxy.port, direction, connections, scale.bulk_seconds)
    used, gigabytes = meter.stop(found["processor"]), found["bytes"] / 1e9
    return {"MB/s": found["bytes"] / found["seconds"] / 1e6, "s/GB": part(used["proxy"], gigabytes),
            "load s/GB": used["load"] / gigabytes, "machine s/GB": used["machine"] / gigabytes,
            "others": used["others"]}


def new_connections(proxy, backend, scale, ending):
    """Each asks once, is answered, and is ended by the client or by the server."""
    load("connect", proxy.port, 16, 200, ending)
    meter = Meter(proxy, backend)
    found = load("connect", proxy.port, 16, scale.connections, ending)
    if found["failed"]:
        raise Failure(f"{found['failed']} of {scale.connections} connections failed")
    time.sleep(0.1)  # The last of them end.
    used = meter.stop(found["processor"])
    count = found["done"] / 10_000
    return {"conn/s": found["done"] / found["seconds"], "s/10k": part(used["proxy"], count),
            "load s/10k": used["load"] / count, "p50 µs": found["p50"], "p99 µs": found["p99"],
            "others": used["others"]}


def round_trips(proxy, backend, scale, connections, pinned):
    """With `pinned`, all programs are on one processor: which of them the scheduler lets run together decides
    otherwise, more than what a proxy does."""
    processors = LAST_PROCESSOR if pinned else EVERY_PROCESSOR
    proxy.pin(processors)
    machine.pin(backend.pid, processors)
    try:
        meter = Meter(proxy, backend)
        found = load("rounds", proxy.port, connections, scale.round_seconds, processors=processors)
        used = meter.stop(found["processor"])
    finally:
        proxy.pin(EVERY_PROCESSOR)
        machine.pin(backend.pid, EVERY_PROCESSOR)
    # The warm-up costs as much as the rest, and is not counted.
    counted = scale.round_seconds / (scale.round_seconds + min(0.2, 0.2 * scale.round_seconds))
    trips = found["count"] / counted / 1e6
    return {"p50 µs": found["p50"], "p99 µs": found["p99"], "trips/s": found["rate"],
            "proxy µs": part(used["proxy"], trips),
            "load µs": used["load"] / trips, "others": used["others"]}


def wait_until(holds, seconds):
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def idle(peer, scale):
    """On a fresh proxy: what each of many connections costs that nobody uses, that were used once, that have gone."""
    count = scale.idle_connections
    with Backend() as backend, Proxy(peer, backend.port) as proxy:
        # What a first connection brings about once is part of the base, and what is kept for a while after it isn't.
        load("connect", proxy.port, 4, 64)
        time.sleep(2.5)
        base, open_before, served = proxy.resident_bytes(), proxy.descriptors(), machine.descriptors(backend.pid)
        with Session("idle", proxy.port, count) as session:
            if not wait_until(lambda: machine.descriptors(backend.pid) >= served + count, 30):
                raise Failure(f"{machine.descriptors(backend.pid) - served} of {count} connections are open")
            time.sleep(scale.pause)
            unused, open_now = proxy.resident_bytes(), proxy.descriptors()
            answered = int(session.tell("use").split()[1])
            time.sleep(scale.pause)
            used, start = proxy.resident_bytes(), proxy.processor_seconds()
            time.sleep(scale.pause)
            busy = (proxy.processor_seconds() - start) / scale.pause
            session.tell("close")
        wait_until(lambda: proxy.descriptors() <= open_before, 10)
        time.sleep(scale.pause)
        if answered < count:
            raise Failure(f"{answered} of {count} connections answered")
        return {"KiB unused": (unused - base) / count / 1024, "KiB used once": (used - base) / count / 1024,
                "descriptors": (open_now - open_before) / count, "base MiB": base / 2**20,
                "after MiB": proxy.resident_bytes() / 2**20, "left open": proxy.descriptors() - open_before,
                "busy": busy}


def run(case, proxy, backend, scale):
    """The figures of one case; `idle` has a proxy of its own."""
    if case[:2] in ("do", "up"):
        return bulk(proxy, backend, scale, case.rstrip("0123456789"), int(case.lstrip("downup")))
    if "conn" in case:
        return new_connections(proxy, backend, scale, "server" if case == "conn-server" else "client")
    connections = 1 if case == "rr1" else 64
    return round_trips(proxy, backend, scale, connections, pinned=case != "loops-rr64")
