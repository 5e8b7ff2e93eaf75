#!/usr/bin/env python3
"""Whether faults that are set while PostgreSQL and Redis are at work do what was asked, and the journal tells just that.

    make databases                                   about 2 minutes
    python3 Tests/System/databases.py late outage      some of the steps
    python3 Tests/System/databases.py --skip reset     leaves out the fault of a step: it has to be found missing

pgbench and redis-benchmark run through proxies of one `squall serve`. Each step sets a fault, by Toxiproxy's API on one of
them and by /v1 on the other, and takes it away; some are set on both at a time.

quiet    none                              nothing fails, and the journal stays empty
late     40 ms of latency for 3 s          the mean latency of both clients rises by a delay for each round trip, and falls
rate     a rate for 3 s                    no more bytes pass, and nothing fails
reset    a reset of live connections       each client loses its connections
ended    connections ended one by one      each client loses its connections; no fault is in the journal
outage   Wi-Fi off for 2 s, by itself      nothing comes for that time, nothing fails, and everything goes on
refused  2 s without the server            each client loses its connections, new ones are refused
disabled proxies disabled                  each client loses its connections, new ones are refused; no fault is in the journal
bytes    connections cut after some bytes  each client loses its connections at the byte that the journal names

Of each event of the journal the proxy, the fault, its kind, its direction, the connection (one of those that the client's
process has) and the time have to be right, and every connection on which the client saw a fault has one. /v1/journal and
/v1/events tell the same. In the end the sums of pgbench are compared: each transaction happened as a whole or not at all.
Exits 1 if something doesn't hold.
"""
import argparse, collections, contextlib, datetime, http.client, json, os, re, shutil, signal, socket, subprocess
import threading, time

import kit.server
from kit import postgres, programs, redis as cache
from kit.verdicts import finish, verdict

CLIENTS, SLACK, EARLY = 4, 0.5, 0.05
WAITING = "select count(*) from pg_stat_activity where wait_event_type = 'Lock'"
Window = collections.namedtuple("Window", "fault kind what direction numbers needed begin end offset waiting", defaults=(0,))


def sockets_of(pid):
    """The local addresses of a process's connections."""
    inodes = set()
    with contextlib.suppress(OSError):
        for name in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                if found := re.match(r"socket:\[(\d+)\]", os.readlink(f"/proc/{pid}/fd/{name}")):
                    inodes.add(found[1])
    found = set()
    for line in programs.machine.read("/proc/net/tcp").splitlines()[1:]:
        fields = line.split()
        if fields[9] in inodes and fields[3] == "01":
            found.add(f"127.0.0.1:{int(fields[1].split(':')[1], 16)}")
    return found


class Server(kit.server.Server):
    """`squall serve` with a proxy for each database, and a reader of its events."""

    def __init__(self, databases):
        super().__init__("--seed", "1", stderr=None)
        self.ports, self.last, self.streamed, self.journal = {}, 0, [], []
        for name, port in databases.items():
            self.ports[name] = int(self.proxy(name, f"127.0.0.1:{port}").rsplit(":", 1)[1])
        self.stream = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        self.stream.request("GET", "/v1/events")
        threading.Thread(target=self.follow, args=(self.stream.getresponse(),), daemon=True).start()

    def follow(self, response):
        kind = ""
        for line in response:
            if line.startswith(b"event: "):
                kind = line[7:].strip()
            elif line.startswith(b"data: ") and kind == b"fault":
                self.streamed.append(json.loads(line[6:]))

    def events(self):
        """The events since the last time."""
        found = []
        while True:
            part = self.value("GET", f"/v1/journal?after={self.last}")
            if part["lost"]:
                raise RuntimeError(f"the journal has lost {part['lost']} events")
            found += part["events"]
            self.last = part["next"]
            if not part["events"]:
                self.journal += found
                return found

    def numbers(self, proxy, client):
        """The connections that a client's process has through a proxy, by their numbers."""
        end = time.monotonic() + 10
        while time.monotonic() < end:
            listed = self.value("GET", f"/v1/connections?proxy={proxy}")["connections"]
            own = sockets_of(client.process.pid)
            numbers = {one["number"] for one in listed if one["client"] in own and one["state"] == "open"}
            if len(numbers) >= CLIENTS:
                return numbers
            time.sleep(0.05)
        raise RuntimeError(f"{proxy}: {len(numbers)} of {CLIENTS} connections after 10 s")


class Client:
    """A program at work whose lines are kept with their times, until it is ended."""

    def __init__(self, command):
        self.lines, self.wants_end = [], False
        self.process = programs.start(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        rest = b""
        while data := os.read(self.process.stdout.fileno(), 1 << 16):
            *lines, rest = re.split(rb"[\r\n]", rest + data)
            self.lines += [(time.time(), line.decode(errors="replace").strip()) for line in lines if line.strip()]
        if rest.strip():
            self.lines.append((time.time(), rest.decode(errors="replace").strip()))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        if self.process.stdout.closed:
            return
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(5)
        if self.process.poll() is None:
            self.process.kill()
        self.reader.join(5)
        programs.end(self.process)

    def samples(self, begin=0.0, end=1e12):
        """Rate and latency in ms of each interval that lies within these times."""
        found = []
        for moment, line in list(self.lines):
            if (sample := re.search(self.SAMPLE, line)) and moment - self.INTERVAL >= begin and moment <= end:
                found.append(tuple(float(value.replace("-nan", "0").replace("nan", "0")) for value in sample.groups()))
        return found

    def errors(self):
        return [line for _, line in list(self.lines) if re.search(self.ERROR, line)]

    def latency(self, begin=0.0, end=1e12):
        """The mean latency of requests that were answered within these times; None without any."""
        samples = [(rate, late) for rate, late in self.samples(begin, end) if rate]
        return sum(rate * late for rate, late in samples) / sum(rate for rate, _ in samples) if samples else None

    def rate(self, begin=0.0, end=1e12):
        samples = self.samples(begin, end)
        return sum(rate for rate, _ in samples) / len(samples) if samples else 0.0


class Pgbench(Client):
    """Transactions of seven statements: seven round trips."""

    NAME, TRIPS, INTERVAL, LOST = "postgres", 7, 1.0, "aborted in|while sending|could not receive"
    SAMPLE, ERROR = r"progress: .* s, ([\d.]+) tps, lat ([\d.]+) ms", "error|FATAL|aborted|reset by peer|unexpectedly"

    def __init__(self, port):
        super().__init__(["pgbench", "-h", "127.0.0.1", "-p", str(port), "-U", "squall", "-n", "-c", str(CLIENTS), "-T", "60",
                          "-P", "1", "postgres"])

    def lost(self):
        """How many of its connections it has lost; it goes on until the last one."""
        return len([line for _, line in list(self.lines) if re.search(r"client \d+ (script \d+ )?aborted", line)])


class RedisBenchmark(Client):
    """GETs of 1,000 bytes, one after the other on each connection."""

    NAME, TRIPS, INTERVAL = "redis", 1, 0.25
    SAMPLE, ERROR = r"rps=([\d.]+) .*avg_msec=(-?nan|[\d.]+)", "[Ee]rror|reset by peer|closed|refused"

    def __init__(self, port):
        super().__init__(["redis-benchmark", "-h", "127.0.0.1", "-p", str(port), "-c", str(CLIENTS), "-n", "1000000000", "-t", "get"])

    def lost(self):
        """It ends at a connection that it can't read from, which ends the others, and drops those that it can't write to."""
        return CLIENTS - len(sockets_of(self.process.pid))


class Suite:
    """The steps. Each has both clients at work, and compares what they saw with the journal."""

    def __init__(self, server, database, skipped):
        self.server, self.database, self.skipped = server, database, skipped
        self.step, self.windows = "", []

    @contextlib.contextmanager
    def clients(self):
        """Both clients, with the numbers of their connections."""
        with Pgbench(self.server.ports["postgres"]) as pgbench, RedisBenchmark(self.server.ports["redis"]) as redis:
            pgbench.numbers = self.server.numbers("postgres", pgbench)
            redis.numbers = self.server.numbers("redis", redis)
            yield pgbench, redis

    def set(self, method, path, body=None):
        """A request that sets a fault; none if its step is to be skipped."""
        if self.skipped != self.step:
            self.server.value(method, path, body)

    def take(self, path):
        if self.skipped != self.step:
            self.server.value("DELETE", path)

    def expect(self, client, fault, kind, what, begin, end, direction=None, numbers=None, needed=None, offset=None,
               waiting=0):
        """Events of one fault on a client's connections, of which `needed` have to be there; by default on each of them, but for
        so many that wait for another one and have no byte on their way."""
        numbers = client.numbers if numbers is None else numbers
        needed = numbers if needed is None else needed
        self.windows.append((client.NAME, Window(fault, kind, what, direction, numbers, needed, begin, end, offset, waiting)))

    def compare(self):
        """Whether the journal has the expected events and no others."""
        time.sleep(0.3)
        problems, seen = [], collections.Counter()
        for event in self.server.events():
            moment = datetime.datetime.fromisoformat(event["time"].replace("Z", "+00:00")).timestamp()
            fits = [
                (proxy, window) for proxy, window in self.windows
                if event["proxy"] == proxy and event["fault"] == window.fault and event["kind"] == window.kind
                and event["what"] == window.what and event["connection"] in window.numbers | window.needed
                and window.direction in (None, event["direction"])
                and window.begin - EARLY <= moment <= window.end + EARLY
                and (event["offset"] is None if window.offset is None else event["offset"] in window.offset)
            ]
            if not fits:
                problems.append(f"{self.distance(moment)} {json.dumps(event)} was not asked for")
            for proxy, window in fits:
                seen[proxy, window.fault, event["connection"]] += 1
        for proxy, window in self.windows:
            missing = [number for number in window.needed if not seen[proxy, window.fault, number]]
            if len(missing) > window.waiting:
                problems.append(f"{proxy}: no event of “{window.fault}” for the connections {missing}")
        names = collections.Counter((proxy, fault) for proxy, fault, _ in seen.elements())
        text = ", ".join(f"{count} × “{fault}” on {proxy}" for (proxy, fault), count in names.items()) or "nothing"
        verdict(self.step, not problems, "journal: " + (text if not problems else "; ".join(problems[:3])))
        self.windows = []

    def distance(self, moment):
        return ", ".join(f"{moment - window.begin:+.3f} s" for _, window in self.windows[:1])

    def unharmed(self, *clients):
        for client in clients:
            errors = client.errors()
            verdict(self.step, not errors and client.process.poll() is None,
                    f"{client.NAME}: no error" if not errors else f"{client.NAME}: {errors[:2]}")

    def losing(self, *clients, patience=5):
        for client in clients:
            end = time.monotonic() + patience
            while client.lost() < CLIENTS and time.monotonic() < end:
                time.sleep(0.1)
            errors = [error for error in client.errors() if "progress" not in error]
            verdict(self.step, client.lost() == CLIENTS,
                    f"{client.NAME}: {client.lost()} of {CLIENTS} connections lost: {errors[0][:100] if errors else 'no message'}")

    def refusing(self, wanted):
        """Whether new connections are refused, or not."""
        for name, port in self.server.ports.items():
            try:
                socket.create_connection(("127.0.0.1", port), timeout=5).close()
                found = "accepted"
            except OSError as error:
                found = "refused" if isinstance(error, ConnectionRefusedError) else str(error)
            verdict(self.step, (found == "refused") == wanted, f"{name}: a new connection is {found}")

    # The steps

    def quiet(self):
        with self.clients() as clients:
            time.sleep(3.2)
            self.unharmed(*clients)
            for client in clients:
                verdict(self.step, client.rate() > 0, f"{client.NAME}: {client.rate():.0f}/s, {client.latency():.2f} ms")

    def late(self):
        with self.clients() as (pgbench, redis):
            time.sleep(2.2)
            begin = time.time()
            self.set("POST", "/proxies/postgres/toxics", {"name": "late", "type": "latency", "attributes": {"latency": 40}})
            self.set("PUT", "/v1/proxies/redis/faults/late", {"kind": "latency", "stream": "upstream", "delay": "40 ms"})
            on = time.time()
            time.sleep(3.2)
            off = time.time()
            self.take("/proxies/postgres/toxics/late")
            self.take("/v1/proxies/redis/faults/late")
            end = time.time()
            time.sleep(2.5)
            self.unharmed(pgbench, redis)
            for client, direction in ((pgbench, "downstream"), (redis, "upstream")):
                before, during, after = client.latency(end=begin), client.latency(on + 0.2, off), client.latency(end + 0.4)
                least = 40 * client.TRIPS
                verdict(self.step, during and during >= 0.97 * least and before < least / 2 and after < least / 2,
                        f"{client.NAME}: {before or 0:.1f} ms, then {during or 0:.1f} (at least {least}), then {after or 0:.1f}")
                self.expect(client, "late", "latency", "delays", begin, on + SLACK, direction)

    def rate(self):
        with self.clients() as (pgbench, redis):
            time.sleep(1)
            begin = time.time()
            self.set("PUT", "/v1/proxies/postgres/faults/narrow",
                     {"kind": "bandwidth", "stream": "downstream", "rate": "16 kbit/s"})
            self.set("POST", "/proxies/redis/toxics", {"name": "narrow", "type": "bandwidth", "attributes": {"rate": 20}})
            on, passed = time.time(), self.passed()
            time.sleep(3)
            passed, off = {name: total - passed[name] for name, total in self.passed().items()}, time.time()
            self.take("/v1/proxies/postgres/faults/narrow")
            self.take("/proxies/redis/toxics/narrow")
            time.sleep(0.7)
            self.unharmed(pgbench, redis)
            for client, rate in ((pgbench, 2_000), (redis, 20_000)):
                # What may pass at once when a rate comes on counts as well.
                most = CLIENTS * (rate * (off - on) * 1.05 + 4_096)
                verdict(self.step, 0 < passed[client.NAME] <= most,
                        f"{client.NAME}: {passed[client.NAME]} bytes in {off - on:.1f} s (at most {most:.0f})")
                self.expect(client, "narrow", "bandwidth", "limits", begin, on + SLACK, "downstream")

    def passed(self):
        return {name: self.server.value("GET", f"/v1/proxies/{name}")["bytes"]["downstream"] for name in self.server.ports}

    def reset(self):
        with self.clients() as (pgbench, redis):
            time.sleep(1)
            begin = time.time()
            self.set("POST", "/proxies/postgres/toxics", {"name": "gone", "type": "reset_peer", "attributes": {"timeout": 0}})
            self.set("PUT", "/v1/proxies/redis/faults/gone", {"kind": "outage", "how": "reset"})
            self.losing(pgbench, redis)
            for client, kind in ((pgbench, "cut"), (redis, "outage")):
                self.expect(client, "gone", kind, "resets", begin, begin + 1 + SLACK)
            self.take("/proxies/postgres/toxics/gone")
            self.take("/v1/proxies/redis/faults/gone")

    def ended(self):
        with self.clients() as clients:
            for client, how in zip(clients, ("reset", "close")):
                for number in client.numbers:
                    with contextlib.suppress(RuntimeError):  # redis-benchmark ends at the first.
                        self.set("DELETE", f"/v1/proxies/{client.NAME}/connections/{number}?how={how}")
            self.losing(*clients)

    def outage(self):
        with self.clients() as (pgbench, redis):
            time.sleep(1.2)
            begin = time.time()
            self.set("PUT", "/v1/faults/wifi-off?for=2s", {"kind": "outage", "how": "silence"})
            on, before = time.time(), self.passed()
            # A transaction that waits for the lock of one behind the outage has sent its query and gets no answer.
            waiting = int(self.database.query("127.0.0.1", self.database.port, WAITING)[1])
            time.sleep(max(0, on + 1.8 - time.time()))
            within = {name: total - before[name] for name, total in self.passed().items()}
            time.sleep(max(0, on + 4.2 - time.time()))
            self.unharmed(pgbench, redis)
            after = self.passed()
            for client in (pgbench, redis):
                name = client.NAME
                verdict(self.step, within[name] == 0 and after[name] > before[name] and client.rate(on + 2.4) > 0,
                        f"{name}: {within[name]} bytes in the 1.8 s within, {after[name] - before[name]} afterwards, "
                        f"{client.rate(on + 2.4):.0f}/s again")
                self.expect(client, "wifi-off", "outage", "silences", begin, on + SLACK,
                            waiting=waiting if client is pgbench else 0)

    def refused(self):
        with self.clients() as (pgbench, redis):
            begin = time.time()
            self.set("PUT", "/v1/faults/away?for=2s", {"kind": "outage", "how": "refuse"})
            on = time.time()
            self.refusing(True)
            self.losing(pgbench, redis)
            time.sleep(max(0, on + 2.3 - time.time()))
            for client in (pgbench, redis):
                self.expect(client, "away", "outage", "refuses", begin, on + SLACK, numbers={None})
                self.expect(client, "away", "outage", "resets", begin, on + SLACK)
        self.refusing(False)

    def disabled(self):
        with self.clients() as clients:
            for name in self.server.ports:
                self.set("POST", f"/proxies/{name}", {"enabled": False})
            self.losing(*clients)
            self.refusing(True)
            for name in self.server.ports:
                self.set("PATCH", f"/v1/proxies/{name}", {"enabled": True})
        self.refusing(False)

    def bytes(self):
        with self.clients() as (pgbench, redis):
            begin, passed = time.time(), {client: self.streams(client) for client in (pgbench, redis)}
            self.set("POST", "/proxies/redis/toxics", {"name": "short", "type": "limit_data", "attributes": {"bytes": 100_000}})
            self.set("PUT", "/v1/proxies/postgres/faults/short",
                     {"kind": "cut", "stream": "downstream", "at": "256 KiB", "how": "reset"})
            self.losing(redis, pgbench, patience=30)
            self.expect(pgbench, "short", "cut", "resets", begin, time.time(), "downstream", offset={256 << 10})
            # A limit counts from where the fault comes on. The first cut ends the process.
            least = min(passed[redis].values()) + 100_000
            self.expect(redis, "short", "cut", "closes", begin, time.time(), "downstream", needed=set(),
                        offset=range(least, least + 100_000_000))
            self.take("/proxies/redis/toxics/short")
            self.take("/v1/proxies/postgres/faults/short")
            found = [event for event in self.server.value("GET", f"/v1/journal?after={self.server.last}")["events"]
                     if event["proxy"] == "redis" and event["fault"] == "short"]
            verdict(self.step, bool(found), f"redis: {len(found)} of its connections cut by bytes, "
                    f"at {', '.join(str(event['offset'] - passed[redis].get(event['connection'], 0)) for event in found)} after the count")

    def streams(self, client):
        listed = self.server.value("GET", f"/v1/connections?proxy={client.NAME}")["connections"]
        return {one["number"]: one["downstreamBytes"] for one in listed if one["number"] in client.numbers}

    def run(self, step):
        self.step = step
        getattr(self, step)()
        self.compare()

    def consistent(self):
        """The sums of pgbench, which each transaction leaves equal."""
        self.step = "sums"
        tables = ("accounts", "abalance"), ("tellers", "tbalance"), ("branches", "bbalance"), ("history", "delta")
        sums = [self.database.query("127.0.0.1", self.database.port, f"select coalesce(sum({column}), 0) from pgbench_{table}")
                for table, column in tables]
        count = self.database.query("127.0.0.1", self.database.port, "select count(*) from pgbench_history")[1].strip()
        values = [output.strip() for code, output, _ in sums]
        verdict("sums", len(set(values)) == 1 and values[0] != "" and int(count) > 0,
                f"{', '.join(f'{name} {value}' for (name, _), value in zip(tables, values))} in {count} transactions")


STEPS = ("quiet", "late", "rate", "reset", "ended", "outage", "refused", "disabled", "bytes")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("steps", nargs="*", choices=[*STEPS, []], help="the steps; all by default")
    parser.add_argument("--skip", choices=STEPS, help="set no fault in this step, which has to fail then")
    options = parser.parse_args()
    programs.need_squall()
    if missing := [name for name in ("pgbench", "psql", "redis-server", "redis-benchmark") if not shutil.which(name)]:
        raise SystemExit(f"missing: {', '.join(missing)} (scripts/install.sh databases installs them)")
    with postgres.Postgres() as database, cache.Redis() as redis:
        subprocess.run(["pgbench", "-i", "-q", "-s", "2", "-h", "127.0.0.1", "-p", str(database.port), "-U", "squall", "postgres"],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with Server({"postgres": database.port, "redis": redis.port}) as server:
            suite = Suite(server, database, options.skip)
            for step in options.steps or STEPS:
                suite.run(step)
            time.sleep(0.5)
            verdict("events", server.streamed == server.journal,
                    f"/v1/events and /v1/journal have the same {len(server.journal)} events"
                    if server.streamed == server.journal
                    else f"/v1/events has {len(server.streamed)} events, /v1/journal {len(server.journal)}")
            listed = server.value("GET", "/v1/proxies")["proxies"]
            verdict("state", not any(proxy["faults"] or proxy["toxics"] for proxy in listed), "no fault is left")
        suite.consistent()
    finish()


if __name__ == "__main__":
    main()
