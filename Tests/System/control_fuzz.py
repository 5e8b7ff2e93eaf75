#!/usr/bin/env python3
"""Whether `squall serve` survives 100,000 requests that are meant to harm it, and stays as it was.

    make control-fuzz                                         about 5 minutes
    python3 Tests/System/control_fuzz.py --requests 5000        fewer of them
    python3 Tests/System/control_fuzz.py --seed 7 --part raw    one part: described or raw

described  One in eight: schemathesis makes requests for every route of /v1/openapi.json, by its schemas and against them.
           Statuses, media types and bodies have to be those of the description.
raw        Bytes on sockets (kit/garbage.py): mutated JSON for both APIs, pipelined; methods, targets, header fields, lengths
           and chunks that are wrong; requests that are flipped, cut short, slow or huge; and no HTTP at all.

What has to hold:
    alive        the process lives, and answers a usual request after each thousand
    errors       no 500, and no other 5xx without a reason; Toxiproxy's own 500 for an address that can't be listened on counts
                 as one with a reason, on its routes
    responses    each well-framed request is answered, in order; bodies are whole, and JSON where they say so
    memory       after all requests, with its state reset, it is at most 10 % and 8 MiB above that after a fifth of them
    descriptors  none is left when clients and proxies have gone

Everything is in a network of its own, with loopback alone, so that no proxy reaches outside. Exits 1 if something doesn't hold.
"""
import argparse, asyncio, collections, contextlib, json, os, random, re, shutil, signal, socket, subprocess, sys
import tempfile, time
from urllib.parse import quote

import kit.server
from kit import garbage, machine, network, programs

CLIENTS = os.path.join(programs.ROOT, ".build", "schemathesis")
MEMORY_PART, MEMORY_MORE, PATIENCE, WORKERS, STEP = 0.10, 8 << 20, 30, 32, 1_000
HEAD = re.compile(rb"HTTP/1\.[01] (\d\d\d) [^\r\n]*\r\n")


class Findings:
    """What was counted, and what doesn't hold: each problem once, with its first request and response."""

    def __init__(self):
        self.counts, self.statuses, self.problems, self.shown = collections.Counter(), collections.Counter(), {}, set()

    def problem(self, name, request=b"", response=b""):
        self.problems[name] = self.problems.get(name, 0) + 1
        if self.problems[name] == 1:
            print(f"BAD {name}\n    request:  {bytes(request)[:1500]!r}\n    response: {bytes(response)[:1500]!r}", flush=True)

    def status(self, status, body, request):
        """Judges one response."""
        self.statuses[status] += 1
        if status < 500:
            return
        text = body.decode(errors="replace")
        # The form of an error of Toxiproxy's routes, which those of /v1 never have.
        if status == 500 and '"error":"listen ' not in text:
            self.problem(f"a response 500: {re.sub('[0-9]+', 'N', text)[:80]}", request, body)
        elif not text.strip():
            self.problem(f"a response {status} without a reason", request, body)


class Server(kit.server.Server):
    """`squall serve` in a folder of its own."""

    def __init__(self, seed, findings):
        self.findings = findings
        self.folder = tempfile.mkdtemp(prefix="squall-control-fuzz-")
        self.errors = open(os.path.join(self.folder, "errors"), "w+b")
        # One arena that is trimmed: what glibc keeps of freed bodies of megabytes would hide what the server keeps.
        allocator = {"MALLOC_ARENA_MAX": "1", "MALLOC_TRIM_THRESHOLD_": "131072"}
        super().__init__("--seed", str(seed), cwd=self.folder, env={**os.environ, **allocator}, stderr=self.errors)

    def __exit__(self, *_):
        super().__exit__()
        self.errors.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def call(self, method, path, body=None):
        """The status, and the content as it came."""
        response, content = self.exchange(method, path, body)
        return response.status, content

    def reset(self, proxies=()):
        """Gives it these proxies, and no other one and no stored profile."""
        status, body = self.call("PUT", "/v1/snapshot", {"proxies": list(proxies), "profiles": {}})
        if status != 200:
            self.findings.problem("the state can't be replaced: " + re.sub("[“:].*", "", json.loads(body)["detail"]),
                                  self.call("GET", "/v1/snapshot")[1], body)
            for name in json.loads(self.call("GET", "/proxies")[1]):
                self.call("DELETE", "/v1/proxies/" + quote(name, safe=""))

    def descriptors(self, wanted, patience=70):
        """Its descriptors, once they are as few as `wanted`, or when those that wait for a peer have gone as well: a
        connection of which nothing is heard lives for 60 s (docs/limits.md)."""
        end = time.monotonic() + patience
        while True:
            count = machine.descriptors(self.process.pid)
            if count <= wanted or time.monotonic() > end:
                return count
            time.sleep(0.1)

    def settled_descriptors(self):
        """Its descriptors, once they have stayed the same for half a second: the first request with a body makes the runtime's
        timer, which can be later than the response."""
        count, since = machine.descriptors(self.process.pid), time.monotonic()
        while time.monotonic() - since < 0.5:
            time.sleep(0.02)
            if (now := machine.descriptors(self.process.pid)) != count:
                count, since = now, time.monotonic()
        return count

    def is_alive(self):
        if self.process.poll() is not None:
            return False
        try:
            return self.call("GET", "/version") == (200, b'{"version": "2.12.0"}\n')
        except OSError:
            return False


# Raw bytes


class Ended(Exception):
    """The server has closed the connection."""


async def response(reader, method):
    """The next response: status, fields, body."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as error:
        raise Ended(bytes(error.partial)) from None
    found = HEAD.match(head)
    if not found:
        raise ValueError(f"no response begins with {head[:80]!r}")
    status = int(found[1])
    fields = {key.strip().lower(): value.strip() for key, _, value in
              (line.partition(b":") for line in head.split(b"\r\n")[1:] if line)}
    length = fields.get(b"content-length")
    is_empty = method == "HEAD" or status in (204, 304) or status < 200
    body = b"" if is_empty or length is None else await reader.readexactly(int(length))
    return status, fields, body


def judge(findings, status, fields, body, request):
    findings.status(status, body, request)
    if b"json" in fields.get(b"content-type", b"") and body:
        try:
            json.loads(body)
        except ValueError:
            findings.problem("a body that says it is JSON and isn't", request, body)


async def replies(findings, exchange, reader):
    """Reads and judges what comes back."""
    sent = b"".join(exchange.pieces)
    if exchange.methods is None:
        data = await reader.read(-1)
        if data and not HEAD.match(data):
            findings.problem("what comes back is no response", sent, data)
        for found in HEAD.finditer(data):
            head, _, body = data[found.start():].partition(b"\r\n\r\n")
            judge(findings, int(found[1]), {}, body[:body.find(b"HTTP/1.1 ")] if b"HTTP/1.1 " in body else body, sent)
        return
    for number, method in enumerate(exchange.methods):
        try:
            status, fields, body = await response(reader, method)
        except Ended as end:
            if exchange.kind == "json" or end.args[0]:
                findings.problem(f"{exchange.kind}: the connection ended before a response", sent, end.args[0])
            return
        except ValueError as error:
            after = exchange.methods[number - 1] if number else "nothing"
            return findings.problem(f"bytes between responses, after one to {after}", sent, str(error).encode())
        judge(findings, status, fields, body, sent if number == 0 else b"")
        if fields.get(b"connection") == b"close":
            if exchange.kind == "json" and status != 413:
                findings.problem("json: a well-framed request closed the connection", sent, body)
            return
    if exchange.ending == "half" and (rest := await reader.read(-1)):
        findings.problem(f"bytes after the last response, to {exchange.methods[-1]}", sent, rest)


async def talk(findings, exchange, port):
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 26)
    try:
        for number, piece in enumerate(exchange.pieces):
            if number and exchange.pauses:
                await asyncio.sleep(exchange.pauses)
            writer.write(piece)
            with contextlib.suppress(ConnectionError):
                await writer.drain()
        if exchange.ending == "half":
            with contextlib.suppress(OSError):
                writer.write_eof()
        if exchange.ending in ("read", "half"):
            await asyncio.wait_for(replies(findings, exchange, reader), PATIENCE)
        elif exchange.ending == "first":
            await asyncio.wait_for(reader.read(1 << 16), PATIENCE)
        elif exchange.ending == "reset":
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    except (ConnectionError, asyncio.IncompleteReadError) as error:
        findings.counts["resets"] += 1
        if exchange.kind == "json":
            findings.problem(f"json: {type(error).__name__}", b"".join(exchange.pieces))
    except asyncio.TimeoutError:
        findings.problem(f"{exchange.kind}, {exchange.ending}: nothing more came for {PATIENCE} s", b"".join(exchange.pieces))
    finally:
        writer.transport.abort() if exchange.ending == "reset" else writer.close()


async def traffic(server, draw):
    """A few bytes through some of the proxies."""
    with contextlib.suppress(OSError, ValueError):
        listed = json.loads((await asyncio.to_thread(server.call, "GET", "/proxies"))[1])
        ports = [proxy["listen"].rsplit(":", 1)[1] for proxy in listed.values() if proxy["listen"].startswith("127.0.0.1:")]
        for port in draw.sample(ports, min(4, len(ports))):
            with contextlib.suppress(OSError, asyncio.TimeoutError):
                reader, writer = await asyncio.wait_for(asyncio.open_connection("127.0.0.1", int(port)), 1)
                with contextlib.closing(writer):
                    writer.write(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n" * 40)
                    await asyncio.wait_for(reader.read(2_000), 0.2)


async def raw(findings, server, made, wanted, draw):
    """So many requests, with their connections side by side."""
    left = wanted

    async def work():
        nonlocal left
        while left > 0 and server.process.poll() is None:
            exchange = made.exchange()
            count = len(exchange.methods or [None])
            left -= count
            findings.counts[exchange.kind] += count
            await talk(findings, exchange, server.port)

    await asyncio.gather(traffic(server, draw), *(work() for _ in range(WORKERS)))
    return wanted - left


# Requests by the description


class Described:
    """schemathesis over /v1/openapi.json."""

    def __init__(self, server, made, findings):
        sys.path.insert(0, CLIENTS)
        import requests, schemathesis
        from schemathesis.checks import load_all_checks, CHECKS
        load_all_checks()
        self.server, self.made, self.findings = server, made, findings
        self.session, self.schemathesis, self.requests = requests.Session(), schemathesis, requests
        self.failure = schemathesis.core.failures.FailureGroup
        self.schema = schemathesis.openapi.from_dict(json.loads(server.call("GET", "/v1/openapi.json")[1]))
        self.base = f"http://127.0.0.1:{server.port}"
        self.schema.config.update(base_url=self.base)
        self.operations = [found.ok() for found in self.schema.get_all_operations()]
        # Requests without parameters are all the same, and made once.
        self.runs = sum(2 if found.body else 1 for found in self.operations if "{" in found.path or found.body or list(found.query))
        self.checks = CHECKS.get_by_names(["not_a_server_error", "status_code_conformance", "content_type_conformance",
                                           "response_schema_conformance"])

    def adapted(self, value, key=""):
        """The value with names that exist, faults that hold, and addresses of this machine."""
        made = self.made
        if isinstance(value, dict):
            value = {key: self.adapted(member, key) for key, member in value.items()}
            if value.get("kind") in garbage.fuzz.KINDS and made.maybe(0.5):
                return made.fault()
            if "until" in value:
                return (made.wait() if made.maybe(0.5) else value | {"timeout": "1 ms"})
            return value
        if isinstance(value, list):
            return [self.adapted(member, key) for member in value]
        if isinstance(value, str) and key.casefold() in ("listen", "upstream"):
            return made.address(key.casefold()) if made.maybe(0.9) or ":" in value else value
        if isinstance(value, str) and key == "name" and made.maybe(0.7):
            return made.pick(garbage.PROXIES)
        return value

    def case(self, case):
        made, operation = self.made, case.operation
        for key, pool in (("name", garbage.PROFILES if "profiles" in operation.path else garbage.PROXIES),
                          ("fault", garbage.FAULTS), ("number", ["1", "2", "x"])):
            if key in (case.path_parameters or {}) and made.maybe(0.8):
                case.path_parameters[key] = made.pick(pool)
        if not isinstance(case.body, self.schemathesis.core.NotSet):
            case.body = self.adapted(case.body)
        for key, pool in (("for", ["1ms", "3s", "25h"]), ("limit", ["1", "0"]), ("samples", ["100", "1"]), ("how", ["reset"])):
            if key in (case.query or {}) and made.maybe(0.5):
                case.query[key] = made.pick(pool)

    def send(self, case):
        self.case(case)
        is_stream = case.operation.path == "/v1/events"
        arguments = case.as_transport_kwargs(base_url=self.base)
        try:
            got = self.session.request(**arguments, timeout=PATIENCE, stream=is_stream, allow_redirects=False)
        except self.requests.exceptions.InvalidHeader:
            return  # Nothing has been sent.
        except self.requests.exceptions.RequestException as error:
            return self.findings.problem(f"described: {type(error).__name__}", repr(arguments).encode(), repr(error).encode())
        if is_stream and got.status_code == 200:
            got._content, got._content_consumed = next(got.iter_content(None)), True
            got.close()
        self.findings.counts["described"] += 1
        request = f"{got.request.method} {got.request.url} ".encode() + (
            got.request.body if isinstance(got.request.body, bytes) else str(got.request.body or "").encode())
        self.findings.status(got.status_code, got.content, request)
        try:
            case.validate_response(got, checks=self.checks)
        except self.failure as found:
            for failure in found.exceptions:
                self.findings.problem(f"{case.method} {case.operation.path}: {failure.title}", request,
                                      str(got.status_code).encode() + b" " + got.content)

    def run(self, wanted, seed):
        import hypothesis
        before = self.findings.counts["described"]
        settings = hypothesis.settings(max_examples=max(1, wanted // self.runs), database=None, deadline=None,
                                       phases=[hypothesis.Phase.generate], suppress_health_check=list(hypothesis.HealthCheck))
        for operation in self.operations:
            # Any text is right in a path and in a query, so that only bodies can be wrong.
            for mode in list(self.schemathesis.GenerationMode)[: 2 if operation.body else 1]:
                strategy = operation.as_strategy(generation_mode=mode)
                hypothesis.seed(seed)(settings(hypothesis.given(strategy)(self.send)))()
        self.session.close()
        return self.findings.counts["described"] - before


def run(options, findings):
    draw = random.Random(options.seed)
    with kit.server.served(garbage.fuzz.serve) as echo, Server(options.seed, findings) as server:
        ports = {"api": server.port, "echo": echo, "shared": [programs.free_port() for _ in range(3)]}
        made = garbage.Garbage(options.seed, ports)
        described = Described(server, made, findings) if options.part != "raw" else None
        server.reset()
        few, resident, begin = server.settled_descriptors(), {}, time.monotonic()
        done, rounds = 0, 10
        for round in range(1, rounds + 1):
            wanted = options.requests * round // rounds - done
            if described:
                server.reset(made.usual())
                done += described.run(wanted if options.part else wanted // 8, options.seed + round)
            while options.part != "described" and done < options.requests * round // rounds:
                server.reset(made.usual())
                done += asyncio.run(raw(findings, server, made, min(STEP, options.requests * round // rounds - done), draw))
                if not server.is_alive():
                    break
            if not server.is_alive():
                server.errors.seek(0)
                findings.problem(f"the process has ended or doesn't answer: {server.process.poll()}", b"", server.errors.read()[-1500:])
                return
            server.reset()
            left = server.descriptors(few) - few
            if left > 0:
                findings.problem(f"round {round}: {left} descriptors are left")
            resident[round] = machine.resident_bytes(server.process.pid)
            print(f"{done:7} requests in {time.monotonic() - begin:.0f} s, {resident[round] / 2**20:.1f} MiB, "
                  f"{max(0, left)} descriptors more", flush=True)
        if resident[rounds] > resident[2] * (1 + MEMORY_PART) + MEMORY_MORE:
            findings.problem(f"memory grew from {resident[2] / 2**20:.1f} to {resident[rounds] / 2**20:.1f} MiB")
        server.process.send_signal(signal.SIGINT)
        try:
            code = server.process.wait(10)
        except subprocess.TimeoutExpired:
            code = "no end within 10 s"
        if code:
            findings.problem(f"SIGINT: {code}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=100_000, help="how many (100,000)")
    parser.add_argument("--seed", type=int, default=1, help="the seed of all requests (1)")
    parser.add_argument("--part", choices=["described", "raw"], help="one part alone")
    options = parser.parse_args()
    programs.need_squall()
    if options.part != "raw" and not os.path.isdir(CLIENTS):
        raise SystemExit(f"{CLIENTS} is missing (scripts/install.sh control-fuzz installs it)")
    if network.enter().startswith("the machine's"):
        raise SystemExit("a network namespace of its own is needed, so that no proxy reaches outside")
    findings = Findings()
    run(options, findings)
    print("requests: " + ", ".join(f"{count} {name}" for name, count in findings.counts.most_common()))
    print("responses: " + ", ".join(f"{count} × {status}" for status, count in sorted(findings.statuses.items())))
    for name, count in findings.problems.items():
        print(f"BAD {count} × {name}")
    print("all hold" if not findings.problems else f"{len(findings.problems)} problems, seed {options.seed}")
    return 1 if findings.problems else 0


if __name__ == "__main__":
    sys.exit(main())
