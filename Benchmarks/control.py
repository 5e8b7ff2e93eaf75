#!/usr/bin/env python3
"""How fast `squall serve` answers, whether its changes lose a byte, and whether it slows its proxies down.

    make control                               about 10 minutes
    python3 Benchmarks/control.py stuck        one part: proxies, stuck, changes, v1 or speed

proxies  2,000 proxies are populated, listed and deleted.
stuck    500 connections whose receivers have stopped reading, and a dial that hangs: adding, updating and removing toxics,
         resetting and listing, each 100 times. Meanwhile clients of another proxy are served. How long calls take before
         that, while the buffers of the connections fill, is printed: it tells how fast the system gives its memory.
changes  10,000 toxic changes on a proxy with 1,000 busy connections to an echo server. Clients and server compare digests of
         what they have sent and received.
v1       The same with 10,000 changes of faults, profiles and clocks through Squall's own API.
speed    Bulk, round trips and new connections of a proxy whose server has its page open in Chromium, beside `squall run` with
         the same proxy, in turns. Chromium takes its part of the machine from both. A sample is off by a tenth, so there
         are as many as it takes for a standard error of 1 %, in at least 3 and at most 12 starts of all programs.

Exits 1 if a limit is missed: 1 s to populate, 50 ms to list and for the p99 of each call, no byte lost, 97 % of the speed.
"""
import argparse, contextlib, http.client, json, math, random, socket, statistics, threading, time
from types import SimpleNamespace

from measuring import busy, cases, programs
from measuring.peers import Peer
import kit.server
from kit import machine
from kit.browser import Browser
from kit.verdicts import finish, verdict

TOXICS = [
    {"type": "latency", "attributes": {"latency": 5, "jitter": 4}},
    {"type": "bandwidth", "attributes": {"rate": 9}},
    {"type": "bandwidth", "toxicity": 0.1, "attributes": {"rate": 0}},
    {"type": "slicer", "attributes": {"average_size": 1_000, "size_variation": 200, "delay": 1_000}},
    {"type": "slow_close", "attributes": {"delay": 3}},
    {"type": "limit_data", "attributes": {"bytes": 1 << 50}},
    {"type": "noop"},
]
# Faults that hold bytes and let them go; none ends a connection.
FAULTS = [
    {"kind": "latency", "delay": "5 ms", "jitter": "4 ms"},
    {"kind": "bandwidth", "rate": "9 KB/s"},
    {"kind": "bandwidth", "rate": "5 MB/s", "per": "proxy"},
    {"kind": "slice", "size": "1 KB", "pause": "1 ms"},
    {"kind": "loss", "rate": "1 %", "rtt": "4 ms"},
    {"kind": "outage", "how": "silence", "when": {"chance": "10 %"}},
    {"kind": "stall", "at": "30 KB", "for": "1 h", "when": {"chance": "30 %"}},
    {"kind": "slow-reader", "rate": "3 MB/s"},
    {"kind": "slow-close", "by": "3 ms"},
    {"kind": "cut", "at": "1000 GiB"},
    {"kind": "latency", "delay": "1 h", "when": {"http": {"method": "GET"}}},
]
SPEED = SimpleNamespace(bulk_seconds=0.2, connections=1_500, round_seconds=0.3)


class Server(kit.server.Server):
    """`squall serve` on a free port, and one connection to it."""

    def __init__(self):
        super().__init__("--seed", "1", stderr=None)
        self.http = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def exchange(self, method, path, body=None, fields=None):
        self.http.request(method, path, None if body is None else json.dumps(body), fields or {})
        response = self.http.getresponse()
        return response, response.read()

    def timed(self, method, path, body=None):
        start = time.perf_counter()
        self.value(method, path, body)
        return (time.perf_counter() - start) * 1e3

    def proxy(self, name, upstream):
        return int(super().proxy(name, upstream).rsplit(":", 1)[1])


def proxies():
    with Server() as server:
        wanted = [{"name": f"p{i}", "listen": "127.0.0.1:0", "upstream": "127.0.0.1:9"} for i in range(2_000)]
        populate = server.timed("POST", "/populate", wanted)
        lists = [server.timed("GET", "/proxies") for _ in range(20)]
        verdict("proxies", populate < 1_000, f"2,000 proxies populated in {populate:.0f} ms")
        verdict("proxies", statistics.median(lists) < 50, f"and listed in {statistics.median(lists):.1f} ms (median of 20)")


def p99(values):
    return sorted(values)[int(len(values) * 0.99) - 1]


def stuck():
    with Server() as server, contextlib.ExitStack() as stack:
        backend = stack.enter_context(programs.Backend())
        # A listener whose queue is full: a dial to it hangs.
        hung = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(4):
            dial = stack.enter_context(socket.socket())
            dial.setblocking(False)
            dial.connect_ex(hung.getsockname())

        port = server.proxy("stuck", f"127.0.0.1:{backend.port}")
        for _ in range(500):
            receiver = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            receiver.sendall(b"S".ljust(8, b"\0") + (1 << 50).to_bytes(8, "little"))
        hanging = server.proxy("hangs", "127.0.0.1:%d" % hung.getsockname()[1])
        stack.enter_context(socket.create_connection(("127.0.0.1", hanging)))
        other = server.proxy("other", f"127.0.0.1:{backend.port}")
        served = []
        ends = threading.Event()

        def clients():
            while not ends.is_set():
                served.append(programs.load("connect", other, 1, 100, "client"))

        def calls(times):
            for proxy in ("stuck", "hangs"):
                path = f"/proxies/{proxy}/toxics"
                for name, method, where, body in (
                    ("add", "POST", path, {"name": "t", "type": "latency", "attributes": {"latency": 10}}),
                    ("update", "PATCH", f"{path}/t", {"attributes": {"latency": 20}}),
                    ("delete", "DELETE", f"{path}/t", None),
                ):
                    times.setdefault(name, []).append(server.timed(method, where, body))
            times.setdefault("list", []).append(server.timed("GET", "/proxies"))
            times.setdefault("reset", []).append(server.timed("POST", "/reset"))

        client = threading.Thread(target=clients)
        client.start()
        filling, moved, since = {}, -1, time.monotonic()
        while time.monotonic() < since + 1:
            calls(filling)
            now = server.value("GET", "/v1/proxies/stuck")["bytes"]["downstream"]
            if now != moved:
                moved, since = now, time.monotonic()
        first = p99(filling["add"] + filling["delete"])
        print(f"    while {moved / 1e9:.1f} GB fill the buffers of the system, a change takes {first:.1f} ms at p99")
        times = {}
        for _ in range(100):
            calls(times)
        ends.set()
        client.join()
        for name, values in times.items():
            verdict("stuck", p99(values) < 50, f"{name}: median {statistics.median(values):.1f} ms, p99 {p99(values):.1f} ms")
        failed = sum(run["failed"] for run in served)
        verdict("stuck", served and not failed, f"{sum(run['done'] for run in served)} clients of another proxy were served meanwhile")


def toxic_changes(server, draw, count):
    """Adds, changes, removes and resets toxics of the proxy."""
    path, present = "/proxies/busy/toxics", []
    for number in range(count):
        if len(present) < 4 and draw.random() < 0.5:
            toxic = {**draw.choice(TOXICS), "name": f"t{number}", "stream": draw.choice(["upstream", "downstream"])}
            server.value("POST", path, toxic)
            present.append(toxic["name"])
        elif present and draw.random() < 0.5:
            server.value("DELETE", f"{path}/{present.pop(draw.randrange(len(present)))}")
        elif present:
            server.value("PATCH", f"{path}/{draw.choice(present)}", {"toxicity": draw.choice([0, 0.1, 1])})
        else:
            server.value("POST", "/reset")
    server.value("POST", "/reset")


def fault_changes(server, draw, count):
    """Adds, replaces and removes faults and profiles of the proxy, and moves its clock."""
    path, present = "/v1/proxies/busy", []
    server.value("DELETE", f"{path}/profile")
    for _ in range(count):
        choice = draw.random()
        if len(present) < 4 and choice < 0.4 or not present:
            present.append(f"f{draw.randrange(1 << 30)}")
            server.value("PUT", f"{path}/faults/{present[-1]}", draw.choice(FAULTS))
        elif choice < 0.6:
            server.value("DELETE", f"{path}/faults/{present.pop(draw.randrange(len(present)))}")
        elif choice < 0.8:
            server.value("PUT", f"{path}/faults/{draw.choice(present)}", draw.choice(FAULTS))
        elif choice < 0.9:
            phases = [{"name": f"p{place}", "for": "200 ms", "faults": [draw.choice(FAULTS)]} for place in range(2)]
            server.value("PUT", f"{path}/profile", {"name": "phases", "phases": phases, "repeat": True})
        else:
            server.value("POST", f"{path}/clock", {"action": draw.choice(["pause", "resume", "restart"])})
    server.value("DELETE", f"{path}/profile")
    for name in present:
        server.value("DELETE", f"{path}/faults/{name}")


def changes(change, options):
    traffic = busy.Busy(options.connections)
    with Server() as server:
        traffic.begin(server.proxy("busy", f"127.0.0.1:{traffic.upstream}"))
        start = time.perf_counter()
        change(server, random.Random(7), options.changes)
        seconds = time.perf_counter() - start
        problems, count = traffic.end()
    verdict("changes", not problems,
            f"{options.changes} changes in {seconds:.0f} s on {options.connections} connections with {count / 1e6:.0f} MB: "
            f"{len(problems)} lost a byte or were dropped {problems[:3] if problems else ''}")


def ratio(pairs):
    """The mean of the first values as a part of that of the second ones, and its standard error."""
    beside, without = zip(*pairs)
    error = math.hypot(*(statistics.stdev(side) / statistics.fmean(side) for side in (beside, without))) / len(pairs) ** 0.5
    found = statistics.fmean(beside) / statistics.fmean(without)
    return found, found * error


def speed(options):
    words = "--threads 1 --seed 1"
    run = Peer("run", "", "{squall} run {folder}/none.json --listen 127.0.0.1:{listen} --upstream 127.0.0.1:{upstream} " + words,
               {"none.json": '{"name": "none"}'})
    serve = Peer("serve", "", "{squall} serve --port {control} --config {folder}/proxies.json " + words,
                 {"proxies.json": '[{"name": "one", "listen": "127.0.0.1:{listen}", "upstream": "127.0.0.1:{upstream}"}]'})
    machine.wait_for_ended_connections()
    # New connections last: those that have ended disturb the others for a minute.
    for case, figure in {"down1": "MB/s", "down8": "MB/s", "up8": "MB/s", "rr1": "trips/s", "rr64": "trips/s", "conn": "conn/s"}.items():
        pairs, starts = [], 0
        while starts < 3 or starts < options.starts and ratio(pairs)[1] > 0.01:
            starts += 1
            with (programs.Backend() as backend, programs.Proxy(run, backend.port) as alone,
                  programs.Proxy(serve, backend.port) as served, contextlib.closing(Browser()) as browser):
                browser.open(f"http://127.0.0.1:{served.control}/")
                for turn in range(options.turns):
                    found = {}
                    for proxy in (alone, served) if turn % 2 else (served, alone):
                        found[proxy] = cases.run(case, proxy, backend, SPEED)[figure]
                    pairs.append((found[served], found[alone]))
                browser.until("cards.get('one').sample.down > 0", "the page has seen the traffic")
                if browser.errors:
                    verdict("speed", False, f"the page reports {browser.errors[0]}")
        part, error = ratio(pairs)
        beside, without = (statistics.fmean(side) for side in zip(*pairs))
        verdict("speed", part >= 0.97, f"{case}: {beside:,.0f} {figure} of {without:,.0f} by `squall run`: {part:.1%} ± {error:.1%}, "
                f"means of {len(pairs)} pairs in {starts} starts")


def main():
    parts = {
        "proxies": lambda _: proxies(),
        "stuck": lambda _: stuck(),
        "changes": lambda options: changes(toxic_changes, options),
        "v1": lambda options: changes(fault_changes, options),
        "speed": speed,
    }
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", nargs="*", choices=[*parts, []], help="the parts; all by default")
    parser.add_argument("--changes", type=int, default=10_000)
    parser.add_argument("--connections", type=int, default=1_000)
    parser.add_argument("--starts", type=int, default=12, help="how often the programs are started for each speed, at most")
    parser.add_argument("--turns", type=int, default=40, help="the samples of each speed in each start")
    options = parser.parse_args()
    programs.prepare()
    for part in options.part or parts:
        print(f"== {part}")
        parts[part](options)
    finish()


if __name__ == "__main__":
    main()
