#!/usr/bin/env python3
"""What Squall promises, measured on the built program between stock programs.

    make acceptance                      every part, with a release build
    python3 Benchmarks/acceptance.py PART…   only these parts

Parts: cut body answer http-speed heads foreign half-close reset bandwidth shared scope wave trace slice latency silence
silent-cut half-open give-up hang full refuse postgres determinism resume cuts kill
throughput plan hour.
Prints a line for each promise with the figure that was measured; exits 1 if one does not hold.
Needs curl, haproxy, nginx, postgresql and wget (Debian's packages; installed when missing and permitted). Loopback and free ports only.
"""
import hashlib, json, os, random, re, select, shutil, signal, socket, statistics, struct, subprocess, sys, tempfile
import threading, time
from concurrent.futures import ThreadPoolExecutor

from kit import postgres as database

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SQUALL = os.environ.get("SQUALL", os.path.join(ROOT, ".build", "release", "squall"))
FOLDER = tempfile.mkdtemp(prefix="squall-acceptance-")
failures = []


def verdict(part, holds, text):
    print(f"{'ok  ' if holds else 'FAIL'}  {part:12} {text}", flush=True)
    if not holds:
        failures.append(part)


def need(*programs):
    missing = [p for p in programs if not shutil.which(p)]
    if missing:
        print("installing", *missing, flush=True)
        subprocess.run(["apt-get", "install", "-y", "-qq", *missing], check=True, stdout=subprocess.DEVNULL)


class Squall:
    """`squall run` with a profile given as a dictionary, on a free port or where `listen` says; `upstream` is a port or an
    address."""

    def __init__(self, profile, upstream, *arguments, prefix=(), listen="127.0.0.1:0"):
        path = tempfile.mktemp(prefix="profile-", suffix=".json", dir=FOLDER)
        with open(path, "w") as file:
            json.dump({"name": "acceptance", **profile}, file)
        self.journal_path = path + "l"
        upstream = f"127.0.0.1:{upstream}" if isinstance(upstream, int) else upstream
        command = [SQUALL, "run", path, "--listen", listen, "--upstream", upstream]
        self.process = subprocess.Popen(
            [*prefix, *command, "--journal", self.journal_path, *arguments], stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        self.ready = time.monotonic()
        found = re.match(r"ready: 127\.0\.0\.1:(\d+)", line)
        self.port = int(found.group(1)) if found else None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(10)
        self.process.stdout.close()

    def journal(self):
        """The lines of the journal behind its header, times aside."""
        with open(self.journal_path) as file:
            lines = [json.loads(line) for line in file]
        assert lines[0]["event"] == "journal"
        return [{k: v for k, v in line.items() if k != "time"} for line in lines[1:]]


class Server:
    """A server of ours: `serve(connection)` runs in a thread for each connection."""

    def __init__(self, serve):
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = self.listener.getsockname()[1]
        self.serve = serve
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.run, args=(connection,), daemon=True).start()

    def run(self, connection):
        try:
            with connection:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self.serve(connection)
        except OSError:
            pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()


class Nginx:
    def __enter__(self):
        need("nginx")
        self.folder = tempfile.mkdtemp(prefix="nginx-", dir=FOLDER)
        os.chmod(FOLDER, 0o755)
        os.chmod(self.folder, 0o755)
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self.port = probe.getsockname()[1]
        paths = "".join(f"{kind}_temp_path {self.folder}/{kind};"
                        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        with open(f"{self.folder}/nginx.conf", "w") as file:
            file.write(f"daemon off; pid {self.folder}/pid; error_log {self.folder}/errors; events {{}} "
                       f"http {{ access_log off; {paths} "
                       f"server {{ listen 127.0.0.1:{self.port}; root {self.folder}/www; }} }}")
        os.mkdir(f"{self.folder}/www")
        self.process = subprocess.Popen(["nginx", "-c", f"{self.folder}/nginx.conf"], stderr=subprocess.DEVNULL)
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return self
            except OSError:
                time.sleep(0.01)
        raise RuntimeError("nginx does not start")

    def file(self, name, size):
        data = os.urandom(size)
        with open(f"{self.folder}/www/{name}", "wb") as file:
            file.write(data)
        return data

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


class Haproxy:
    """HAProxy in TCP mode in its best configuration for bulk: one thread, splice forced, pipes of 1 MiB."""

    def __init__(self, upstream):
        need("haproxy")
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self.port = probe.getsockname()[1]
        path = f"{FOLDER}/haproxy.cfg"
        with open(path, "w") as file:
            file.write("global\n nbthread 1\n tune.pipesize 1048576\n"
                       "defaults\n mode tcp\n timeout connect 5s\n timeout client 1h\n timeout server 1h\n"
                       " option splice-request\n option splice-response\n"
                       f"listen p\n bind 127.0.0.1:{self.port}\n server s 127.0.0.1:{upstream}\n")
        self.process = subprocess.Popen(["haproxy", "-db", "-f", path], stderr=subprocess.DEVNULL)
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            except OSError:
                time.sleep(0.01)
        raise RuntimeError("haproxy does not start")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


def echo(connection):
    while data := connection.recv(1 << 16):
        connection.sendall(data)


def source(connection):
    block = bytes(1 << 20)
    while True:
        connection.sendall(block)


def drain(port, seconds, counts=None, host="127.0.0.1"):
    """Receives for so many seconds from the moment of connecting from `host`; returns the bytes."""
    with socket.create_connection(("127.0.0.1", port), source_address=(host, 0)) as connection:
        start, total = time.monotonic(), 0
        buffer = bytearray(1 << 20)
        while (left := seconds - (time.monotonic() - start)) > 0:
            connection.settimeout(left)
            try:
                count = connection.recv_into(buffer)
            except TimeoutError:
                break
            if count == 0:
                break
            total += count
            if counts is not None:
                counts.append((time.monotonic(), total))
    return total


def cut():
    need("curl")
    count = 200
    generator = random.Random(2026)
    with Nginx() as nginx:
        nginx.file("file.bin", 12_000_000)
        for how in ("close", "reset"):
            offsets = [generator.randint(1_000_000, 10_000_000) for _ in range(count)]
            fault = {"kind": "cut", "stream": "downstream", "at": [f"{o} B" for o in offsets], "how": how}
            exact = 0
            with Squall({"faults": [fault]}, nginx.port) as squall:
                for offset in offsets:
                    url = f"http://127.0.0.1:{squall.port}/file.bin"
                    got = subprocess.run(["curl", "-s", "-i", url], stdout=subprocess.PIPE).stdout
                    exact += len(got) == offset
            verdict("cut", exact == count, f"{how}: {exact} of {count} clients hold exactly N bytes (curl, nginx)")


def body():
    """Offsets of the resource: behind other requests on one connection, in chunks, and after a range."""
    need("curl")
    count = 200
    generator = random.Random(2027)
    with Nginx() as nginx:
        size = 6_000_000
        data = nginx.file("file.bin", size)
        nginx.file("small.bin", 700)
        offsets = [generator.randint(1, size - 1) for _ in range(count)]
        fault = {"kind": "cut", "stream": "downstream", "at": [f"{o} B" for o in offsets], "of": "resource",
                 "when": {"http": {"path": "/file.bin"}}}
        exact = {"kept": 0, "ranged": 0}
        with Squall({"faults": [fault]}, nginx.port) as squall:
            url = f"http://127.0.0.1:{squall.port}"
            out = f"{FOLDER}/body"
            for number, offset in enumerate(offsets):
                if number % 2 == 0:
                    # Small requests first, on the same connection: curl keeps it.
                    command = ["curl", "-s"]
                    for _ in range(1 + number % 3):
                        command += [f"{url}/small.bin", "-o", f"{out}-small"]
                    start, kind, ranged = 0, "kept", []
                else:
                    start, kind = generator.randint(0, offset - 1), "ranged"
                    command, ranged = ["curl", "-s", "-r", f"{start}-"], []
                if os.path.exists(out):
                    os.remove(out)
                subprocess.run([*command, *ranged, f"{url}/file.bin", "-o", out])
                with open(out, "rb") as file:
                    exact[kind] += file.read() == data[start:offset]
            lines = squall.journal()
        told = [line["offset"] for line in lines if line.get("of") == "resource"]
        verdict("body", sum(exact.values()) == count,
                f"{sum(exact.values())} of {count} clients hold exactly N bytes of the resource: {exact['kept']} behind "
                f"other requests on a connection that is kept, {exact['ranged']} after a Range (curl, nginx)")
        verdict("body", told == offsets, "the journal tells the same offsets of the resource")


def answer():
    need("curl")
    with Nginx() as nginx:
        nginx.file("file.bin", 100_000)
        fault = {"kind": "http", "answer": {"status": 503, "header": {"Retry-After": "0"}},
                 "when": {"connection": "1..2"}}
        with Squall({"faults": [fault]}, nginx.port) as squall:
            got = subprocess.run(["curl", "-s", "--retry", "5", "-w", "%{http_code}", "-o",
                                  f"{FOLDER}/answer", f"http://127.0.0.1:{squall.port}/file.bin"],
                                 stdout=subprocess.PIPE, text=True).stdout
            answers = [line["connection"] for line in squall.journal() if line["what"] == "answers"]
        verdict("answer", got.startswith("200") and answers == [1, 2],
                f"503 with Retry-After on two connections: curl tries again and gets {got[:3]} on the third")


def http_speed():
    """The throughput with faults that read HTTP, each beside none in turns."""
    need("curl")
    never = {"http": {"path": "/other"}}
    profiles = {
        "none": [],
        "http": [{"kind": "http", "answer": {"status": 503}, "when": never}],
        "http, latency, loss": [{"kind": "http", "answer": {"status": 503}, "when": never},
                                {"kind": "latency", "delay": "0 s"},
                                {"kind": "loss", "rate": "0 %", "rtt": "1 ms", "link": "100 Gbit/s"}],
    }
    size = 2_000_000_000
    results = {name: [] for name in profiles}
    with Nginx() as nginx:
        with open(f"{nginx.folder}/www/large.bin", "wb") as file:
            file.truncate(size)
        for _ in range(3):
            for name, faults in profiles.items():
                with Squall({"faults": faults}, nginx.port, "--threads", "1") as squall:
                    seconds = float(subprocess.run(
                        ["curl", "-s", "-o", "/dev/null", "-w", "%{time_total}",
                         f"http://127.0.0.1:{squall.port}/large.bin"], stdout=subprocess.PIPE, text=True).stdout)
                    results[name].append(size / seconds / 1e6)
    for name, rates in results.items():
        rate = statistics.median(rates)
        verdict("http-speed", rate >= 500, f"one download by curl with {name}: {rate:,.0f} MB/s")


def processor_seconds(process):
    with open(f"/proc/{process.pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


NEVER = {"kind": "http", "answer": {"status": 503}, "when": {"http": {"path": "/never/matches"}}}


def heads():
    """What a head costs, and what chunks of a byte take of memory while nobody reads them."""
    interim = b"HTTP/1.1 100 Continue\r\n\r\n" * 20_000
    rounds = 20

    def hint(connection):
        connection.recv(1 << 16)
        for _ in range(rounds):
            connection.sendall(interim)

    with Server(hint) as server:
        costs = {}
        for name, faults in (("none", []), ("http", [NEVER])):
            with Squall({"faults": faults}, server.port) as squall:
                with socket.create_connection(("127.0.0.1", squall.port)) as connection:
                    connection.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
                    while connection.recv(1 << 20):
                        pass
                costs[name] = processor_seconds(squall.process) / (rounds * 20_000) * 1e6
    cost = costs["http"] - costs["none"]
    verdict("heads", cost < 1, f"an interim response costs {cost:.2f} µs more where a fault reads HTTP")

    clients = 40
    chunks = b"1\r\nx\r\n" * 100_000

    def endless(connection):
        connection.recv(1 << 16)
        connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while True:
            connection.sendall(chunks)

    def resident(process):
        with open(f"/proc/{process.pid}/status") as file:
            return int(re.search(r"VmRSS:\s+(\d+)", file.read()).group(1)) / 1024

    cut = {"kind": "cut", "stream": "downstream", "at": "1048576 MiB", "of": "body", "how": "reset"}
    with Server(endless) as server, Squall({"faults": [cut]}, server.port) as squall:
        before = resident(squall.process)
        connections = []
        for _ in range(clients):
            connection = socket.socket()
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            connection.connect(("127.0.0.1", squall.port))
            connection.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            connections.append(connection)
        time.sleep(5)
        each = (resident(squall.process) - before) / clients
        verdict("heads", each < 2, f"chunks of a byte that nobody reads take {each:.2f} MiB a connection")
        for connection in connections:
            connection.close()


def foreign():
    """What is added to the first message of another protocol by the shipped profiles that read HTTP."""
    messages = {
        "git": b"0032git-upload-pack /project.git\0host=example.org\0", "SSH": b"SSH-2.0-OpenSSH_9.9\r\n",
        "SMTP": b"EHLO client.example.org\r\n", "PostgreSQL": bytes.fromhex("0000000804d2162f"),
        "MySQL": b"J\0\0\0\x0a8.0.40\0", "Redis": b"PING\r\n", "RESP": b"*1\r\n$4\r\nPING\r\n",
        "MQTT": b"\x10\x10\0\4MQTT\4\2\0\x3c\0\4name", "ZooKeeper": b"ruok", "memcached": b"get foo\r\n",
        "AMQP": b"AMQP\0\0\x09\x01", "Kafka": b"\0\0\0\x14\0\x12\0\3\0\0\0\1\0\4name\0\0\0\0\0\0",
        "NATS": b'CONNECT {"verbose":false}\r\n', "IRC": b"NICK name\r\n", "rsync": b"@RSYNCD: 31.0\n",
        "TLS": b"\x16\3\1\0\xc4\1\0\0\xc0\3\3" + b"G" * 190,
    }
    folder = os.path.join(ROOT, "Profiles")
    profiles = {"never": {"faults": [NEVER]}}
    for part in ("", "presets"):
        for name in os.listdir(os.path.join(folder, part)):
            with open(os.path.join(folder, part, name)) if name.endswith(".json") else open(os.devnull) as file:
                text = file.read()
            if re.search(r'"(http|of)"', text) and not name.endswith(".schema.json"):
                profiles[name[:-5]] = json.loads(text)
    for profile, content in profiles.items():
        content.pop("$schema", None)
        slowest, altered = (0, ""), 0
        with socket.create_server(("127.0.0.1", 0)) as listener, \
                Squall(content, listener.getsockname()[1]) as squall:
            for name, message in messages.items():
                times = {squall.port: [], listener.getsockname()[1]: []}
                for _ in range(21):
                    for port in times:
                        with socket.create_connection(("127.0.0.1", port)) as client, listener.accept()[0] as server:
                            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                            server.settimeout(3)
                            begin, received = time.monotonic(), b""
                            client.sendall(message)
                            try:
                                while len(received) < len(message):
                                    received += server.recv(1 << 16)
                            except TimeoutError:
                                pass
                            times[port].append(time.monotonic() - begin)
                            altered += received != message
                through, direct = (statistics.median(values) for values in times.values())
                slowest = max(slowest, (through - direct, name))
        verdict("foreign", slowest[0] < 0.001 and not altered,
                f"{len(messages)} first messages through {profile}: {slowest[0] * 1e3:.3f} ms later at most in the "
                f"median ({slowest[1]}), {altered} altered or held")


def half_close():
    def serve(connection):
        data = b""
        while part := connection.recv(1 << 16):
            data += part
        connection.sendall(data)

    with Server(serve) as server, Squall({}, server.port) as squall:
        exact = 0
        for _ in range(50):
            data = os.urandom(100_000)
            with socket.create_connection(("127.0.0.1", squall.port)) as connection:
                connection.sendall(data)
                connection.shutdown(socket.SHUT_WR)
                back = b""
                while part := connection.recv(1 << 16):
                    back += part
            exact += back == data
        verdict("half-close", exact == 50, f"{exact} of 50 times 100 KB came back after the write side was shut down")


def reset():
    def serve(connection):
        connection.recv(1)
        connection.sendall(b"x" * 1000)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    with Server(serve) as server, Squall({}, server.port) as squall:
        resets = 0
        for _ in range(50):
            with socket.create_connection(("127.0.0.1", squall.port)) as connection:
                connection.sendall(b"?")
                try:
                    while connection.recv(1 << 16):
                        pass
                except ConnectionResetError:
                    resets += 1
        verdict("reset", resets == 50, f"{resets} of 50 resets of the server arrived as resets")
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with Squall({}, port) as squall:
        with socket.create_connection(("127.0.0.1", squall.port)) as connection:
            try:
                connection.recv(1)
                refused = False
            except ConnectionResetError:
                refused = True
        verdict("reset", refused, "an upstream that refuses is mirrored as a reset")


def bandwidth():
    seconds = 5
    with Server(source) as server:
        for text, rate in (("100 KB/s", 1e5), ("1 MB/s", 1e6), ("10 MB/s", 1e7), ("100 MB/s", 1e8)):
            fault = {"kind": "bandwidth", "stream": "downstream", "rate": text}
            with Squall({"faults": [fault]}, server.port) as squall:
                ratio = drain(squall.port, seconds) / (rate * seconds)
            verdict("bandwidth", abs(ratio - 1) <= 0.01, f"{text}: {ratio:.4f} of it over {seconds} s from the first byte")


def shared():
    seconds, rate = 5, 1_000_000
    fault = {"kind": "bandwidth", "stream": "downstream", "rate": "1 MB/s", "shared": True}
    with Server(source) as server, Squall({"faults": [fault]}, server.port) as squall:
        with ThreadPoolExecutor(4) as pool:
            parts = list(pool.map(lambda _: drain(squall.port, seconds), range(4)))
    ratio = sum(parts) / (rate * seconds)
    shares = ", ".join(f"{part / sum(parts):.3f}" for part in parts)
    verdict("shared", abs(ratio - 1) <= 0.01, f"four connections under one 1 MB/s: {ratio:.4f} of it (shares {shares})")


def scope():
    seconds, rate = 5, 1_000_000
    fault = {"kind": "bandwidth", "stream": "downstream", "rate": "1 MB/s", "per": "client"}
    hosts = ["127.0.0.2", "127.0.0.2", "127.0.0.3"]
    with Server(source) as server, Squall({"faults": [fault]}, server.port) as squall:
        with ThreadPoolExecutor(3) as pool:
            parts = list(pool.map(lambda host: drain(squall.port, seconds, host=host), hosts))
    ratios = [(parts[0] + parts[1]) / (rate * seconds), parts[2] / (rate * seconds)]
    verdict("scope", all(abs(ratio - 1) <= 0.01 for ratio in ratios),
            f"1 MB/s per client: {ratios[0]:.4f} of it for two connections of one, {ratios[1]:.4f} for one of another")


def wave():
    seconds = 6
    fault = {"kind": "bandwidth", "stream": "downstream",
             "wave": {"low": "1 MB/s", "high": "5 MB/s", "period": "2 s"}}
    with Server(source) as server, Squall({"faults": [fault]}, server.port) as squall:
        ratio = drain(squall.port, seconds) / (3e6 * seconds)
    verdict("wave", abs(ratio - 1) <= 0.01, f"1 to 5 MB/s within 2 s: {ratio:.4f} of their mean over {seconds} s")


def trace():
    seconds = 5
    path = os.path.join(ROOT, "Profiles", "traces", "12mbit.trace")
    for queue in ("1500 B", "256 KiB"):
        fault = {"kind": "trace", "stream": "downstream", "file": path, "queue": queue}
        with Server(source) as server, Squall({"faults": [fault]}, server.port) as squall:
            rate = drain(squall.port, seconds) * 8 / seconds / 1e6
        verdict("trace", abs(rate - 12) <= 0.2, f"of 12 Mbit/s with a queue of {queue}: {rate:.3f} Mbit/s over {seconds} s")


def slices():
    sizes = []
    fault = {"kind": "slice", "stream": "downstream", "size": "400 B", "spread": "300 B", "pause": "5 ms"}
    with Server(source) as server, Squall({"faults": [fault], "seed": 7}, server.port) as squall:
        with socket.create_connection(("127.0.0.1", squall.port)) as connection:
            while len(sizes) < 300:
                sizes.append(len(connection.recv(1 << 16)))
    # A reader that is kept from reading for 5 ms finds two slices in one.
    single = [size for size in sizes if size <= 700]
    verdict("slice", min(sizes) >= 100 and len(single) >= 270,
            f"of 100 B to 700 B every 5 ms: {len(single)} of {len(sizes)} reads are one slice, from {min(single)} B "
            f"to {max(single)} B")


def latency():
    def medians(port, count):
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            times = []
            for _ in range(count):
                start = time.perf_counter()
                connection.sendall(bytes(64))
                got = 0
                while got < 64:
                    got += len(connection.recv(64 - got))
                times.append(time.perf_counter() - start)
        return statistics.median(times) * 1000

    with Server(echo) as server, Squall({}, server.port) as plain:
        fault = {"kind": "latency", "delay": "10 ms"}
        with Squall({"faults": [fault]}, server.port) as slow:
            base, delayed = medians(plain.port, 200), medians(slow.port, 200)
    added = delayed - base
    verdict("latency", abs(added - 20) <= 0.3, f"10 ms each way: a 64-byte echo takes {added:.3f} ms more at the median")


def silence():
    outage = {"kind": "outage", "how": "silence"}
    pace = {"kind": "bandwidth", "stream": "downstream", "rate": "20 MB/s"}
    phases = [{"name": "before", "for": "1 s"}, {"name": "away", "for": "3 s", "faults": [outage]}, {"name": "after"}]
    size = 60_000_000
    data = os.urandom(1 << 20) * (size >> 20)
    with Server(lambda connection: connection.sendall(data)) as server:
        with Squall({"faults": [pace], "phases": phases}, server.port) as squall:
            digest, times, total = hashlib.sha256(), [], 0
            with socket.create_connection(("127.0.0.1", squall.port)) as connection:
                while part := connection.recv(1 << 20):
                    digest.update(part)
                    times.append(time.monotonic())
            total = len(data)
    gap = max((b - a, a - squall.ready) for a, b in zip(times, times[1:]))
    whole = digest.digest() == hashlib.sha256(data).digest()
    verdict("silence", 2.95 <= gap[0] <= 3.1 and whole,
            f"nothing passed for {gap[0]:.3f} s from second {gap[1]:.2f} on, then all {total} bytes: {whole}")


def refuse():
    outage = {"kind": "outage", "how": "refuse"}
    phases = [{"name": "before", "for": "1 s"}, {"name": "away", "for": "2 s", "faults": [outage]}, {"name": "after"}]
    with Server(echo) as server, Squall({"phases": phases}, server.port) as squall:
        live = socket.create_connection(("127.0.0.1", squall.port))
        live.sendall(b"hello")
        before = live.recv(16) == b"hello"
        try:
            live.settimeout(3)
            live.recv(1)
            was_reset = False
        except ConnectionResetError:
            was_reset = time.monotonic() - squall.ready < 1.2
        live.close()
        refused = tried = 0
        while time.monotonic() - squall.ready < 2.8:
            tried += 1
            try:
                socket.create_connection(("127.0.0.1", squall.port)).close()
            except ConnectionRefusedError:
                refused += 1
            time.sleep(0.02)
        time.sleep(max(0, 3.1 - (time.monotonic() - squall.ready)))
        with socket.create_connection(("127.0.0.1", squall.port)) as again:
            again.sendall(b"hello")
            healed = again.recv(16) == b"hello"
    verdict("refuse", before and was_reset and refused == tried and healed,
            f"live one reset: {was_reset}; {refused} of {tried} connects refused; healed: {healed}")


def postgres():
    """psql through a Unix socket on one side of the proxy, and TCP on the other."""
    if not database.binaries():
        subprocess.run(["apt-get", "install", "-y", "-qq", "postgresql"], check=True, stdout=subprocess.DEVNULL)
    need("psql")
    with database.Postgres() as server:
        reverse = database.programs.free_port()
        ways = {"TCP to unix:": ("127.0.0.1:0", f"unix:{server.socket}"),
                "unix: to TCP": (f"unix:{server.name(reverse)}", server.port)}
        for way, (listen, upstream) in ways.items():
            def through(profile):
                return Squall(profile, upstream, listen=listen)

            def place(squall):
                return ("127.0.0.1", squall.port) if squall.port else (server.folder, reverse)

            with through({"faults": [{"kind": "latency", "stream": "downstream", "delay": "200 ms"}]}) as squall:
                plain = server.milliseconds("127.0.0.1", server.port)
                late = server.milliseconds(*place(squall))
            verdict("postgres", 200 <= late <= 230, f"{way}: a query takes {late:.1f} ms with 200 ms of latency, "
                    f"{plain:.1f} ms without the proxy")
            with through({"faults": [{"kind": "cut", "stream": "downstream", "at": "1 MiB", "how": "reset"}]}) as squall:
                small = server.query(*place(squall), "select 6 * 7")
                large = server.query(*place(squall), "select repeat('x', 4000000)")
            lines = [(line["offset"], line["what"]) for line in squall.journal()]
            verdict("postgres", small[:2] == (0, "42\n") and large[0] == 2 and lines == [(1 << 20, "resets")],
                    f"{way}: a cut at 1 MiB ends the query that is longer: {large[2].strip().splitlines()[0]}")
            outage = {"kind": "outage", "how": "refuse"}
            with through({"phases": [{"name": "away", "for": "2 s", "faults": [outage]}, {"name": "after"}]}) as squall:
                away = server.query(*place(squall), "select 1")
                time.sleep(max(0, 2.2 - (time.monotonic() - squall.ready)))
                back = server.query(*place(squall), "select 1")
            verdict("postgres", away[0] == 2 and "Connection refused" in away[2] and back[:2] == (0, "1\n"),
                    f"{way}: an outage refuses, and afterwards queries are answered")
        left = [name for name in os.listdir(server.folder) if name.endswith(f".{reverse}")]
        verdict("postgres", not left, "no socket of the proxy is left")


def is_quiet(connection, seconds):
    """Whether nothing comes for so long: no byte, no end and no reset."""
    connection.settimeout(seconds)
    try:
        connection.recv(1, socket.MSG_PEEK)
        return False
    except TimeoutError:
        return True
    except OSError:
        return False
    finally:
        connection.settimeout(None)


def silent_cut():
    offsets = [0, 1, 1447, 1448, 65536, *(random.Random(4).randrange(2, 3_000_000) for _ in range(35))]
    data, served = os.urandom(4 << 20), []

    def serve(connection):
        served.append(connection)
        connection.sendall(data)
        threading.Event().wait(60)

    cut = {"kind": "cut", "stream": "downstream", "at": [f"{offset} B" for offset in offsets], "how": "silence"}
    exact = quiet = 0
    with Server(serve) as server, Squall({"faults": [cut]}, server.port) as squall:
        clients = []
        for offset in offsets:
            connection = socket.create_connection(("127.0.0.1", squall.port))
            received = bytearray()
            while len(received) < offset:
                received += connection.recv(1 << 20)
            exact += received == data[:offset]
            connection.sendall(b"hello")
            clients.append(connection)
        with ThreadPoolExecutor(80) as pool:
            quiet = sum(pool.map(lambda connection: is_quiet(connection, 2), clients))
            told = sum(pool.map(lambda connection: not is_quiet(connection, 0.5), served))
        words = [line["what"] for line in squall.journal()]
    verdict("silent-cut", exact == quiet == len(offsets) and told == 0 and words == ["falls silent"] * len(offsets),
            f"{exact} of {len(offsets)} got exactly their bytes, {quiet} heard nothing for 2 s, {told} servers were told")


def half_open():
    fault = {"kind": "half-open", "stream": "downstream", "at": "100000 B"}
    heard = []

    def serve(connection):
        connection.sendall(bytes(100_000 + 1))
        connection.shutdown(socket.SHUT_WR)
        while part := connection.recv(1 << 16):
            heard.append(part)

    with Server(serve) as server, Squall({"faults": [fault]}, server.port) as squall:
        connection = socket.create_connection(("127.0.0.1", squall.port))
        received = 0
        while received < 100_000:
            received += len(connection.recv(1 << 16))
        quiet = is_quiet(connection, 2)
        connection.sendall(b"hello")
        quiet = quiet and is_quiet(connection, 1)
        connection.close()
    verdict("half-open", received == 100_000 and quiet and b"".join(heard) == b"hello",
            f"{received} bytes, then nothing and no end for 3 s: {quiet}; the server heard {b''.join(heard)}")


def give_up():
    """Clients that give up in a silent outage, with 256 descriptors for the proxy."""
    count, batch, patience = 10_000, 50, 0.05
    outage = {"kind": "outage", "how": "silence"}
    with open(os.path.join(ROOT, "Profiles", "presets", "nlc-100-percent-loss.json")) as file:
        assert json.load(file)["faults"] == [outage]
    end = 60
    profile = {"phases": [{"name": "lost", "for": f"{end} s", "faults": [outage]}, {"name": "back"}]}
    with Server(echo) as server:
        with Squall(profile, server.port, prefix=["sh", "-c", 'ulimit -n 256; exec "$@"', "sh"]) as squall:
            refused = 0
            for _ in range(count // batch):
                clients = []
                for _ in range(batch):
                    try:
                        client = socket.create_connection(("127.0.0.1", squall.port), timeout=10)
                        client.sendall(b"?")
                        clients.append(client)
                    except OSError:
                        refused += 1
                readable, _, _ = select.select(clients, [], [], patience)
                refused += len(readable)
                for client in clients:
                    client.close()
            took = time.monotonic() - squall.ready
            during = took < end
            descriptors = len(os.listdir(f"/proc/{squall.process.pid}/fd"))
            time.sleep(max(0, end - took))
            start = time.monotonic()
            with socket.create_connection(("127.0.0.1", squall.port), timeout=10) as client:
                client.sendall(b"!")
                served = client.recv(1) == b"!"
            seconds = time.monotonic() - start
    verdict("give-up", refused == 0 and during,
            f"{count} clients give up in {took:.1f} s of a silent outage: {refused} were refused or reset "
            f"({descriptors} of 256 descriptors in use)")
    verdict("give-up", served and seconds < 2, f"the next is served in {seconds:.2f} s when the network is back")


def connecting(port, seconds):
    """How long a connection takes to be made; `None` when there is no answer in time."""
    start = time.monotonic()
    try:
        socket.create_connection(("127.0.0.1", port), seconds).close()
        return time.monotonic() - start
    except TimeoutError:
        return None


def hang():
    fault = {"kind": "connect", "how": "hang"}
    phases = [{"name": "before", "for": "1 s"}, {"name": "away", "for": "3 s", "faults": [fault]}, {"name": "after"}]
    with Server(echo) as server, Squall({"phases": phases}, server.port) as squall:
        live = socket.create_connection(("127.0.0.1", squall.port))
        time.sleep(max(0, 1.1 - (time.monotonic() - squall.ready)))
        with ThreadPoolExecutor(64) as pool:
            answers = list(pool.map(lambda _: connecting(squall.port, 1.5), range(64)))
        live.sendall(b"hello")
        alive = live.recv(16) == b"hello"
        patient = connecting(squall.port, 20)
        after = time.monotonic() - squall.ready
        again = connecting(squall.port, 5)
    answered = sum(answer is not None for answer in answers)
    verdict("hang", answered == 0 and alive and patient and after >= 4 and again is not None and again < 0.5,
            f"{answered} of 64 connects answered in 1.5 s; the live one goes on: {alive}; a patient one got through "
            f"after {after:.2f} s")


def full():
    limit = {"kind": "connection-limit", "limit": 3, "how": "hang"}
    with Server(echo) as server, Squall({"faults": [limit]}, server.port) as squall:
        def client():
            connection = socket.create_connection(("127.0.0.1", squall.port))
            connection.sendall(b"hello")
            return connection
        kept = [client() for _ in range(3)]
        answered = sum(connection.recv(16) == b"hello" for connection in kept)
        waiting = [client() for _ in range(5)]
        with ThreadPoolExecutor(5) as pool:
            quiet = sum(pool.map(lambda connection: is_quiet(connection, 1), waiting))
        served = 0
        for number, connection in enumerate(waiting):
            (kept + waiting)[number].close()
            served += connection.recv(16) == b"hello"
    verdict("full", answered == 3 and quiet == 5 and served == 5,
            f"{answered} of 3 answered at once, {quiet} of 5 waited, {served} of 5 answered when another had ended")


def determinism():
    need("curl")
    faults = [
        {"kind": "cut", "stream": "downstream", "between": ["100 KB", "3 MB"], "when": {"chance": "60 %"}},
        {"kind": "stall", "stream": "downstream", "at": "200 KB", "for": "20 ms", "when": {"chance": "50 %"}},
        {"kind": "latency", "delay": "2 ms", "jitter": "2 ms", "when": {"chance": "70 %"}},
        {"kind": "bandwidth", "rate": "400 MB/s", "burst": "64 KB", "when": {"connection": {"every": 3}}},
    ]

    def journal(port, seed, read_size):
        with Squall({"seed": seed, "faults": faults}, port) as squall:
            for _ in range(20):
                with socket.create_connection(("127.0.0.1", squall.port)) as connection:
                    connection.sendall(b"GET /file.bin HTTP/1.0\r\n\r\n")
                    try:
                        while connection.recv(read_size):
                            pass
                    except ConnectionResetError:
                        pass
        return squall.journal()

    with Nginx() as nginx:
        nginx.file("file.bin", 4_000_000)
        runs, stop = [], threading.Event()
        for number in range(20):
            load = []
            if number % 2:
                load = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(4)]
            runs.append(journal(nginx.port, 7, [700, 4096, 65536, 1 << 20][number % 4]))
            for process in load:
                process.kill()
                process.wait()
        other = journal(nginx.port, 8, 65536)
        stop.set()
    same = sum(run == runs[0] for run in runs)
    verdict("determinism", same == 20 and len(runs[0]) > 20,
            f"{same} of 20 journals of {len(runs[0])} lines are the same, with load and without, reading 700 B to 1 MiB")
    verdict("determinism", other != runs[0], "another seed gives another journal")


def get(arguments, **options):
    return subprocess.run([SQUALL, "get", *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)


def resume():
    with Nginx() as nginx:
        data = nginx.file("file.bin", 100 << 20)
        target = os.path.join(FOLDER, "resumed.bin")
        fault = {"kind": "cut", "stream": "downstream", "every": "1 MiB", "how": "reset"}
        with Squall({"faults": [fault]}, nginx.port) as squall:
            start = time.monotonic()
            done = get([f"http://127.0.0.1:{squall.port}/file.bin", "--output", target, "--events", "json"])
            seconds = time.monotonic() - start
            connections = len(squall.journal()) + 1
        # A warning that nothing but one validator proves the file may follow the events.
        last = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")][-1]
        with open(target, "rb") as file:
            equal = hashlib.sha256(file.read()).digest() == hashlib.sha256(data).digest()
        twice = last["bytesRepeated"] / len(data)
        verdict("resume", equal and done.returncode == 0 and twice < 0.01,
                f"100 MiB through {connections} connections in {seconds:.1f} s: digest equal: {equal}, sent twice: {twice:.4%}")


def cuts():
    """100 runs with drawn sizes and ways to end, a third of them each through cuts at every 16, 64 and 256 KiB."""
    need("wget")
    generator = random.Random(16)
    late, wrong, worst, all_seconds = [], [], 0.0, {}
    with Nginx() as nginx:
        for run in range(100):
            every = (16, 64, 256)[run % 3]
            fault = {"kind": "cut", "stream": "downstream", "every": f"{every} KiB",
                     "how": generator.choice(("reset", "close"))}
            data = nginx.file("file.bin", generator.randrange(1 << 20, 5 << 20))
            seconds = {}
            with Squall({"seed": run, "faults": [fault]}, nginx.port) as squall:
                url = f"http://127.0.0.1:{squall.port}/file.bin"
                for name, command in (
                    ("get", [SQUALL, "get", url, "--seed", str(run), "--output", f"{FOLDER}/get.bin"]),
                    ("wget", ["wget", "-q", "-c", "-t", "0", "--retry-connrefused", "--waitretry=0", "--no-proxy",
                              url, "-O", f"{FOLDER}/wget.bin"])):
                    start = time.monotonic()
                    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                    seconds[name] = time.monotonic() - start
                    try:
                        with open(f"{FOLDER}/{name}.bin", "rb") as file:
                            equal = file.read() == data
                        os.unlink(f"{FOLDER}/{name}.bin")
                    except FileNotFoundError:
                        equal = False
                    if name == "get" and (done.returncode != 0 or not equal):
                        wrong.append(f"run {run}: exit code {done.returncode}, equal: {equal}")
            limit = max(1.0, 3 * seconds["wget"])
            worst = max(worst, seconds["get"] / limit)
            all_seconds.setdefault(every, []).append((seconds["get"], seconds["wget"]))
            if seconds["get"] > limit:
                late.append(f"run {run}: {seconds['get']:.2f} s, wget {seconds['wget']:.2f} s")
    for every, pairs in all_seconds.items():
        ours, theirs = (statistics.median(column) for column in zip(*pairs))
        print(f"      cuts every {every} KiB: {len(pairs)} runs, median {ours:.3f} s, wget {theirs:.3f} s")
    verdict("cuts", not wrong and not late,
            f"100 runs of `squall get` through cuts, {len(wrong)} failed and {len(late)} late; the slowest took "
            f"{worst:.0%} of its limit, 1 s or three times wget's time {' '.join(wrong + late)}")


def kill():
    generator = random.Random(11)
    with Nginx() as nginx:
        data = nginx.file("file.bin", 100 << 20)
        target = os.path.join(FOLDER, "killed.bin")
        faults = [{"kind": "cut", "stream": "downstream", "every": "1 MiB", "how": "reset"},
                  {"kind": "bandwidth", "stream": "downstream", "rate": "40 MB/s", "shared": True}]
        with Squall({"faults": faults}, nginx.port) as squall:
            command = [SQUALL, "get", f"http://127.0.0.1:{squall.port}/file.bin", "--output", target]
            kills = 0
            while kills < 10:
                process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                try:
                    process.wait(generator.uniform(0.05, 0.6))
                    break
                except subprocess.TimeoutExpired:
                    process.send_signal(signal.SIGKILL)
                    process.wait()
                    kills += 1
            done = get([f"http://127.0.0.1:{squall.port}/file.bin", "--output", target])
        with open(target, "rb") as file:
            equal = hashlib.sha256(file.read()).digest() == hashlib.sha256(data).digest()
        left = [name for name in os.listdir(FOLDER) if "killed" in name and name != "killed.bin"]
        verdict("kill", equal and kills == 10 and done.returncode == 0 and not left,
                f"killed {kills} times at random moments and started again: digest equal: {equal}, left behind: {left}")


def throughput():
    listener = socket.create_server(("127.0.0.1", 0))
    sender = os.fork()
    if sender == 0:
        # A process of its own: two threads of Python would take turns.
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        while True:
            connection, _ = listener.accept()
            try:
                with connection:
                    source(connection)
            except OSError:
                pass
    port = listener.getsockname()[1]
    listener.close()
    rates = {"squall": [], "haproxy": []}
    try:
        with Squall({}, port, "--threads", "1") as squall, Haproxy(port) as haproxy:
            for turn in range(7):
                for name in sorted(rates, reverse=turn % 2 == 0):
                    rates[name].append(drain(squall.port if name == "squall" else haproxy.port, 1.0) / 1e6)
    finally:
        os.kill(sender, signal.SIGKILL)
        os.waitpid(sender, 0)
    ours, theirs = (statistics.median(rates[name]) for name in ("squall", "haproxy"))
    verdict("throughput", ours >= 0.8 * theirs,
            f"one connection downloads {ours:,.0f} MB/s, through HAProxy with forced splice {theirs:,.0f}: "
            f"{ours / theirs:.2f} (medians of 7 turns)")


def predicted(name, *arguments):
    """What `squall plan` tells, and the seconds that it took itself."""
    start = time.monotonic()
    out = subprocess.run([SQUALL, "plan", name, "--events", "json", *arguments], stdout=subprocess.PIPE, check=True).stdout
    return json.loads(out), time.monotonic() - start


def plan():
    for name, size in (("wifi-walkaway", "64MiB"), ("elevator", "8MiB"), ("wifi-roam", "16MiB"),
                       ("cut-every-mebibyte", "16MiB")):
        forecast, _ = predicted(name, "--size", size, "--seed", "7")
        out = subprocess.run([SQUALL, "demo", name, "--direction", "downstream", "--size", size, "--seed", "7",
                              "--events", "json"], stdout=subprocess.PIPE, check=True, text=True).stdout
        done = next(e for e in map(json.loads, out.splitlines()) if e["event"] == "finished")
        # Connecting takes the machine some milliseconds, and a forecast none.
        late = done["seconds"] - forecast["seconds"]
        verdict("plan", abs(late) <= max(0.1 * forecast["seconds"], 0.01 * done["connections"]),
                f"{size} through {name}: predicted {forecast['seconds']:.2f} s, took {done['seconds']:.2f} s")


def hour():
    folder = os.path.join(ROOT, "Profiles")
    names = [name[:-5] for part in ("", "presets") for name in os.listdir(os.path.join(folder, part))
             if name.endswith(".json") and not name.endswith(".schema.json")]
    times = {name: predicted(name, "--size", "400GiB", "--until", "1h", "--seed", "7")[1] for name in names}
    slowest = max(times, key=times.get)
    verdict("hour", times[slowest] < 1, f"an hour of each of {len(names)} profiles: {times[slowest]:.2f} s at most ({slowest})")


PARTS = {"cut": cut, "body": body, "answer": answer, "http-speed": http_speed, "heads": heads,
         "foreign": foreign, "half-close": half_close, "reset": reset, "bandwidth": bandwidth, "shared": shared, "scope": scope, "wave": wave, "trace": trace,
         "slice": slices, "latency": latency, "silence": silence,
         "silent-cut": silent_cut, "half-open": half_open, "give-up": give_up, "hang": hang, "full": full,
         "refuse": refuse, "postgres": postgres, "determinism": determinism, "resume": resume, "cuts": cuts, "kill": kill,
         "throughput": throughput,
         "plan": plan, "hour": hour}

if __name__ == "__main__":
    wanted = sys.argv[1:] or list(PARTS)
    unknown = [part for part in wanted if part not in PARTS]
    if unknown:
        sys.exit(f"unknown part {unknown[0]} (the parts are {', '.join(PARTS)})")
    if not os.access(SQUALL, os.X_OK):
        sys.exit(f"{SQUALL} is missing (build it with `make build`, or set SQUALL)")
    try:
        for part in wanted:
            PARTS[part]()
    finally:
        shutil.rmtree(FOLDER, ignore_errors=True)
    sys.exit(1 if failures else 0)
