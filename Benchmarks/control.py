#!/usr/bin/env python3
"""How fast `squall serve` answers, and whether its changes lose a byte.

    make control                               about 3 minutes
    python3 Benchmarks/control.py stuck        one part: proxies, stuck or changes

proxies  2,000 proxies are populated, listed and deleted.
stuck    500 connections whose receivers have stopped reading, and a dial that hangs: adding, updating and removing toxics,
         resetting and listing, each 100 times. Meanwhile clients of another proxy are served.
changes  10,000 toxic changes on a proxy with 1,000 busy connections to an echo server; every connection compares what comes
         back with what it has sent.

Exits 1 if a limit of the issue list is missed: 1 s to populate, 50 ms to list and for the p99 of each call, no byte lost.
"""
import argparse, asyncio, contextlib, http.client, json, os, random, signal, socket, statistics, subprocess, sys, threading, time

from kit import programs

TOXICS = [
    {"type": "latency", "attributes": {"latency": 5, "jitter": 4}},
    {"type": "bandwidth", "attributes": {"rate": 2_000}},
    {"type": "bandwidth", "toxicity": 0.1, "attributes": {"rate": 0}},
    {"type": "slicer", "attributes": {"average_size": 5_000, "size_variation": 2_000, "delay": 1_000}},
    {"type": "slow_close", "attributes": {"delay": 3}},
    {"type": "limit_data", "attributes": {"bytes": 1 << 50}},
    {"type": "noop"},
]
PATTERN = random.Random(1).randbytes(1 << 16) * 2
failures = []


def check(text, holds):
    print(f"{'ok ' if holds else 'BAD'} {text}", flush=True)
    if not holds:
        failures.append(text)


class Server:
    """`squall serve` on a free port, and one connection to it."""

    def __init__(self):
        self.process = subprocess.Popen(
            [programs.SQUALL, "serve", "--port", "0", "--seed", "1"], stdout=subprocess.PIPE, text=True
        )
        self.port = int(self.process.stdout.readline().split()[1].rsplit(":", 1)[1])
        self.http = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        self.process.wait()

    def call(self, method, path, body=None):
        self.http.request(method, path, None if body is None else json.dumps(body))
        response = self.http.getresponse()
        content = response.read()
        if response.status >= 300:
            raise RuntimeError(f"{method} {path}: {response.status} {content}")
        return json.loads(content) if content else None

    def timed(self, method, path, body=None):
        start = time.perf_counter()
        self.call(method, path, body)
        return (time.perf_counter() - start) * 1e3

    def proxy(self, name, upstream):
        made = self.call("POST", "/proxies", {"name": name, "listen": "127.0.0.1:0", "upstream": upstream})
        return int(made["listen"].rsplit(":", 1)[1])


def proxies():
    with Server() as server:
        wanted = [{"name": f"p{i}", "listen": "127.0.0.1:0", "upstream": "127.0.0.1:9"} for i in range(2_000)]
        populate = server.timed("POST", "/populate", wanted)
        lists = [server.timed("GET", "/proxies") for _ in range(20)]
        check(f"2,000 proxies populated in {populate:.0f} ms", populate < 1_000)
        check(f"and listed in {statistics.median(lists):.1f} ms (median of 20)", statistics.median(lists) < 50)


def stuck():
    with Server() as server, contextlib.ExitStack() as stack:
        source = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=1_024))
        # A listener whose queue is full: a dial to it hangs.
        hung = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(4):
            dial = stack.enter_context(socket.socket())
            dial.setblocking(False)
            dial.connect_ex(hung.getsockname())

        def pour(peer):
            with contextlib.suppress(OSError):
                while True:
                    peer.sendall(PATTERN)

        def accept():
            with contextlib.suppress(OSError):
                while True:
                    threading.Thread(target=pour, args=(source.accept()[0],), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        port = server.proxy("stuck", "127.0.0.1:%d" % source.getsockname()[1])
        for _ in range(500):
            stack.enter_context(socket.create_connection(("127.0.0.1", port)))
        hanging = server.proxy("hangs", "127.0.0.1:%d" % hung.getsockname()[1])
        stack.enter_context(socket.create_connection(("127.0.0.1", hanging)))
        backend = stack.enter_context(programs.Backend())
        other = server.proxy("other", f"127.0.0.1:{backend.port}")
        served = []
        ends = threading.Event()

        def clients():
            while not ends.is_set():
                served.append(programs.load("connect", other, 1, 100, "client"))

        client = threading.Thread(target=clients)
        client.start()
        times = {}
        for _ in range(100):
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
        ends.set()
        client.join()
        for name, values in times.items():
            values.sort()
            p99 = values[int(len(values) * 0.99) - 1]
            check(f"{name}: median {statistics.median(values):.1f} ms, p99 {p99:.1f} ms", p99 < 50)
        failed = sum(run["failed"] for run in served)
        check(f"{sum(run['done'] for run in served)} clients of another proxy were served meanwhile", served and not failed)


class Busy:
    """A connection to an echo server that compares what comes back."""

    def __init__(self, reader, writer):
        self.reader, self.writer, self.sent, self.received, self.ends = reader, writer, 0, 0, False

    async def send(self):
        while not self.ends:
            if self.sent - self.received < 16_384:
                start = self.sent % (1 << 16)
                self.writer.write(PATTERN[start : start + 2_048])
                self.sent += 2_048
                await self.writer.drain()
            await asyncio.sleep(0.02)
        self.writer.write_eof()

    async def receive(self):
        while data := await self.reader.read(1 << 16):
            start = self.received % (1 << 16)
            if PATTERN[start : start + len(data)] != data:
                return "changed"
            self.received += len(data)
        return "whole" if self.received == self.sent else f"{self.sent - self.received} bytes lost"

    async def run(self):
        _, result = await asyncio.gather(self.send(), self.receive())
        return result


async def busy(server, count, changes):
    async def echo(reader, writer):
        with contextlib.suppress(OSError):
            while data := await reader.read(1 << 16):
                writer.write(data)
                await writer.drain()
            writer.write_eof()

    listener = await asyncio.start_server(echo, "127.0.0.1", 0, backlog=4_096)
    port = server.proxy("busy", "127.0.0.1:%d" % listener.sockets[0].getsockname()[1])
    links = [Busy(*await asyncio.open_connection("127.0.0.1", port)) for _ in range(count)]
    tasks = [asyncio.create_task(link.run()) for link in links]
    draw = random.Random(7)

    def change():
        present = []
        start = time.perf_counter()
        for number in range(changes):
            path = "/proxies/busy/toxics"
            if len(present) < 4 and draw.random() < 0.5:
                toxic = {**draw.choice(TOXICS), "name": f"t{number}", "stream": draw.choice(["upstream", "downstream"])}
                server.call("POST", path, toxic)
                present.append(toxic)
            elif present and draw.random() < 0.5:
                server.call("DELETE", f"{path}/{present.pop(draw.randrange(len(present)))['name']}")
            elif present:
                server.call("PATCH", f"{path}/{draw.choice(present)['name']}", {"toxicity": draw.choice([0, 0.1, 1])})
            else:
                server.call("POST", "/reset")
        server.call("POST", "/reset")
        return time.perf_counter() - start

    seconds = await asyncio.get_running_loop().run_in_executor(None, change)
    for link in links:
        link.ends = True
    results = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 120)
    total = sum(link.received for link in links)
    listener.close()
    bad = [result for result in results if result != "whole"]
    check(
        f"{changes} changes in {seconds:.0f} s on {count} connections with {total / 1e6:.0f} MB: "
        f"{len(bad)} lost a byte or were dropped {bad[:3] if bad else ''}",
        not bad,
    )


def changes(count=1_000, number=10_000):
    with Server() as server:
        asyncio.run(busy(server, count, number))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", nargs="*", choices=["proxies", "stuck", "changes", []], help="the parts; all by default")
    parser.add_argument("--changes", type=int, default=10_000)
    parser.add_argument("--connections", type=int, default=1_000)
    options = parser.parse_args()
    for part in options.part or ["proxies", "stuck", "changes"]:
        print(f"== {part}")
        if part == "changes":
            changes(options.connections, options.changes)
        else:
            {"proxies": proxies, "stuck": stuck}[part]()
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
