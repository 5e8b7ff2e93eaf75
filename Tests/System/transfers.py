#!/usr/bin/env python3
"""Whether downloads and uploads survive: cut everywhere, and killed at any moment.

    make transfers                                every part, with a release build
    python3 Tests/System/transfers.py PART…       only these parts: cuts tls kill
    python3 Tests/System/transfers.py --quick     fewer runs, to see that everything works
    python3 Tests/System/transfers.py cuts --seed 7 --only 31

cuts  downloads and uploads of up to 2 MiB through cuts at exponential offsets, 64 KiB in the mean; dialects, sizes, directions
      and ends are drawn. All arrive. A download receives at most 64 KiB twice for each cut. An upload sends twice what was
      under way: up to 256 KiB handed to the connection, 256 KiB unsent in the socket (TCP_NOTSENT_LOWAT), and what the
      sockets of the proxy and of the server had received, from 128 KiB (tcp_rmem)
tls   the same by TLS
kill  SIGKILL of the client or the server of 20 uploads, at 200 moments, with a cut every 700 KiB: all finish with an equal
      digest, nothing is left, and no offset goes down

Everything is between `squall get` or `squall put`, `squall run` and `squall origin --uploads`. Prints a line for each
promise with the figure that was measured; exits 1 if one does not hold. Loopback and free ports only.
"""
import argparse, http.client, json, os, random, re, shutil, signal, struct, subprocess, tempfile, threading, time
from concurrent.futures import ThreadPoolExecutor

from kit import machine, programs
from kit.programs import SQUALL
from kit.squall import Origin, Proxy, digest, run_parts
from kit.verdicts import verdict

MEAN = 64 << 10
PATIENCE = 120
# What may be under way when a connection is cut, and is sent once more: UploadSourceFile.longestRead, which counts as
# sent when it is handed to the connection, and UploadExchange.mostUnsent in the client's socket.
READ, UNSENT, OVERLAP = 256 << 10, 256 << 10, 64 << 10


def folder(prefix):
    return tempfile.mkdtemp(prefix=prefix + "-")


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


PARTS = {"cuts": cuts, "tls": tls, "kill": kill}


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="cuts, tls or kill (default: all)")
    parser.add_argument("--runs", type=int, default=1_000, help="downloads, and uploads, through cuts (default: 1,000)")
    parser.add_argument("--tls-runs", type=int, default=1_000, help="the same by TLS (default: 1,000)")
    parser.add_argument("--kills", type=int, default=200, help="kills of clients and servers (default: 200)")
    parser.add_argument("--seed", type=int, default=1, help="the seed of files, offsets and kills (default: 1)")
    parser.add_argument("--only", type=int, help="the number of the one run through cuts")
    workers = 2 * (os.cpu_count() or 1)
    parser.add_argument("--workers", type=int, default=workers, help="runs at a time (default: 2 a core)")
    parser.add_argument("--quick", action="store_true", help="100 runs, 20 by TLS, 40 kills")
    options = parser.parse_args()
    if options.quick:
        options.runs, options.tls_runs = min(options.runs, 100), min(options.tls_runs, 20)
        options.kills = min(options.kills, 40)
    return options


if __name__ == "__main__":
    run_parts(PARTS, parse())
