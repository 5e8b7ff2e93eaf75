#!/usr/bin/env python3
"""The `loss` fault beside the kernel's TCP: the same client and server, behind a link that loses packets and behind Squall.

    make loss-lab                                                          both sides and the table, about 12 minutes
    python3 Benchmarks/loss_lab.py kernel --save kernel.jsonl.gz           only the kernel's side; needs root
    python3 Benchmarks/loss_lab.py proxy --save proxy.jsonl.gz             only Squall's
    python3 Benchmarks/loss_lab.py table kernel.jsonl.gz proxy.jsonl.gz    compares two files

Kernel's side: two network namespaces with a TUN device each, and `loss-link relay` between them. Every TCP flow has a
link of its own in each direction: 100 Mbit/s, a drop-tail queue of 200 packets, half of the round trip. From the server
to the client packets with payload are lost, each by itself or in Gilbert's bursts. The server's sockets have the
congestion control of the cell. The namespaces have no names: they end with the processes in them, however those end.

Squall's side: the same client and server over loopback, and between them a proxy for each cell with `loss` downstream
and a `latency` of half of the round trip in both directions.

A cell is a sender, a loss, a round trip and a length of bursts. Half of the cells, drawn by --seed, are there to fit the
model ("fitting"), the others to judge it ("judging").

The format of a file: one JSON object a line, in any order; gzip if the name ends with .gz. Keys that aren't listed are
ignored, and so are lines of another kind.

    {"sender": "cubic", "loss": 1.0, "roundTrip": 50, "burst": 1, "kind": "bulk", "seconds": 30,
     "deliveries": [[51.2, 14480], [52.4, 1448], ...]}
    {"sender": "cubic", "loss": 1.0, "roundTrip": 50, "burst": 1, "kind": "100000", "time": 0.310000}

    sender      reno, cubic or bbr            kind        bulk: bytes without an end; a number: that many bytes;
    loss        percent                                   connect: a connect and 8 bytes
    roundTrip   milliseconds                  seconds     how long the bulk flow was read, from its request on
    burst       packets, the mean             deliveries  [milliseconds since the request, bytes that arrived in order],
    time        seconds from the request to               ascending; what arrives within 1 ms may be one of them
                the last byte                 late        optional: lateness of the link, p99 in milliseconds
    connect     optional: seconds to connect  accept      optional: seconds from the request to the server's accept
"""
import argparse, bisect, ctypes, fcntl, gzip, json, math, os, random, signal, statistics, struct, subprocess, sys
import tempfile, time
from collections import defaultdict

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SQUALL = os.environ.get("SQUALL", os.path.join(ROOT, ".build", "release", "squall"))
LOSS_LINK = os.environ.get("LOSS_LINK", os.path.join(ROOT, ".build", "release", "loss-link"))

LINK = 100e6  # bit/s
QUEUE = 200  # packets
SENDERS = ["reno", "cubic", "bbr"]
LOSSES = [0.1, 1.0, 2.0, 5.0, 10.0]  # percent
BURST_LOSSES = [1.0, 2.0, 5.0]
BURST = 4  # packets
ROUND_TRIPS = [20, 50, 100]  # ms
CONNECT_LOSSES = [1.0, 5.0, 10.0]  # percent, for SYN and SYN-ACK too
SIZES = {"10000": 0.5, "100000": 1.0, "1000000": 0.5}  # bytes, and how many there are for each transfer of 100 KB
FIRST_PORT, FIRST_PROXY_PORT = 20_000, 21_000
LATE = 2.0  # ms: a flow whose link is later is left out
# s after half of the round trip: a transfer whose server was connected later is left out, since a SYN was lost.
LATE_ACCEPT = 0.02
JOB_LIMIT = 120  # s, for a transfer
SETTLED = 2_000  # ms: the start of a bulk flow, which the distribution of its rate leaves out
BIN = 100  # ms
SYSCTLS = ["tcp_recovery", "tcp_early_retrans", "tcp_rmem", "tcp_wmem", "tcp_notsent_lowat", "tcp_slow_start_after_idle",
           "tcp_sack", "tcp_timestamps", "tcp_min_tso_segs", "tcp_no_metrics_save", "tcp_frto", "tcp_reordering"]

# ---- Cells and jobs


def all_cells(seed):
    """The cells, with their ports and what they are for."""
    found = [{"sender": sender, "loss": loss, "roundTrip": round_trip, "burst": burst}
             for sender in SENDERS for burst in (1, BURST) for loss in (LOSSES if burst == 1 else BURST_LOSSES)
             for round_trip in ROUND_TRIPS]
    judging = set(random.Random(seed).sample(range(len(found)), len(found) // 2))
    for index, cell in enumerate(found):
        cell.update(part="judging" if index in judging else "fitting", handshake=0.0)
    found += [{"sender": "cubic", "loss": loss, "roundTrip": 50, "burst": 1, "part": "connect", "handshake": loss}
              for loss in CONNECT_LOSSES]
    found.append({"sender": "cubic", "loss": 0.0, "roundTrip": 20, "burst": 1, "part": "check", "handshake": 0.0})
    for index, cell in enumerate(found):
        cell["port"] = FIRST_PORT + index
    return found


def expected_rate(cell):
    """About what a flow gets at most, in bit/s: Mathis's formula."""
    if cell["sender"] == "bbr" or cell["loss"] == 0:
        return 0.95 * LINK
    events = cell["loss"] / 100 / cell["burst"]
    return min(0.95 * LINK, 1.3 * 1448 * 8 / (cell["roundTrip"] / 1000) / math.sqrt(events))


class Amounts:
    """How many flows and transfers each cell has."""

    def __init__(self, bulk, bbr, transfers, seconds):
        self.bulk, self.bbr, self.transfers, self.seconds = bulk, bbr, transfers, seconds

    @classmethod
    def within(cls, cells, minutes, budget, seconds):
        """The most that fit into a time."""
        best = cls(1, 1, 10, 10)
        for length in {seconds, min(15, seconds), min(20, seconds)}:
            for bulk in range(1, 13):
                for bbr in {max(1, bulk // 3), max(1, bulk // 2)}:
                    amounts = cls(bulk, bbr, min(60, 20 * bulk), length)
                    if Plan(cells, amounts, budget).seconds <= 60 * minutes and amounts.worth() > best.worth():
                        best = amounts
        return best

    def worth(self):
        return (self.bulk + 3 * self.bbr) * self.seconds

    def __str__(self):
        return (f"{self.bulk} bulk flows of {self.seconds:g} s a cell ({self.bbr} with bbr), {self.transfers} transfers of "
                f"100 KB, {self.transfers // 2} of 10 KB and of 1 MB")


class Plan:
    """When each job begins, so that the flows of a moment need no more than `budget` bit/s together."""

    def __init__(self, cells, amounts, budget, seed=1):
        generator = random.Random(seed)
        bulk, shorts = [], []
        for cell in cells:
            if cell["part"] == "connect":
                shorts += [(cell, "connect")] * (5 * amounts.transfers)
            elif cell["part"] == "check":
                bulk.append((cell, 10.0))
                shorts += [(cell, "8")] * 20
            else:
                flows = amounts.bbr if cell["sender"] == "bbr" else amounts.bulk
                bulk += [(cell, amounts.seconds)] * flows
                for size, share in SIZES.items():
                    shorts += [(cell, size)] * round(amounts.transfers * share)
        bits = sum(8.3 * int(kind) for _, kind in shorts if kind != "connect")
        # The transfers get a share of the budget for as long as the bulk flows need.
        work = sum(min(expected_rate(cell), budget / 2) * (seconds + 1) for cell, seconds in bulk)
        length = max(30.0, 1.1 * (work + bits) / budget)
        room = max(budget - bits / length, budget / 2, 0.95 * LINK)
        generator.shuffle(bulk)
        bulk.sort(key=lambda job: -expected_rate(job[0]))
        self.jobs, free_at, running, now = [], [], 0.0, 0.0
        left = bulk
        while left:
            for end, rate in [entry for entry in free_at if entry[0] <= now]:
                free_at.remove((end, rate))
                running -= rate
            kept = []
            for cell, seconds in left:
                rate = expected_rate(cell)
                if running == 0 or running + rate <= room:
                    begin = now + generator.uniform(0, 0.5)
                    self.jobs.append((begin, cell, "bulk", seconds))
                    free_at.append((begin + seconds + 0.3, rate))
                    running += rate
                else:
                    kept.append((cell, seconds))
            left = kept
            if left:
                now = min(end for end, _ in free_at)
        ends = max(begin + seconds for begin, _, _, seconds in self.jobs)
        window = max(30.0, ends - 15)
        self.jobs += [(generator.uniform(0, window), cell, kind, JOB_LIMIT) for cell, kind in shorts]
        self.seconds = max(ends, window + 20)

    def table(self, ports):
        return "".join(f"{index} {begin * 1000:.0f} {ports[cell['port']]} {kind} {seconds}\n"
                       for index, (begin, cell, kind, seconds) in enumerate(self.jobs)) + "\n"


# ---- Processes and namespaces

libc = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNET, PR_SET_PDEATHSIG = 0x4000_0000, 1
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x4004_54CA, 1, 0x1000


def need_root():
    if os.geteuid() != 0:
        raise Unfit("the kernel's side needs root, for network namespaces: run `sudo make loss-lab`")
    if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        raise Unfit("/dev/net/tun is missing: load the module (`modprobe tun`), or give the container --device /dev/net/tun")


class Unfit(Exception):
    """The machine or the checkout lacks something: exit code 2."""


class Namespace:
    """A network namespace without a name: it ends with the last descriptor and the last process of it."""

    def __init__(self, address=None, other=None):
        self.tun = None
        with Inside(None):
            if libc.unshare(CLONE_NEWNET):
                raise Unfit(f"no network namespace: {os.strerror(ctypes.get_errno())} (a container needs CAP_SYS_ADMIN)")
            self.handle = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
            self.ip("link", "set", "lo", "up")
            if address:
                self.tun = os.open("/dev/net/tun", os.O_RDWR | os.O_CLOEXEC)
                fcntl.ioctl(self.tun, TUNSETIFF, struct.pack("16sH22x", b"losslab", IFF_TUN | IFF_NO_PI))
                self.ip("address", "add", address, "peer", other, "dev", "losslab")
                self.ip("link", "set", "losslab", "mtu", "1500", "txqueuelen", "2000", "up")
            # A flow begins without what an earlier one to the same host has learnt (its ssthresh above all).
            with open("/proc/sys/net/ipv4/tcp_no_metrics_save", "w") as file:
                file.write("1")

    @staticmethod
    def ip(*words):
        subprocess.run(["ip", *words], check=True)

    def close(self):
        for descriptor in (self.handle, self.tun):
            if descriptor is not None:
                os.close(descriptor)


class Inside:
    """Runs what is within `with` in a namespace; `None` stays where it is. Afterwards it is in the old one."""

    def __init__(self, namespace):
        self.namespace = namespace

    def __enter__(self):
        self.old = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        if self.namespace and libc.setns(self.namespace.handle, CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "setns")

    def __exit__(self, *_):
        libc.setns(self.old, CLONE_NEWNET)
        os.close(self.old)


class Programs:
    """Child processes that end with the lab."""

    def __init__(self):
        self.started = []

    def start(self, namespace, command, priority=0, **options):
        def prepare():
            libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            if priority:
                try:
                    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
                except OSError:
                    pass  # The lateness tells.
        with Inside(namespace):
            process = subprocess.Popen(command, preexec_fn=prepare, start_new_session=True, **options)
        self.started.append(process)
        return process

    def end(self):
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.wait()


def give(process, text):
    process.stdin.write(text)
    process.stdin.flush()


def start_server(programs, namespace, address, cells, congestion):
    server = programs.start(namespace, [LOSS_LINK, "serve", address], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            text=True, priority=0)
    give(server, "".join(f"{cell['port']} {congestion(cell)}\n" for cell in cells) + "\n")
    if server.stdout.readline() != "ready\n":
        raise Unfit(f"loss-link serve does not start{'' if congestion is None else ' (is tcp_bbr there? modprobe tcp_bbr)'}")


def fetch(programs, namespace, address, plan, ports, folder):
    """Runs the jobs; the results by number of job."""
    path = os.path.join(folder, "results")
    with open(path, "w") as output:
        client = programs.start(namespace, [LOSS_LINK, "fetch", address], stdin=subprocess.PIPE, stdout=output, text=True,
                                priority=1)
        give(client, plan.table(ports))
        limit = time.monotonic() + plan.seconds + 2 * JOB_LIMIT
        while client.poll() is None:
            if time.monotonic() > limit:
                client.kill()
                raise Unfit(f"the transfers have taken {plan.seconds + 2 * JOB_LIMIT:.0f} s, and were ended")
            time.sleep(0.2)
    with open(path) as lines:
        return {result["id"]: result for result in map(json.loads, lines)}


def opened(path, mode):
    return gzip.open(path, mode + "t") if path.endswith(".gz") else open(path, mode)


def save(path, about, plan, results, lateness):
    """Writes the results of a plan, as the text at the top says."""
    failures = defaultdict(int)
    with opened(path, "w") as file:
        file.write(json.dumps({"kind": "about", **about}) + "\n")
        for index, (_, cell, kind, seconds) in enumerate(plan.jobs):
            result = results.get(index, {"error": "no result"})
            if "error" in result:
                failures[result["error"]] += 1
                continue
            line = {key: cell[key] for key in ("sender", "loss", "roundTrip", "burst", "part")}
            line["kind"] = kind
            late = lateness.get((cell["port"], result["clientPort"]))
            if late:
                line["late"] = round(late[3] / 1000, 3)
            line["connect"] = result["connect"]
            line["accept"] = result.get("accept", 0)
            if kind == "bulk":
                line.update(seconds=seconds, packets=late and late[0], lost=late and late[1], overflowed=late and late[2],
                            deliveries=result["deliveries"])
            else:
                line["time"] = result["time"]
            file.write(json.dumps(line, separators=(",", ":")) + "\n")
    for error, count in failures.items():
        print(f"{count} jobs failed: {error}")


def settings():
    found = {"kernel": os.uname().release, "processors": len(os.sched_getaffinity(0))}
    for name in SYSCTLS:
        try:
            with open(f"/proc/sys/net/ipv4/{name}") as file:
                found[name] = " ".join(file.read().split())
        except OSError:
            found[name] = "not there"
    return found


# ---- The two sides


def measure_kernel(cells, plan, path, seed, log=None):
    need_root()
    need_built(LOSS_LINK, "swift build -c release --product loss-link")
    programs, namespaces = Programs(), []
    with tempfile.TemporaryDirectory(prefix="loss-lab-") as folder:
        try:
            clients = Namespace("10.77.0.1", "10.77.0.2")
            namespaces.append(clients)
            servers = Namespace("10.77.0.2", "10.77.0.1")
            namespaces.append(servers)
            with Inside(servers):
                about = settings()
            print("; ".join(f"{name} {value}" for name, value in about.items()), flush=True)
            with open(os.path.join(folder, "flows"), "w+") as flows:
                relay = programs.start(
                    None, [LOSS_LINK, "relay", str(clients.tun), str(servers.tun), str(seed), *(log or [])],
                    stdin=subprocess.PIPE, stdout=flows, text=True, pass_fds=[clients.tun, servers.tun], priority=2)
                give(relay, "".join(
                    f"{cell['port']} {LINK:.0f} {cell['roundTrip'] * 1000} {QUEUE} {cell['loss'] / 100:g} {cell['burst']}"
                    f" {cell['handshake'] / 100:g}\n" for cell in cells) + "\n")
                start_server(programs, servers, "10.77.0.2", cells, lambda cell: cell["sender"])
                results = fetch(programs, clients, "10.77.0.2", plan, {cell["port"]: cell["port"] for cell in cells}, folder)
                relay.stdin.close()
                if relay.wait(30):
                    raise Unfit(f"loss-link relay ended with {relay.returncode}")
                flows.seek(0)
                lateness = read_lateness(flows)
        finally:
            programs.end()
            for namespace in namespaces:
                namespace.close()
        save(path, about, plan, results, lateness)


def read_lateness(flows):
    """(packets, lost, overflowed, p99 µs, most µs) by ports; prints what the relay says of itself."""
    found = {}
    for line in flows:
        words = line.split()
        if words[0] == "flow":
            port, client = map(int, words[1:3])
            found[port, client] = tuple(int(word) for word in words[3:6]) + tuple(float(word) for word in words[6:8])
        else:
            print("relay:", line.strip())
    if found:
        worst = sorted(entry[3] / 1000 for entry in found.values())
        print(f"lateness of the link, p99 of a flow: median {statistics.median(worst):.3f} ms,"
              f" 99 % of flows below {worst[int(0.99 * (len(worst) - 1))]:.3f} ms, most {worst[-1]:.3f} ms;"
              f" {sum(entry > LATE for entry in worst)} of {len(worst)} flows above {LATE:g} ms are left out", flush=True)
    return found


def profile(cell):
    faults = []
    if cell["loss"]:
        faults.append({"kind": "loss", "stream": "downstream", "rate": f"{cell['loss']:g} %", "burst": cell["burst"],
                       "rtt": f"{cell['roundTrip']} ms", "sender": cell["sender"], "link": f"{LINK / 1e6:.0f} Mbit/s"})
    faults.append({"kind": "latency", "delay": f"{cell['roundTrip'] / 2:g} ms"})
    return {"name": f"cell-{cell['port']}", "faults": faults}


def measure_proxy(cells, plan, path, seed):
    need_built(LOSS_LINK, "swift build -c release --product loss-link")
    need_built(SQUALL, "make build")
    programs, namespace = Programs(), None
    with tempfile.TemporaryDirectory(prefix="loss-lab-") as folder:
        try:
            if os.geteuid() == 0:
                namespace = Namespace()
            start_server(programs, namespace, "127.0.0.1", cells, lambda cell: "cubic")
            ports = {cell["port"]: cell["port"] - FIRST_PORT + FIRST_PROXY_PORT for cell in cells}
            config = os.path.join(folder, "proxies.json")
            with open(config, "w") as file:
                json.dump([{"name": f"cell-{cell['port']}", "listen": f"127.0.0.1:{ports[cell['port']]}",
                            "upstream": f"127.0.0.1:{cell['port']}", "profile": profile(cell)} for cell in cells], file)
            errors = os.path.join(folder, "errors")
            with open(errors, "w") as messages:
                proxy = programs.start(namespace, [SQUALL, "serve", "--config", config, "--seed", str(seed)],
                                       stdin=subprocess.DEVNULL, stdout=messages, stderr=messages)
                wait_for_listener(namespace, max(ports.values()), proxy, errors)
                results = fetch(programs, namespace, "127.0.0.1", plan, ports, folder)
        finally:
            programs.end()
            if namespace:
                namespace.close()
        save(path, {"squall": SQUALL}, plan, results, {})


def wait_for_listener(namespace, port, process, errors):
    limit = time.monotonic() + 20
    while time.monotonic() < limit and process.poll() is None:
        with Inside(namespace), open("/proc/thread-self/net/tcp") as table:
            if any(line.split()[1].endswith(f":{port:04X}") and line.split()[3] == "0A" for line in list(table)[1:]):
                return
        time.sleep(0.05)
    with open(errors) as file:
        raise Unfit(f"squall serve does not start: {file.read().strip()[-500:]}")


def need_built(path, command):
    if not os.access(path, os.X_OK):
        raise Unfit(f"{path} is missing: build it with `{command}`")


# ---- Metrics


class Measured:
    """The metrics of a cell from its lines of a file."""

    def __init__(self, round_trip):
        self.round_trip = round_trip
        self.flows, self.times, self.late = [], defaultdict(list), 0

    def add(self, line):
        if line.get("late", 0) > LATE:
            self.late += 1
        elif line["kind"] == "bulk":
            self.flows.append(Flow(line))
        elif line["kind"] == "connect":
            self.times["connect"].append(line["time"] + line.get("connect", 0))
        elif line.get("accept", 0) <= self.round_trip / 2000 + LATE_ACCEPT:
            self.times[line["kind"]].append(line["time"])

    def half(self, number):
        part = Measured(self.round_trip)
        part.flows = self.flows[number::2]
        part.times = defaultdict(list, {kind: times[number::2] for kind, times in self.times.items()})
        return part

    @property
    def goodput(self):
        """Mbit/s."""
        return statistics.fmean(flow.goodput for flow in self.flows) / 1e6 if self.flows else math.nan

    def stalled(self, least):
        """The share of time in gaps of more than so many round trips."""
        length = sum(flow.length for flow in self.flows)
        found = sum(gap for flow in self.flows for gap in flow.gaps if gap > least * self.round_trip)
        return found / length if length else math.nan

    def gaps(self, low, high=math.inf):
        """Gaps a second from `low` to `high` ms."""
        length = sum(flow.length for flow in self.flows) / 1000
        found = sum(low <= gap < high for flow in self.flows for gap in flow.gaps)
        return found / length if length else math.nan

    @property
    def longest(self):
        """The longest gap of a flow in ms, the median."""
        return statistics.median(max(flow.gaps) for flow in self.flows) if self.flows else math.nan

    @property
    def bins(self):
        return [count for flow in self.flows for count in flow.bins]

    def quantile(self, kind, share):
        """Seconds."""
        times = sorted(self.times[kind])
        return times[min(len(times) - 1, int(share * len(times)))] if times else math.nan

    def dictionary(self):
        trip = self.round_trip
        return {"flows": len(self.flows), "late": self.late, "goodput": self.goodput, "stalled0.6": self.stalled(0.6),
                "stalled1.5": self.stalled(1.5),
                **{f"gaps{low}-{low + 1}": self.gaps(low * trip, (low + 1) * trip) for low in (1, 2, 3)},
                "gaps200": self.gaps(200) * 60, "longest": self.longest,
                **{f"{kind}p{part}": self.quantile(kind, part / 100) for kind in SIZES for part in (50, 90)}}


class Flow:
    """A bulk flow: gaps between its deliveries in ms, and bytes in each 100 ms."""

    def __init__(self, line):
        deliveries, end = line["deliveries"], line["seconds"] * 1000
        deliveries = [(moment, count) for moment, count in deliveries if moment <= end]
        first = deliveries[0][0] if deliveries else 0
        self.length = end - first
        self.goodput = sum(count for _, count in deliveries) * 8000 / self.length
        moments = [moment for moment, _ in deliveries] + [end]
        self.gaps = [after - before for before, after in zip(moments, moments[1:])] or [self.length]
        self.bins = [0] * max(0, int((end - SETTLED) // BIN))
        for moment, count in deliveries:
            index = int((moment - SETTLED) // BIN)
            if 0 <= index < len(self.bins):
                self.bins[index] += count


def key(line):
    return line["sender"], float(line["loss"]), line["roundTrip"], line["burst"]


def read_file(path):
    """The measured cells of a file; those of the connects have a key of their own."""
    found = {}
    with opened(path, "r") as lines:
        for text in lines:
            line = json.loads(text)
            if line["kind"] in ("bulk", "connect") or line["kind"].isdigit():
                place = (*key(line), "connect") if line["kind"] == "connect" else key(line)
                found.setdefault(place, Measured(line["roundTrip"])).add(line)
    return found


def distance(one, other):
    """The Kolmogorov–Smirnov distance of two samples."""
    if not one or not other:
        return math.nan
    one, other = sorted(one), sorted(other)
    return max(abs(bisect.bisect_right(one, value) / len(one) - bisect.bisect_right(other, value) / len(other))
               for value in set(one) | set(other))


def within(one, other, factor):
    return one > 0 and other > 0 and max(one, other) / min(one, other) <= factor


def apart(one, other, part):
    """Whether `other` is within a part of `one`."""
    return one > 0 and abs(other / one - 1) <= part


CRITERIA = {
    "goodput": ("within 15 %", lambda a, b: apart(a.goodput, b.goodput, 0.15)),
    "stalled": ("gaps above 1.5 round trips: share of time within 1.3 times, or both below 1 %",
                lambda a, b: (a.stalled(1.5) < 0.01 and b.stalled(1.5) < 0.01)
                or within(a.stalled(1.5), b.stalled(1.5), 1.3)),
    "longest": ("longest gap within 1.5 times", lambda a, b: within(a.longest, b.longest, 1.5)),
    "KS": ("bytes in 100 ms: distance up to 0.12", lambda a, b: distance(a.bins, b.bins) <= 0.12),
    "p50": ("of 100 KB within 15 %", lambda a, b: apart(a.quantile("100000", 0.5), b.quantile("100000", 0.5), 0.15)),
    "p90": ("of 100 KB within 15 %", lambda a, b: apart(a.quantile("100000", 0.9), b.quantile("100000", 0.9), 0.15)),
}


def name(place):
    sender, loss, round_trip, burst = place[:4]
    return f"{sender:5} {loss:4g} % {round_trip:4} ms {burst}"


def print_metrics(measured):
    print("\ncell               n late  Mbit/s  >0.6RTT >1.5RTT  gaps/s of 1, 2, 3 RTT  >200ms/min longest"
          "   10KB p50 p90    100KB p50 p90      1MB p50 p90")
    for place, cell in sorted(measured.items(), key=lambda entry: order(entry[0])):
        if len(place) > 4:
            continue
        row = cell.dictionary()
        print(f"{name(place)} {row['flows']:3} {row['late']:4} {row['goodput']:7.2f} {row['stalled0.6']:8.3f} "
              f"{row['stalled1.5']:7.3f}  {row['gaps1-2']:6.2f} {row['gaps2-3']:6.2f} {row['gaps3-4']:6.2f} "
              f"{row['gaps200']:12.1f} {row['longest']:7.0f}  "
              + "  ".join(f"{row[f'{kind}p50']:7.3f} {row[f'{kind}p90']:7.3f}" for kind in SIZES))
    for place, cell in sorted(measured.items()):
        if len(place) > 4:
            times = cell.times["connect"]
            shares = [sum(time > limit for time in times) / len(times) for limit in (0.9, 2.9)]
            print(f"connects at {place[1]:g} %, {place[2]} ms: {len(times)}, later than 0.9 s {shares[0] * 100:.1f} %,"
                  f" than 2.9 s {shares[1] * 100:.1f} %")


def order(place):
    return SENDERS.index(place[0]), place[3], place[1], place[2]


def compare(kernel, other, parts):
    """Prints a row for each cell; the numbers of criteria that hold, by part."""
    print("\n" + "; ".join(f"{title}: {text}" for title, (text, _) in CRITERIA.items()))
    print("kernel/other; * marks what doesn't hold\n")
    print("cell               part        Mbit/s            >1.5RTT         longest        KS     "
          "100KB p50        100KB p90")
    held = defaultdict(lambda: defaultdict(list))
    for place in sorted((place for place in kernel if place in other and place in parts), key=order):
        one, two = kernel[place], other[place]
        verdicts = {title: bool(test(one, two)) for title, (_, test) in CRITERIA.items()}
        for title, verdict in verdicts.items():
            held[parts[place]][title].append(verdict)
        mark = {title: " " if verdict else "*" for title, verdict in verdicts.items()}
        print(f"{name(place)} {parts[place]} {one.goodput:7.2f}/{two.goodput:7.2f}{mark['goodput']} "
              f"{one.stalled(1.5):6.3f}/{two.stalled(1.5):6.3f}{mark['stalled']} "
              f"{one.longest:6.0f}/{two.longest:6.0f}{mark['longest']} {distance(one.bins, two.bins):6.3f}{mark['KS']} "
              f"{one.quantile('100000', .5):7.3f}/{two.quantile('100000', .5):7.3f}{mark['p50']} "
              f"{one.quantile('100000', .9):7.3f}/{two.quantile('100000', .9):7.3f}{mark['p90']}")
    for part, titles in sorted(held.items()):
        print(f"{part}: " + ", ".join(f"{title} {sum(found)} of {len(found)}" for title, found in titles.items()))
    return held


def table(paths, seed, as_json=None):
    """The metrics of each file, and the second beside the first; whether every criterion holds for judging."""
    parts = {key(cell): cell["part"] for cell in all_cells(seed) if cell["part"] in ("fitting", "judging")}
    files = [read_file(path) for path in paths]
    for path, measured in zip(paths, files):
        print(f"\n== {path}")
        print_metrics(measured)
    kernel = files[0]
    print(f"\n== The noise: one half of the flows of {paths[0]} beside the other")
    halves = [{place: cell.half(number) for place, cell in kernel.items()} for number in (0, 1)]
    compare(*halves, parts)
    held = {}
    if len(files) > 1:
        print(f"\n== {paths[1]} beside {paths[0]}")
        held = compare(kernel, files[1], parts)
    if as_json:
        with open(as_json, "w") as file:
            json.dump([{" ".join(map(str, place)): cell.dictionary() for place, cell in measured.items()}
                       for measured in files], file, indent=1)
    return all(all(found) for found in held.get("judging", {}).values())


def check_link(path):
    """Whether a flow without loss fills the link, and a byte takes a round trip."""
    cell = read_file(path).get(("cubic", 0.0, 20, 1))
    if not cell or not cell.flows or not cell.times["8"]:
        print("self-check: its flow is missing or was late")
        return False
    share = sum(cell.flows[0].bins) * 8000 / (len(cell.flows[0].bins) * BIN) / LINK
    trip = statistics.median(cell.times["8"]) * 1000
    fine = share >= 0.9 and abs(trip - 20) <= 2
    print(f"self-check: without loss a flow has {share * 100:.0f} % of the link (90 or more hold), 8 bytes take"
          f" {trip:.2f} ms (20 ± 2 hold): {'holds' if fine else 'does NOT hold'}")
    return fine


# ---- The command


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", default="all", choices=["all", "kernel", "proxy", "table"])
    parser.add_argument("files", nargs="*", help="of `table`: one or two")
    parser.add_argument("--seed", type=int, default=1, help="of losses, and of the parts of cells (default: 1)")
    parser.add_argument("--minutes", type=float, default=12, help="how long all is to take, about (default: 12)")
    parser.add_argument("--save", help="the file of `kernel` or `proxy`, or the folder of `all`")
    parser.add_argument("--flows", type=int, help="bulk flows a cell, instead of as many as fit")
    parser.add_argument("--bbr-flows", type=int, help="the same with bbr")
    parser.add_argument("--transfers", type=int, help="transfers of 100 KB a cell; half as many of 10 KB and 1 MB")
    parser.add_argument("--seconds", type=float, default=30, help="of a bulk flow (default: 30)")
    parser.add_argument("--budget", type=float, help="Mbit/s at a time (default: 250, through the proxy 1500)")
    parser.add_argument("--only", help="cells whose name has this text, as in 'cubic    1 %%   50 ms 1'")
    parser.add_argument("--log", help="`kernel`: a file for every packet of the first cell of --only")
    parser.add_argument("--json", help="`table`: a file for the metrics")
    arguments = parser.parse_args()
    if arguments.files and arguments.what != "table" or len(arguments.files) > 2:
        parser.error("only `table` takes files, one or two")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        sys.exit(0 if run(arguments, parser) else 1)
    except Unfit as problem:
        print(f"loss_lab.py: {problem}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)


def run(arguments, parser):
    if arguments.what == "table":
        if not arguments.files:
            parser.error("`table` takes one or two files")
        return table(arguments.files, arguments.seed, arguments.json)
    cells = all_cells(arguments.seed)
    if arguments.only:
        cells = [cell for cell in cells if arguments.only in name(key(cell)) and cell["part"] != "connect"]
        if not cells:
            raise Unfit(f"no cell's name has {arguments.only!r}: they are as in {name(key(all_cells(1)[0]))!r}")
    sides = ["kernel", "proxy"] if arguments.what == "all" else [arguments.what]
    if "kernel" in sides:
        need_root()
    if not arguments.save:
        if arguments.what != "all":
            parser.error(f"`{arguments.what}` needs --save FILE")
        arguments.save = tempfile.mkdtemp(prefix="loss-lab-results-")
    paths, fine = [], True
    for side in sides:
        path = os.path.join(arguments.save, f"{side}.jsonl.gz") if arguments.what == "all" else arguments.save
        budget = (arguments.budget or (250 if side == "kernel" else 1500)) * 1e6
        share = {"kernel": 0.7, "proxy": 0.3}[side] if arguments.what == "all" else 1
        amounts = Amounts.within(cells, arguments.minutes * share, budget, arguments.seconds)
        if arguments.flows:
            amounts = Amounts(arguments.flows, arguments.bbr_flows or max(1, arguments.flows // 2),
                              arguments.transfers or 60, arguments.seconds)
        plan = Plan(cells, amounts, budget)
        print(f"{side}: {len(cells)} cells, {amounts}: about {plan.seconds / 60:.1f} minutes, {path}", flush=True)
        if side == "kernel":
            log = [arguments.log, str(cells[0]["port"])] if arguments.log else None
            measure_kernel(cells, plan, path, arguments.seed, log)
            if not arguments.only:
                fine = check_link(path)
        else:
            measure_proxy(cells, plan, path, arguments.seed)
        paths.append(path)
    return table(paths, arguments.seed, arguments.json) and fine


if __name__ == "__main__":
    main()
