#!/usr/bin/env python3
"""Whether valid profiles at extreme values keep what is promised of every profile.

    make fuzz                                                  about 3 minutes
    python3 Tests/System/fuzz.py --profiles 400 --seconds 900    more of them
    python3 Tests/System/fuzz.py --seed 7 --only 31              one profile again, with what was found
    python3 Tests/System/fuzz.py --seed 7 --show 31              the profile, as it is written

Makes random profiles of all kinds of faults, triggers and phases, whose values lie at the ends of their ranges: 1 ns
and 2^63 - 1, 1 B and all bytes, 1 bit/s, no chance and nearly all. Each goes through `squall check`; those that it
refuses, such as a duty cycle of 1 ns, are counted. `squall plan` predicts a download of 64 MiB and of 16 TiB through
each of the others, and `squall run` has traffic for a moment: bulk both ways, small messages, HTTP, and clients that
say nothing.

What has to hold of each profile:
    plan        takes less than 2 s of processor time, whatever the size
    idle        the proxy takes less than 5 % of a processor, with nobody connected, and with clients that say nothing
    journal     grows by less than 1 MB a second
    alive       the process lives under the traffic, and takes connections while nothing forbids it
    end         SIGINT ends it within 5 s, with exit code 0
A figure that doesn't hold is taken again, once, since others use the machine. Exits 1 if something doesn't hold.
"""
import argparse, json, os, queue, random, select, shutil, signal, socket, subprocess, sys, tempfile, threading, time

from kit import programs
from kit.machine import processor_seconds
from kit.server import served

PLAN_SECONDS, IDLE_PART, JOURNAL_RATE, END_SECONDS, CHECK_SECONDS = 2.0, 0.05, 1e6, 5.0, 2.0
PLAN_PATIENCE, IDLE_TIME, TRAFFIC_TIME, STILL_CLIENTS = 60, 0.5, 0.6, 8
SIZES = ("64MiB", "16384GiB")
HUGE = "9223372036854775807"

# Values at the ends of their ranges, and usual ones between.
DURATIONS = ["1 ns", "2 ns", "999 ns", "1 us", "50 us", "999 us", "1 ms", "1.000001 ms", "2 ms", "10 ms", "250 ms",
             "1 s", "1 h", "24 h", f"{HUGE} ns"]
PERIODS = DURATIONS[6:]
SIZES_OF = ["1 B", "2 B", "100 B", "1459 B", "1460 B", "16 KiB", "65537 B", "1 MiB", "1 GiB", f"{HUGE} B"]
OFFSETS = ["0 B", *SIZES_OF]
RATES = ["1 bit/s", "8 bit/s", "1 KB/s", "1 MB/s", "100 MB/s", "100 Gbit/s", f"{HUGE} bit/s"]
CHANCES = ["0 %", "0.000000001 %", "0.1 %", "50 %", "99.999 %", "100 %"]
WINDOWS = ["4 KiB", "16 KiB", "64 MiB"]
PLACES = ["connection", "connection", "message", "body", "resource", "wire"]


class Maker:
    """Profiles from a seed: the same number, the same profile."""

    def __init__(self, seed, number):
        self.random = random.Random(f"{seed}/{number}")
        self.number = number
        self.names = []

    def pick(self, values):
        return self.random.choice(values)

    def maybe(self, chance=0.3):
        return self.random.random() < chance

    def some(self, target, **makers):
        """Gives `target` some of these keys."""
        for key, maker in makers.items():
            if self.maybe():
                target[key] = maker()
        return target

    def duration(self, zero=False):
        return self.pick(DURATIONS + (["0 s"] if zero else []))

    def period(self):
        """A time that comes again and again; a few are too short, and refused."""
        return self.duration() if self.maybe(0.03) else self.pick(PERIODS[:2] * 2 + PERIODS)

    def pair(self, values):
        """Two values in their order."""
        first, second = sorted(self.random.sample(range(len(values)), 2))
        return values[first], values[second]

    def profile(self):
        profile = {"name": f"fuzz-{self.number}", "seed": self.random.getrandbits(32)}
        profile["faults"] = [self.fault() for _ in range(self.pick([0, 1, 1, 1, 2, 3, 5, 12]))]
        if self.maybe(0.03):
            profile["faults"] = [self.fault() for _ in range(200)]
        if self.maybe(0.2):  # Bytes behind it have higher offsets than the server gave them.
            early = {"kind": "insert", "name": f"early#{self.number}", "at": self.pick(OFFSETS[:4]), "bytes": "early"}
            profile["faults"].insert(0, early)
        if self.maybe(0.35):
            count = self.pick([1, 2, 3, 8, 40])
            profile["phases"] = [self.phase(index) for index in range(count)]
            profile["repeat"] = self.maybe(0.8)
        return profile

    def phase(self, index):
        faults = [self.fault() for _ in range(self.pick([0, 1, 1, 2]))]
        phase = {"name": f"p{index}", "for": self.period(), "faults": faults}
        if self.maybe(0.2):
            phase["jitter"], phase["for"] = self.pair(PERIODS)
        return phase

    def fault(self, kind=None):
        kind = kind or self.pick(list(KINDS))
        fault = {"kind": kind, "name": f"{kind}#{len(self.names)}"}
        fault |= KINDS[kind](self)
        is_whole = kind in ("connect", "connection-limit", "half-open", "http") or \
            kind == "outage" and fault["how"] != "silence" or kind == "cut" and {"after", "idle"} & fault.keys()
        if not is_whole and self.maybe(0.4):
            fault["stream"] = self.pick(["upstream", "downstream", "both"])
        if self.maybe(0.6):
            fault["when"] = self.when(kind)
        self.names.append(fault["name"])
        return fault

    def when(self, kind):
        when = self.some({}, clock=self.window, duty=self.duty)
        if self.names and self.maybe():
            when["after"] = self.pick(self.names)
        if kind != "connection-limit":
            self.some(when, connection=lambda: self.pick([1, 2, "1..2", "2..", {"every": 2}]),
                      chance=lambda: self.pick(CHANCES), client=lambda: self.pick(["127.0.0.1", "10.0.0.0/8"]))
        if kind not in ("connection-limit", "connect") and self.maybe():
            when["age"] = self.window()
        if kind in ("latency", "bandwidth", "slice", "stall", "corrupt", "truncate") and self.maybe(0.15):
            when["http"] = self.pick([{}, {"path": "/*"}, {"method": "GET"}, {"chance": "50 %"}, {"request": "2.."}])
        if not when or self.maybe():
            when["duty"] = self.duty()
        return when

    def window(self):
        low, high = self.pair(DURATIONS)
        return self.pick([f"{low}..{high}", f"..{high}", low])

    def duty(self):
        return self.some({"on": self.period(), "off": self.period()}, offset=lambda: self.duration(True))

    def latency(self):
        found = {"delay": self.duration()}
        if self.maybe():
            found = {"quantiles": sorted((self.duration(True) for _ in range(self.pick([2, 5, 256]))), key=nanoseconds)}
            self.some(found, delay=self.duration)
        else:
            self.some(found, jitter=self.duration,
                      distribution=lambda: self.pick(["uniform", "normal", "pareto", "log-normal"]))
        self.some(found, correlation=lambda: self.pick(CHANCES))
        if self.maybe():
            found["minimum"] = min(self.duration(True), found.get("delay", "0 s"), key=nanoseconds)
        if self.maybe():
            length, every = self.pair(DURATIONS[4:])
            found["spikes"] = {"every": every, "for": length, "extra": self.duration()}
        return found

    def bandwidth(self):
        found = {"rate": self.pick(RATES)}
        self.some(found, burst=lambda: self.pick(OFFSETS),
                  per=lambda: self.pick(["connection", "client", "proxy", "global"]))
        if self.maybe():
            places = sorted(self.random.sample(range(len(DURATIONS)), self.pick([2, 3, 6])))
            found["steps"] = [{"after": DURATIONS[place], "rate": self.pick(RATES)} for place in places[:-1]]
            if self.maybe(0.7):
                found["repeat"] = DURATIONS[places[-1]]
        elif self.maybe():
            low, high = self.pair(RATES)
            found["wave"] = {"low": low, "high": high, "period": self.period()}
            del found["rate"]
        return found

    def cut(self):
        found = self.pick([
            lambda: {"at": self.pick(OFFSETS)}, lambda: {"at": [self.pick(OFFSETS) for _ in range(3)]},
            lambda: {"every": self.pick(SIZES_OF)}, lambda: {"between": list(self.pair(OFFSETS))},
            lambda: {"pattern": self.pick(["x", "GET", {"hex": "00"}])}, lambda: {"after": self.duration()},
            lambda: {"idle": self.duration()}, lambda: {"limit": self.pick(OFFSETS)},
            lambda: {"traffic": self.duration(True)}])()
        self.some(found, how=lambda: self.pick(["close", "reset", "silence"]))
        if found.keys() & {"every", "between"} and self.maybe():
            found["of"] = self.pick(PLACES)
        return found

    def stall(self):
        return self.some({"for": self.duration()}, at=lambda: self.pick(OFFSETS), of=lambda: self.pick(PLACES))

    def outage(self):
        found = {"how": self.pick(["refuse", "silence", "silence", "reset"])}
        if found["how"] == "silence" and self.maybe(0.5):
            found["recovery"] = "tcp-backoff"
            self.some(found, rtt=lambda: self.pick(DURATIONS[:-1]))
        return found

    def loss(self):
        found = {"rate": self.pick(CHANCES[:-1]), "rtt": self.pick(DURATIONS[:-1])}
        return self.some(found, sender=lambda: self.pick(["reno", "cubic", "bbr"]), link=lambda: self.pick(RATES),
                         burst=lambda: self.pick([1, 2, 100, 1000]))

    def corrupt(self):
        found = self.pick([lambda: {"rate": self.pick(CHANCES[1:])}, lambda: {"rate": self.pick(CHANCES[1:])},
                           lambda: {"at": self.pick(OFFSETS)}, lambda: {"between": list(self.pair(OFFSETS))}])()
        if "rate" not in found:
            self.some(found, of=lambda: self.pick(PLACES))
        return self.some(found, bit=lambda: self.pick([0, 7]))

    def truncate(self):
        return self.some({"bytes": self.pick(SIZES_OF)}, at=lambda: self.pick(OFFSETS), of=lambda: self.pick(PLACES))

    def insert(self):
        found = {"at": self.pick(OFFSETS)} if self.maybe() else {"pattern": self.pick(["\n", "HTTP"])}
        return found | {"bytes": self.pick(["x", "y" * 4_096])}

    def trace(self):
        return self.some({"file": self.pick(["one.trace", "dense.trace", "rare.trace"])},
                         queue=lambda: self.pick(["1500 B", "1 MiB", f"{HUGE} B"]))

    def slice(self):
        low, high = self.pair(SIZES_OF)
        found = {"size": high if self.maybe() else "1 B", "pause": self.duration(True)}
        return found | ({"spread": low} if found["size"] == high and self.maybe() else {})

    def slow_reader(self):
        return self.some({"rate": self.pick(RATES)}, window=lambda: self.pick(WINDOWS))

    def http(self):
        return self.pick([{"answer": {"status": 503, "body": "later\n"}}, {"drop": "1xx"}])

    def connect(self):
        how = self.pick(["delay", "hang", "refuse", "close"])
        return {"how": how} | (self.some({"for": self.duration()}, jitter=self.duration) if how == "delay" else {})

    def connection_limit(self):
        return self.some({"limit": self.pick([1, 3, 1_000_000])}, how=lambda: self.pick(["refuse", "hang"]))

    def slow_close(self):
        return {"by": self.duration()}

    def tls(self):
        return self.pick([
            {"certificate": self.pick(["expired", "wrong-host", "untrusted", "long-chain"])}, {"alert": "unknown_ca"},
            {"reply": "HTTP/1.1 400 Bad Request"}, {"stall": self.pick(["server-hello", "finished"]), "for": self.duration()},
            {"alpn": self.pick(["none", "h2"])}, {"version": "1.2"}, {"record": self.pick(["1 B", "16 KiB"])}])

    def discard(self):
        return self.some({}, **{"close-after": self.duration})

    def half_open(self):
        return self.pick([{"at": self.pick(OFFSETS)}, {"after": self.duration()}]) | {
            "stream": self.pick(["upstream", "downstream"])}


KINDS = {"latency": Maker.latency, "bandwidth": Maker.bandwidth, "cut": Maker.cut, "stall": Maker.stall,
         "outage": Maker.outage, "corrupt": Maker.corrupt, "truncate": Maker.truncate, "insert": Maker.insert,
         "trace": Maker.trace, "slice": Maker.slice, "slow-reader": Maker.slow_reader, "loss": Maker.loss, "http": Maker.http,
         "connect": Maker.connect, "connection-limit": Maker.connection_limit, "slow-close": Maker.slow_close,
         "half-open": Maker.half_open, "discard": Maker.discard, "tls": Maker.tls}
TRACES = {"one.trace": "1\n", "dense.trace": "0\n" * 1_000 + "1\n", "rare.trace": "4294967295\n"}
UNITS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "h": 3_600 * 10**9}


def nanoseconds(duration):
    number, unit = duration.split()
    return float(number) * UNITS[unit]


def serve(peer):
    """Answers HTTP, sends for ever to who says S, and echoes everything else."""
    body = b"b" * (64 << 10)
    peer.settimeout(20)
    while piece := peer.recv(1 << 16):
        if piece.startswith(b"S"):
            while True:
                peer.sendall(body)
        if piece.startswith(b"GET "):
            peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        else:
            peer.sendall(piece)


def measured(command, patience):
    """Runs a command to its end: its exit code, its processor time, what it said on standard error."""
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    timer = threading.Timer(patience, process.kill)
    timer.start()
    errors = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    timer.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stderr.close()
    return process.returncode, usage.ru_utime + usage.ru_stime, errors.decode(errors="replace").strip()


class Proxy:
    def __init__(self, folder, path, upstream):
        self.journal = os.path.join(folder, "journal.jsonl")
        self.errors = open(os.path.join(folder, "errors"), "w+b")
        self.process = subprocess.Popen(
            [programs.SQUALL, "run", path, "--listen", "127.0.0.1:0", "--upstream", f"127.0.0.1:{upstream}",
             "--journal", self.journal], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.errors)
        self.begin = time.monotonic()
        readable, _, _ = select.select([self.process.stdout], [], [], 10)
        line = self.process.stdout.readline().decode() if readable else ""
        self.port = int(line.split(" -> ")[0].rsplit(":", 1)[1]) if line.startswith("ready: ") else 0

    def idle(self, seconds):
        """The part of a processor that it takes."""
        before, start = processor_seconds(self.process.pid), time.monotonic()
        time.sleep(seconds)
        return (processor_seconds(self.process.pid) - before) / (time.monotonic() - start)

    def connect(self):
        client = socket.socket()
        client.setblocking(False)
        client.connect_ex(("127.0.0.1", self.port))
        return client

    def end(self):
        """Ends it by SIGINT: its exit code, `None` if it had to be killed; and its journal's bytes a second."""
        self.process.send_signal(signal.SIGINT)
        try:
            code = self.process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            code = None
        return code, os.path.getsize(self.journal) / (time.monotonic() - self.begin)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.errors.close()


def exchange(clients, seconds):
    """Sends and receives what goes, without a wait for anybody; tells the bytes that came."""
    messages = [b"S", b"GET /file HTTP/1.1\r\nHost: a\r\n\r\n" * 3, b"u" * (1 << 16), b"ping"]
    deadline, came, left = time.monotonic() + seconds, 0, {client: index for index, client in enumerate(clients)}
    sent = {}
    while left and time.monotonic() < deadline:
        readable, writable, _ = select.select(list(left), list(left), [], 0.02)
        for client in writable:
            message = messages[left[client] % len(messages)]
            if sent.get(client, 0) < (1 if message == b"S" else 4 if message != b"u" * (1 << 16) else 1 << 30):
                try:
                    client.send(message)
                    sent[client] = sent.get(client, 0) + 1
                except OSError:
                    left.pop(client)
        for client in readable:
            if client not in left:
                continue
            try:
                piece = client.recv(1 << 18)
            except BlockingIOError:
                continue
            except OSError:
                piece = b""
            came += len(piece)
            if not piece:
                left.pop(client)
        time.sleep(0.002)
    return came


def run(folder, path, upstream):
    """What doesn't hold of a profile that runs, and its figures."""
    failures, figures = [], {}
    proxy, clients = Proxy(folder, path, upstream), []
    try:
        if not proxy.port:
            return ["start: it doesn't listen"], figures

        def idle(name):
            for _ in range(2):  # Once more, since others use the machine.
                part = proxy.idle(IDLE_TIME)
                if part < IDLE_PART:
                    break
            figures[name] = part
            if part >= IDLE_PART:
                failures.append(f"{name}: {100 * part:.0f} % of a processor")

        time.sleep(0.1)
        idle("idle")
        clients = [proxy.connect() for _ in range(STILL_CLIENTS)]
        time.sleep(0.2)
        idle("still")
        busy = [proxy.connect() for _ in range(8)]
        clients += busy
        figures["bytes"] = exchange(busy, TRAFFIC_TIME)
        figures["bytes"] += exchange([proxy.connect() for _ in range(4)], TRAFFIC_TIME / 2)
        if proxy.process.poll() is not None:
            failures.append(f"alive: it ended with {proxy.process.returncode}")
            return failures, figures
        for client in clients[STILL_CLIENTS:]:
            client.close()
        code, figures["journal"] = proxy.end()
        if figures["journal"] >= JOURNAL_RATE:
            failures.append(f"journal: {figures['journal'] / 1e6:.1f} MB/s")
        if code != 0:
            proxy.errors.seek(0)
            text = proxy.errors.read().decode(errors="replace").strip().splitlines()
            failures.append(f"end: {'killed' if code is None else code} {text[-1] if text else ''}")
    except OSError as error:
        failures.append(f"alive: {error}")
    finally:
        for client in clients:
            client.close()
        proxy.close()
    return failures, figures


def predict(path, only=SIZES):
    failures, figures = [], {}
    for size in only:
        for _ in range(2):
            code, used, errors = measured([programs.SQUALL, "plan", path, "--size", size, "--seed", "7"], PLAN_PATIENCE)
            if used < PLAN_SECONDS or code < 0:
                break
        figures[f"plan {size}"] = used
        if used >= PLAN_SECONDS:
            failures.append(f"plan: {used:.1f} s for {size}")
        if code != 0:
            failures.append(f"plan: exit code {code} for {size} {errors[-200:]}")
    return failures, figures


def trial(options, number, upstream):
    """What becomes of the profile of a number: refused or not, what doesn't hold, and figures."""
    folder = tempfile.mkdtemp(prefix="squall-fuzz-")
    try:
        for name, text in TRACES.items():
            with open(os.path.join(folder, name), "w") as file:
                file.write(text)
        path = os.path.join(folder, "profile.json")
        with open(path, "w") as file:
            json.dump(Maker(options.seed, number).profile(), file)
        code, used, errors = measured([programs.SQUALL, "check", path], 20)
        if used >= CHECK_SECONDS or code not in (0, 2):
            return False, [f"check: exit code {code} after {used:.1f} s {errors[-200:]}"], {}
        if code:
            return True, [], {"problem": errors.splitlines()[0].split(": ", 1)[-1]}
        failures, figures = predict(path) if not options.run_only else ([], {})
        more, others = run(folder, path, upstream) if not options.plan_only else ([], {})
        return False, failures + more, figures | others
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1, help="the seed of all profiles (1)")
    parser.add_argument("--profiles", type=int, default=400, help="valid profiles at most (400)")
    parser.add_argument("--seconds", type=float, default=180, help="the time after which no other begins (180)")
    parser.add_argument("--workers", type=int, default=2, help="profiles at a time (2)")
    parser.add_argument("--only", type=int, metavar="NUMBER", help="the profile of this number alone")
    parser.add_argument("--show", type=int, metavar="NUMBER", help="print the profile of this number, and end")
    parser.add_argument("--plan-only", action="store_true", help="nothing is run")
    parser.add_argument("--run-only", action="store_true", help="nothing is predicted")
    parser.add_argument("--refusals", action="store_true", help="tell why profiles were refused")
    return parser.parse_args()


def main():
    options = parse()
    if options.show is not None:
        print(json.dumps(Maker(options.seed, options.show).profile(), indent=1))
        return 0
    programs.need_squall()
    numbers, lock, begin = queue.Queue(), threading.Lock(), time.monotonic()
    found = {"valid": 0, "refused": 0, "failed": {}, "worst": {}}
    for number in [options.only] if options.only is not None else range(100 * options.profiles):
        numbers.put(number)

    def work():
        while time.monotonic() - begin < options.seconds:
            with lock:
                if found["valid"] >= options.profiles or numbers.empty():
                    return
                number = numbers.get()
            refused, failures, figures = trial(options, number, upstream)
            with lock:
                found["refused" if refused else "valid"] += 1
                if options.refusals and refused:
                    print(f"{number}: refused: {figures['problem']}", flush=True)
                if failures:
                    found["failed"][number] = failures
                    print(f"{number}: " + "; ".join(failures), flush=True)
                for name, figure in figures.items():
                    if name != "problem" and figure > found["worst"].get(name, (-1, 0))[0]:
                        found["worst"][name] = (figure, number)
                if options.only is not None:
                    print(figures)

    workers = [threading.Thread(target=work) for _ in range(options.workers)]
    with served(serve) as upstream:
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    print(f"{found['valid']} valid profiles in {time.monotonic() - begin:.0f} s, seed {options.seed}; "
          f"{found['refused']} more were refused by squall check")
    scales = {"idle": (100, "% of a processor"), "still": (100, "% of a processor"), "journal": (1e-6, "MB/s"),
              "bytes": (1e-6, "MB"), **{f"plan {size}": (1, "s") for size in SIZES}}
    for name, (figure, number) in sorted(found["worst"].items()):
        factor, unit = scales[name]
        print(f"  {name:13} at most {factor * figure:.3f} {unit} (profile {number})")
    print(f"{len(found['failed'])} profiles don't hold" if found["failed"] else "all hold")
    return 1 if found["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
