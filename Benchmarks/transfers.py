#!/usr/bin/env python3
"""Whether downloads and uploads survive: cut everywhere, killed at any moment, within which memory, and how fast.

    make transfers                             every part, with a release build
    python3 Benchmarks/transfers.py PART…      only these parts: cuts tls kill memory throughput
    python3 Benchmarks/transfers.py --quick    fewer runs and smaller files, to see that everything works
    python3 Benchmarks/transfers.py cuts --seed 7 --only 31

Everything is between `squall get` or `squall put`, `squall run` and `squall origin --uploads`. Prints a line for each
promise with the figure that was measured; exits 1 if one does not hold. Needs curl and sha256sum, loopback and free ports
only, and room on the disk for three times the file of `memory`.
"""
import argparse, hashlib, http.client, json, os, random, re, shutil, signal, statistics, struct, subprocess, sys, tempfile
import threading, time
from concurrent.futures import ThreadPoolExecutor

from kit import machine, programs

SQUALL = programs.SQUALL
FOLDER = None
MEAN = 64 << 10
MEMORY_LIMIT = 64
PATIENCE = 120
# What may be under way when a connection is cut, and is sent once more: UploadSourceFile.longestRead, which counts as
# sent when it is handed to the connection, and UploadExchange.mostUnsent in the client's socket.
READ, UNSENT, OVERLAP = 256 << 10, 256 << 10, 64 << 10
# What is asked of the rates, to that of `curl | sha256sum`. A put reads its file twice, and its server brings it to the
# disk.
GET_RATIO, PUT_RATIO = 1.0, 0.5
failures = []


def verdict(part, holds, text):
    print(f"{'ok  ' if holds else 'FAIL'}  {part:12} {text}", flush=True)
    if not holds:
        failures.append(part)


def digest(path):
    found = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            found.update(block)
    return found.hexdigest()


def folder(prefix):
    return tempfile.mkdtemp(prefix=prefix + "-", dir=FOLDER)


class Program:
    """A server of ours, until the end of `with`."""

    def __init__(self, *arguments):
        self.arguments = arguments
        self.begin()

    def begin(self):
        self.process = programs.start([SQUALL, *self.arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                      stderr=subprocess.DEVNULL, text=True)
        line = self.process.stdout.readline()
        if trust := re.match(r"trust: (\S+) is", line):
            self.authority, line = trust.group(1), self.process.stdout.readline()
        found = re.search(r"127\.0\.0\.1:(\d+)", line)
        if not found:
            programs.end(self.process)
            raise programs.Failure(f"squall {self.arguments[0]} does not start")
        self.port = int(found.group(1))

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        programs.end(self.process)


class Origin(Program):
    """`squall origin` over a new folder, into which it takes uploads as well."""

    authority = None

    def __init__(self, tls=False):
        self.folder = folder("origin")
        super().__init__("origin", self.folder, "--uploads", self.folder, *(["--tls-self-signed"] if tls else []))

    def restart(self):
        """A server on the same port, after a kill."""
        self.arguments = ("origin", self.folder, "--uploads", self.folder, "--port", str(self.port))
        self.begin()


class Proxy(Program):
    """`squall run` in front of a port, with a profile given as a dictionary."""

    def __init__(self, profile, upstream):
        own = folder("proxy")
        path = os.path.join(own, "profile.json")
        with open(path, "w") as file:
            json.dump({"name": "transfers", **profile}, file)
        self.journal = os.path.join(own, "journal.jsonl")
        super().__init__("run", path, "--listen", "127.0.0.1:0", "--upstream", f"127.0.0.1:{upstream}", "--threads", "1",
                         "--journal", self.journal)

    def cuts(self):
        """The cuts that acted, as pairs of a direction and an offset of the connection."""
        with open(self.journal) as file:
            lines = [json.loads(line) for line in file]
        return [(line["direction"], line["offset"]) for line in lines if line.get("what") in ("closes", "resets")]


def events(text):
    """The events of a client. One that was killed may leave a torn line."""
    found = []
    for line in text.splitlines():
        if line.startswith("{") and line.endswith("}"):
            found.append(json.loads(line))
    return found


def steps_back(told, floor=0):
    """The offsets below one that the server had told before, and the highest one that it has told."""
    wrong = []
    for event in told:
        if event["event"] == "restarted" or event.get("continued") is False:
            floor = 0
        offset = event.get("offset", event.get("acknowledged"))
        if offset is not None and offset < floor:
            wrong.append((floor, offset))
        floor = max(floor, offset or 0)
    return wrong, floor


# Cuts at random offsets


class Run:
    """A download or an upload through seeded cuts: an exponential offset for each connection, 64 KiB in the mean."""

    def __init__(self, kind, seed, index):
        self.kind, self.index = kind, index
        generator = random.Random(f"{kind} {seed} {index}")
        self.size = generator.randrange(1, 2 << 20)
        self.data = generator.randbytes(self.size)
        stream = "downstream" if kind == "get" else "upstream"
        offsets = [f"{1 + int(generator.expovariate(1 / MEAN))} B" for _ in range(256)]
        how = generator.choice(("reset", "close"))
        faults = [{"kind": "cut", "stream": stream, "at": offsets, "how": how}]
        if generator.random() < 0.3:
            # Some requests or answers of the other direction are lost as well.
            other = "upstream" if kind == "get" else "downstream"
            faults.append({"kind": "cut", "name": "other", "stream": other, "between": ["1 B", "600 B"],
                           "how": how, "when": {"chance": "10 %"}})
        self.profile = {"seed": generator.randrange(1 << 32), "faults": faults}
        self.dialect = generator.choice(("auto", "3", "5", "6", "8", "9", "10"))
        self.problem = None
        self.cuts = self.repeated = self.surplus = self.resumed = 0

    def perform(self, origin):
        own = folder(self.kind)
        name = f"{self.kind}-{self.index}.bin"
        served = os.path.join(origin.folder, name)
        client = os.path.join(own, "file.bin")
        with open(served if self.kind == "get" else client, "wb") as file:
            file.write(self.data)
        with Proxy(self.profile, origin.port) as proxy:
            url = f"{'https' if origin.authority else 'http'}://127.0.0.1:{proxy.port}/{name}"
            options = ["--events", "json", "--seed", str(self.index)]
            if origin.authority:
                options += ["--ca-file", origin.authority]
            if self.kind == "get":
                command = [SQUALL, "get", url, "--output", client, *options]
            else:
                command = [SQUALL, "put", client, url, "--dialect", self.dialect, "--state", f"{own}/state", *options]
            self.judge(command, client if self.kind == "get" else served)
            found = proxy.cuts()
        self.cuts = len(found)
        # What the server was sent by connections that were cut, heads included, beyond what the last one went on from.
        self.surplus = sum(offset for direction, offset in found if direction == "upstream") - self.resumed
        self.data = None
        for path in (served, own):
            shutil.rmtree(path) if os.path.isdir(path) else os.path.exists(path) and os.remove(path)

    def judge(self, command, result):
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            self.problem = f"not done after {PATIENCE} s"
            return
        told = events(done.stdout)
        if done.returncode != 0 or not told or told[-1]["event"] != "finished":
            self.problem = f"exit code {done.returncode}: {done.stderr.strip()[-200:]}"
            return
        with open(result, "rb") as file:
            if file.read() != self.data:
                self.problem = "CORRUPT"
        self.repeated = told[-1]["bytesRepeated"]
        self.resumed = max((event["offset"] for event in told if event["event"] == "resumed"), default=0)
        if self.kind == "put" and steps_back(told)[0]:
            self.problem = f"offsets went down: {steps_back(told)[0]}"


def tls(options):
    cuts(options, options.tls_runs, tls=True)


def cuts(options, count=None, tls=False):
    part = "tls" if tls else "cuts"
    window = int(machine.read("/proc/sys/net/ipv4/tcp_rmem").split()[1])
    for kind, noun in (("get", "downloads"), ("put", "uploads")):
        indices = range(count or options.runs) if options.only is None else [options.only]
        runs, waiting, lock = [], iter(indices), threading.Lock()

        def work():
            while True:
                # A server keeps the outcome of 1,024 uploads.
                with Origin(tls) as origin:
                    for _ in range(200):
                        with lock:
                            index = next(waiting, None)
                        if index is None:
                            return
                        run = Run(kind, options.seed, index)
                        run.perform(origin)
                        with lock:
                            runs.append(run)

        start = time.monotonic()
        with ThreadPoolExecutor(options.workers) as pool:
            for done in [pool.submit(work) for _ in range(options.workers)]:
                done.result()
        wrong = [run for run in runs if run.problem]
        for run in wrong[:20]:
            print(f"      {kind} --seed {options.seed} --only {run.index}: {run.problem}")
        total, sizes = sum(run.cuts for run in runs), sum(run.size for run in runs)
        corrupt = sum(run.problem == "CORRUPT" for run in runs)
        verdict(part, not wrong and len(runs) == len(indices),
                f"{len(runs)} {noun} of {sizes / 2**20:,.0f} MiB {'by TLS ' if tls else ''}through {total:,} cuts, one every "
                f"{sizes / max(1, total) / 1024:.0f} KiB: {len(wrong)} failed, {corrupt} of them corrupt "
                f"({time.monotonic() - start:.0f} s)")
        cut = [run for run in runs if run.cuts and not run.problem]
        if not cut:
            continue
        if kind == "get":
            most = max(run.repeated / run.cuts for run in cut)
            verdict(part, all(run.repeated <= run.cuts * OVERLAP for run in cut),
                    f"{sum(run.repeated for run in cut) / total:,.0f} bytes for each cut were received twice, to be compared; "
                    f"{most:,.0f} in the worst run (at most {OVERLAP:,})")
            continue
        if not tls:
            # Of a stream by TLS the proxy's offsets tell nothing of content.
            arrived = sum(run.surplus for run in cut) / total
            verdict(part, arrived <= window,
                    f"the server was sent {arrived:,.0f} bytes twice for each cut, heads included (one buffer "
                    f"of its socket, {window:,})")
        sent, bound = sum(run.repeated for run in cut) / total, READ + UNSENT + 2 * window
        worst = max(run.repeated / run.cuts for run in cut)
        verdict(part, sent <= bound,
                f"the client sent {sent:,.0f} bytes twice for each cut, {worst:,.0f} in the worst run ({bound:,}: a read, "
                f"{READ:,}; its socket, {UNSENT:,}; those of proxy and server, {window:,} each)")


# Kills


def resource(state):
    """The path of an upload, from the memory that the client keeps of it; `None` without one that is whole."""
    for name in os.listdir(state) if os.path.isdir(state) else []:
        if name.endswith(".squall-upload"):
            with open(os.path.join(state, name), "rb") as file:
                data = file.read()[9:]
            if len(data) < 9 or data[0] != 1:
                return None
            texts, place = [], 5
            for _ in range(2):
                if len(data) < place + 4:
                    return None
                length = struct.unpack_from("<I", data, place)[0]
                texts.append(data[place + 4:place + 4 + length])
                place += 4 + length
            return re.sub(r"^http://[^/]*", "", texts[1].decode())
    return None


def offset(port, path):
    """What the server says that it has of an upload; `None` where it doesn't know it any more."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("HEAD", path, headers={"Upload-Draft-Interop-Version": "10"})
        found = connection.getresponse().getheader("Upload-Offset")
        return None if found is None else int(found)
    finally:
        connection.close()


class KilledUpload:
    """An upload whose client and server are killed at random moments, and which has to finish afterwards."""

    def __init__(self, seed, index, kills):
        self.generator = random.Random(f"kill {seed} {index}")
        self.size, self.wanted = 6 << 20, kills
        self.killed = {"client": 0, "server": 0}
        self.problems, self.told, self.floors, self.asked = [], [], {}, 0

    def perform(self):
        own = folder("killed")
        path, self.state = os.path.join(own, "file.bin"), os.path.join(own, "state")
        with open(path, "wb") as file:
            file.write(self.generator.randbytes(self.size))
        faults = [{"kind": "bandwidth", "rate": "4 MB/s", "shared": True},
                  {"kind": "cut", "stream": "upstream", "every": "700 KiB",
                   "how": self.generator.choice(("reset", "close"))}]
        with Origin() as origin, Proxy({"seed": 1, "faults": faults}, origin.port) as proxy:
            self.origin = origin
            self.command = [SQUALL, "put", path, f"http://127.0.0.1:{proxy.port}/new.bin", "--state", self.state,
                            "--attempts", "1000", "--events", "json"]
            self.log = os.path.join(own, "events")
            self.disturb()
            self.check_offset()
            status = self.finish()
            arrived = os.path.join(origin.folder, "new.bin")
            if status != 0:
                self.problems.append(f"exit code {status}")
            elif not os.path.exists(arrived) or digest(arrived) != digest(path):
                self.problems.append("the file isn't the one that was sent")
            elif os.listdir(self.state):
                self.problems.append(f"left behind: {os.listdir(self.state)}")
            wrong, _ = steps_back(self.told)
            self.problems += [f"offset {after} after {before}" for before, after in wrong]
        shutil.rmtree(own)

    def start(self):
        with open(self.log, "w") as file:
            return programs.start(self.command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.DEVNULL)

    def take(self):
        with open(self.log) as file:
            self.told += events(file.read())

    def disturb(self):
        client = self.start()
        while sum(self.killed.values()) < self.wanted:
            victim = self.generator.choice(("client", "server"))
            # An upload that is complete before its last kill is followed by another of the same file.
            try:
                client.wait(self.generator.uniform(0, 0.4))
            except subprocess.TimeoutExpired:
                self.killed[victim] += 1
            if client.returncode is not None:
                self.take()
                if client.returncode != 0:
                    self.problems.append(f"exit code {client.returncode} between kills")
                    return
                client = self.start()
            elif victim == "client":
                client.send_signal(signal.SIGKILL)
                client.wait()
                self.take()
                if self.generator.random() < 0.5:
                    self.check_offset()
                client = self.start()
            else:
                self.origin.kill()
                self.origin.restart()
                if self.generator.random() < 0.5:
                    self.check_offset()
        client.send_signal(signal.SIGKILL)
        client.wait()
        self.take()

    def check_offset(self):
        """Asks the server, beside the client; what it says is never less than before."""
        path = resource(self.state)
        found = path and offset(self.origin.port, path)
        if found is None:
            return
        self.asked += 1
        if found < self.floors.get(path, 0):
            self.problems.append(f"HEAD says {found} after {self.floors[path]}")
        self.floors[path] = found

    def finish(self):
        client = self.start()
        try:
            status = client.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            status = f"none after {PATIENCE} s"
        programs.end(client)
        self.take()
        return status


def kill(options):
    each = 10
    uploads = [KilledUpload(options.seed, index, each) for index in range(max(1, options.kills // each))]
    start = time.monotonic()
    with ThreadPoolExecutor(min(options.workers, 3)) as pool:
        for done in [pool.submit(upload.perform) for upload in uploads]:
            done.result()
    wrong = [(index, upload) for index, upload in enumerate(uploads) if upload.problems]
    for index, upload in wrong[:20]:
        print(f"      upload {index}, --seed {options.seed}: {'; '.join(upload.problems[:5])}")
    clients, servers = (sum(upload.killed[who] for upload in uploads) for who in ("client", "server"))
    told = sum("offset" in event or "acknowledged" in event for upload in uploads for event in upload.told)
    asked = sum(upload.asked for upload in uploads)
    verdict("kill", not wrong,
            f"{len(uploads)} uploads whose client was killed {clients} times and whose server {servers} times: "
            f"{len(uploads) - len(wrong)} finished with an equal digest and nothing left behind, and no offset went down "
            f"({told:,} told to the client, {asked} by HEAD; {time.monotonic() - start:.0f} s)")


# Memory and throughput


def make_file(path, size):
    """A file of random blocks, each with its number at its beginning."""
    block = bytearray(os.urandom(1 << 20))
    with open(path, "wb") as file:
        for number in range(0, size, len(block)):
            block[:8] = number.to_bytes(8, "little")
            file.write(block[:min(len(block), size - number)])


class Peak:
    """The most memory that a process has had resident, in MiB, watched until it ends."""

    def __init__(self, process):
        self.process, self.value = process, 0.0
        self.thread = threading.Thread(target=self.watch, daemon=True)
        self.thread.start()

    def watch(self):
        while self.process.poll() is None:
            self.look()
            time.sleep(0.02)

    def look(self):
        found = re.search(r"VmHWM:\s+(\d+)", machine.read(f"/proc/{self.process.pid}/status"))
        if found:
            self.value = max(self.value, int(found.group(1)) / 1024)


def transfer(command):
    """Runs a client to its end; gives its exit code, its seconds, and its peak of memory."""
    start = time.monotonic()
    process = programs.start(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    peak = Peak(process)
    status = process.wait()
    return status, time.monotonic() - start, peak.value


def memory(options):
    size = options.size
    room = shutil.disk_usage(FOLDER).free
    if room < 3 * size + (1 << 30):
        verdict("memory", False, f"{FOLDER} has room for {room >> 20:,} MiB, and needs it for three files of "
                                 f"{size >> 20:,} MiB")
        return
    own = folder("memory")
    source = os.path.join(own, "file.bin")
    make_file(source, size)
    sent = digest(source)
    for name in ("get", "put"):
        with Origin() as origin:
            url = f"http://127.0.0.1:{origin.port}/file.bin"
            served, received = os.path.join(origin.folder, "file.bin"), os.path.join(own, "received.bin")
            if name == "get":
                os.link(source, served)
                command = [SQUALL, "get", url, "--output", received]
            else:
                command = [SQUALL, "put", source, url, "--state", os.path.join(own, "state")]
            server = Peak(origin.process)
            status, seconds, peak = transfer(command)
            server.look()
            result = received if name == "get" else served
            equal = status == 0 and digest(result) == sent
            if os.path.exists(result):
                os.remove(result)
        verdict("memory", equal and max(peak, server.value) < MEMORY_LIMIT,
                f"{name} of {size >> 20:,} MiB in {seconds:.1f} s, digest equal: {equal}: at most {peak:.1f} MiB in the "
                f"client, {server.value:.1f} MiB in the server (below {MEMORY_LIMIT})")
    shutil.rmtree(own)


def throughput(options):
    size = options.speed_size
    own = folder("throughput")
    source = os.path.join(own, "file.bin")
    make_file(source, size)
    for encrypted in (False, True):
        speeds(options, own, source, encrypted)
    shutil.rmtree(own)


def speeds(options, own, source, encrypted):
    """The rates of a transfer through no proxy, beside curl's."""
    size, how = options.speed_size, "by TLS " if encrypted else ""
    rates = {}
    with Origin(tls=encrypted) as origin:
        os.link(source, os.path.join(origin.folder, "file.bin"))
        url = f"{'https' if encrypted else 'http'}://127.0.0.1:{origin.port}"
        received, state = os.path.join(own, "received.bin"), os.path.join(own, "state")
        theirs = f"--cacert {origin.authority} " if encrypted else ""
        ours = ["--ca-file", origin.authority] if encrypted else []
        commands = {
            "curl | sha256sum": ["sh", "-c", f"curl -s -f {theirs}{url}/file.bin | sha256sum"],
            "curl -o": ["sh", "-c", f"curl -s -f {theirs}-o {received} {url}/file.bin"],
            "get": [SQUALL, "get", f"{url}/file.bin", "--output", received, *ours],
            "curl -T": ["sh", "-c", f"curl -s -f {theirs}-T {source} {url}/new.bin"],
            "put": [SQUALL, "put", source, f"{url}/new.bin", "--state", state, *ours],
        }
        # The server knows the digest of the file from here on.
        subprocess.run(commands["curl | sha256sum"], stdout=subprocess.DEVNULL)
        for turn in range(options.turns):
            for name in sorted(commands, reverse=turn % 2 == 0):
                for path in (received, os.path.join(origin.folder, "new.bin")):
                    if os.path.exists(path):
                        os.remove(path)
                os.sync()
                start = time.monotonic()
                done = subprocess.run(commands[name], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                rates.setdefault(name, []).append(size / (time.monotonic() - start) / 1e6)
                if done.returncode != 0:
                    verdict("throughput", False, f"{name} ends with {done.returncode}: {done.stderr.decode()[-200:]}")
                    return
    base = statistics.median(rates["curl | sha256sum"])
    medians = (f"{name} {statistics.median(found):,.0f}" for name, found in rates.items())
    print(f"      MB/s {how}medians: {', '.join(medians)}")
    for name, limit in (("get", GET_RATIO), ("put", PUT_RATIO)):
        ratio = statistics.median(mine / theirs for mine, theirs in zip(rates[name], rates["curl | sha256sum"]))
        verdict("throughput", ratio >= limit,
                f"{name} {how}of {size >> 20:,} MiB: {statistics.median(rates[name]):,.0f} MB/s, `curl | sha256sum` "
                f"{base:,.0f}: {ratio:.2f} (medians of {options.turns} turns; {limit} or more)")


PARTS = {"cuts": cuts, "tls": tls, "kill": kill, "memory": memory, "throughput": throughput}


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help="cuts, tls, kill, memory or throughput (default: all)")
    parser.add_argument("--runs", type=int, default=1_000, help="downloads, and uploads, through cuts (default: 1,000)")
    parser.add_argument("--tls-runs", type=int, default=1_000, help="the same by TLS (default: 1,000)")
    parser.add_argument("--kills", type=int, default=200, help="kills of clients and servers (default: 200)")
    parser.add_argument("--seed", type=int, default=1, help="the seed of files, offsets and kills (default: 1)")
    parser.add_argument("--only", type=int, help="the number of the one run through cuts")
    workers = 2 * (os.cpu_count() or 1)
    parser.add_argument("--workers", type=int, default=workers, help="runs at a time (default: 2 a core)")
    parser.add_argument("--quick", action="store_true", help="100 runs, 20 by TLS, 40 kills, files of 256 MiB")
    options = parser.parse_args()
    unknown = [part for part in options.parts if part not in PARTS]
    if unknown:
        parser.error(f"unknown part {unknown[0]} (the parts are {', '.join(PARTS)})")
    options.size, options.speed_size, options.turns = 4 << 30, 512 << 20, 5
    if options.quick:
        options.runs, options.tls_runs = min(options.runs, 100), min(options.tls_runs, 20)
        options.kills = min(options.kills, 40)
        options.size, options.speed_size, options.turns = 256 << 20, 256 << 20, 3
    return options


def main():
    global FOLDER
    options = parse()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # So that what was started is ended.
    programs.need_squall()
    FOLDER = tempfile.mkdtemp(prefix="squall-transfers-")
    try:
        for part in options.parts or PARTS:
            PARTS[part](options)
    finally:
        shutil.rmtree(FOLDER, ignore_errors=True)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    try:
        main()
    except programs.Failure as failure:
        sys.exit(f"transfers.py: {failure}")
