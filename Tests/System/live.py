#!/usr/bin/env python3
"""Whether profiles change on live connections without a byte lost, and how soon.

    make live                                                  about 5 minutes
    python3 Tests/System/live.py --quick                         200 changes on 50 connections, to see that it works
    python3 Tests/System/live.py --changes 100 --connections 10  other numbers

First `squall run` takes 10,000 profiles at SIGHUP, one after the other, while 1,000 connections to an echo server are busy.
Each profile is a random choice of faults that hold bytes and let them go. Every connection compares what comes back with
what it has sent; at the end the last profile has no fault, and each is closed and has to have everything.

Then a download runs through `squall run --watch`, whose rate is edited 100 times: counted from 100 ms after an edit, the
bytes of 300 ms are to be those of the new rate within 10 %.

Exits 1 if a connection is dropped, a byte is lost, doubled or changed, or a rate comes late.
"""
import argparse, asyncio, json, os, random, select, signal, socket, statistics, subprocess, sys, tempfile, time

from kit import programs

PATTERN = random.Random(1).randbytes(1 << 16) * 2
CHUNK, AHEAD = 2_048, 16_384
# None of them ends a connection, or holds it for longer than it is there.
FAULTS = [
    {"name": "latency", "kind": "latency", "delay": "5 ms", "jitter": "4 ms"},
    {"name": "rate", "kind": "bandwidth", "rate": "2 MB/s"},
    {"name": "together", "kind": "bandwidth", "rate": "50 MB/s", "per": "proxy"},
    {"name": "client", "kind": "bandwidth", "rate": "40 MB/s", "per": "client"},
    {"name": "slices", "kind": "slice", "size": "5 KB", "pause": "1 ms"},
    {"name": "loss", "kind": "loss", "rate": "1 %", "rtt": "4 ms"},
    {"name": "silence", "kind": "outage", "how": "silence", "when": {"chance": "10 %"}},
    {"name": "stall", "kind": "stall", "at": "300 KB", "for": "1 h", "when": {"chance": "30 %"}},
    {"name": "slow", "kind": "slow-reader", "rate": "3 MB/s"},
    {"name": "close", "kind": "slow-close", "by": "3 ms"},
    {"name": "late", "kind": "cut", "at": "1000 GiB"},
    {"name": "pattern", "kind": "cut", "pattern": {"hex": "00" * 32}},
    {"name": "http", "kind": "latency", "delay": "1 h", "when": {"http": {"method": "GET"}}},
]


class Run:
    """A `squall run` whose profile is in a file of ours."""

    def __init__(self, upstream, *options):
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, "live.json")
        self.edit([])
        self.process = subprocess.Popen(
            [programs.SQUALL, "run", self.path, "--listen", "127.0.0.1:0", "--upstream", f"127.0.0.1:{upstream}", *options],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.port = int(self.line("ready: ").split()[1].rsplit(":", 1)[1])

    def edit(self, faults):
        with open(self.path + ".new", "w") as file:
            json.dump({"name": "live", "seed": 1, "faults": faults}, file)
        os.rename(self.path + ".new", self.path)

    def line(self, start):
        line = self.process.stdout.readline()
        if not line.startswith(start):
            raise programs.Failure(f"“{line.strip()}” came in place of “{start}…”")
        return line

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        # A changed profile with faults of HTTP says what it doesn't reach.
        problems = [line for line in self.process.communicate()[1].splitlines()
                    if "too busy" not in line and "faults of HTTP" not in line]
        if self.process.returncode or problems:
            raise programs.Failure(f"squall ended with {self.process.returncode}: {problems[:3]}")


def serve(listener, download):
    """Sends back what comes, or endlessly, in a process of its own."""
    async def echo(reader, writer):
        try:
            while part := PATTERN if download else await reader.read(1 << 16):
                writer.write(part)
                await writer.drain()
        except ConnectionError:
            pass
        writer.close()

    async def run():
        server = await asyncio.start_server(echo, sock=listener)
        await server.serve_forever()

    child = os.fork()
    if child == 0:
        try:
            asyncio.run(run())
        finally:
            os._exit(0)
    return child


async def client(port, seed, stop, opened, totals):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    sent = received = 0
    space = asyncio.Event()

    def piece(offset, length):
        start = (offset + seed * 977) % (1 << 16)
        return PATTERN[start:start + length]

    async def send():
        nonlocal sent
        while not stop.is_set():
            if sent - received > AHEAD:
                space.clear()
                await space.wait()
            writer.write(piece(sent, CHUNK))
            sent += CHUNK
            await writer.drain()
        writer.write_eof()

    sending = asyncio.create_task(send())
    opened()
    while part := await reader.read(1 << 16):
        if part != piece(received, len(part)):
            raise programs.Failure(f"connection {seed} has other bytes from {received} on")
        received += len(part)
        space.set()
        if stop.is_set():
            await asyncio.sleep(0)
    await sending
    writer.close()
    if sent != received:
        raise programs.Failure(f"connection {seed} has {received} bytes of {sent}")
    totals.append(received)


async def change_often(options, run):
    stop, totals, times = asyncio.Event(), [], []
    ready = asyncio.Semaphore(0)
    clients = [asyncio.create_task(client(run.port, seed, stop, ready.release, totals))
               for seed in range(options.connections)]
    for _ in clients:
        await ready.acquire()
    loop, dice, last = asyncio.get_running_loop(), random.Random(2), None
    for number in range(options.changes):
        faults = last
        while faults == last:
            # A fault goes on where it is drawn twice in a row.
            faults = [fault for fault in FAULTS if dice.random() < 0.3]
        last = faults
        run.edit(faults)
        start = time.monotonic()
        run.process.send_signal(signal.SIGHUP)
        await loop.run_in_executor(None, run.line, "reloaded: ")
        times.append(time.monotonic() - start)
        if failed := [one for one in clients if one.done()]:
            raise programs.Failure(f"a connection ended at change {number + 1}: {failed[0].exception()}")
    if last:
        run.edit([])
        run.process.send_signal(signal.SIGHUP)
        await loop.run_in_executor(None, run.line, "reloaded: ")
    stop.set()
    await asyncio.gather(*clients)
    times.sort()
    print(f"{options.changes} changes on {options.connections} busy connections: 0 dropped, 0 bytes lost of "
          f"{sum(totals) / 1e6:,.0f} MB; a change took {statistics.median(times) * 1e3:.1f} ms in the median, "
          f"{times[int(len(times) * 0.99)] * 1e3:.1f} ms at p99")


def edit_rates(edits, run):
    """Edits the rate of a download; returns how far each was off, as a part of it."""
    stream = socket.create_connection(("127.0.0.1", run.port))
    count, errors = 0, []

    def receive(until):
        """The bytes that come until then. What waits for nobody is no part of a rate."""
        nonlocal count
        before = count
        while (left := until - time.monotonic()) > 0:
            if select.select([stream], [], [], left)[0]:
                part = stream.recv(1 << 16)
                start = count % (1 << 16)
                if not part or part != (PATTERN * 2)[start:start + len(part)]:
                    raise programs.Failure(f"other bytes from {count} on")
                count += len(part)
        return count - before

    for number in range(edits):
        rate = [1_000_000, 4_000_000, 2_000_000][number % 3]
        run.edit([{"name": "rate", "kind": "bandwidth", "stream": "downstream", "rate": f"{rate} B/s"}])
        start = time.monotonic()
        receive(start + 0.1)
        received = receive(start + 0.4)
        errors.append(abs(received / (rate * 0.3) - 1))
        run.line("reloaded: ")
    stream.close()
    return errors


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--changes", type=int, default=10_000)
    parser.add_argument("--connections", type=int, default=1_000)
    parser.add_argument("--edits", type=int, default=100)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    if options.quick:
        options.changes, options.connections, options.edits = 200, 50, 5
    programs.need_squall()
    failed = False
    for part in ("changes", "edits"):
        listener = socket.create_server(("127.0.0.1", 0), backlog=1_024)
        child = serve(listener, download=part == "edits")
        try:
            run = Run(listener.getsockname()[1], *(["--watch"] if part == "edits" else []))
            listener.close()
            try:
                if part == "changes":
                    asyncio.run(change_often(options, run))
                else:
                    errors = sorted(edit_rates(options.edits, run))
                    late = sum(error > 0.1 for error in errors)
                    print(f"{options.edits} edits with --watch: 0 bytes lost; from 100 ms on the new rate within "
                          f"{errors[len(errors) // 2]:.1%} in the median, {errors[-1]:.1%} at most; {late} late")
                    failed = failed or late > 0
            finally:
                run.end()
        except (programs.Failure, OSError) as failure:
            print(f"FAILED: {failure}")
            failed = True
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    sys.exit(failed)


if __name__ == "__main__":
    main()
