"""Typical profiles: what each delivers of what it promises, and what that costs, with the default number of loops.

A sample has a proxy of its own, whose first connection is the one that `squall plan` predicts. Round trips are promised
by the delays, goodput by the rate or by the forecast, and cuts by their offsets. HAProxy has the same load without the
fault, and Toxiproxy the faults that it has; both are what their rows say, no promise.
"""
import http.client, json, os, random, resource, socket, statistics, struct, subprocess, tempfile, time, urllib.request

from kit import machine

from . import programs
from .cases import Meter
from .peers import CORES, squall, haproxy, toxiproxy
from .programs import Backend, Failure, Proxy, fill, free_port, load

DELAY, RATE, MEBIBYTE = 0.020, 50e6 / 8, 1 << 20
SHORTCUTS = {"wifi-roam": os.path.join(programs.ROOT, "Profiles", "wifi-roam.json")}
FAULTS = {
    "latency": [{"kind": "latency", "delay": "20 ms", "jitter": "5 ms"}],
    "rate": [{"kind": "latency", "delay": "20 ms"}, {"kind": "bandwidth", "rate": "50 Mbit/s"}],
    "loss": [{"kind": "loss", "rate": "1 %", "rtt": "20 ms"}],
    "cuts": [{"kind": "cut", "stream": "downstream", "every": "1 MiB", "of": "resource"}],
}
TITLES = {"latency": "latency 20 ms ± 5 ms, 64 round trips", "rate": "50 Mbit/s and latency 20 ms, a download",
          "wifi-roam": "wifi-roam, a download of 20 MiB", "loss": "loss 1 % at 20 ms, a download of 2 MiB",
          "cuts": "a cut for each MiB of a resource, HTTP kept alive"}
CASES = tuple(TITLES)
SIZES = {"wifi-roam": 20 << 20, "loss": 2 << 20}
FIGURES = ("of promise", "s/GB", "s/10k", "p50 ms", "p99 ms")
CONTROLS = ("bbr", "cubic")
NOTE = """\
`of promise` is goodput to the rate of the profile or to the forecast of `squall plan`, for round trips two delays to
their median, and for cuts the part at the exact byte. `haproxy` has the same load without the fault, as many threads,
and for the rate as much as passes. `TOXIPROXY=/path/to/toxiproxy-server` adds rows for it; on another machine of two
cores it gave 0.997, 0.996 and 0.880 of rates of 1, 10 and 100 MB/s, and delays of 1, 10 and 100 ms 0.28, 0.67 and 0.76 ms
late."""

TOXICS = {
    "latency": [("latency", stream, {"latency": 20, "jitter": 5}) for stream in ("upstream", "downstream")],
    "rate": [*(("latency", stream, {"latency": 20, "jitter": 0}) for stream in ("upstream", "downstream")),
             *(("bandwidth", stream, {"rate": int(RATE / 1000)}) for stream in ("upstream", "downstream"))],
}


def peers(with_old):
    """Pairs of a case and a peer, in the order of the table."""
    for case in CASES:
        profile = squall("squall", FAULTS.get(case, ()), "", shipped=SHORTCUTS.get(case))
        yield case, profile
        if with_old:
            yield case, profile.twin()
        if case in ("latency", "rate", "cuts"):
            yield case, haproxy("haproxy", CORES)
        if case in TOXICS and os.environ.get("TOXIPROXY"):
            yield case, toxiproxy()


def add_toxics(control, name, toxics):
    """Gives the proxy `name` these toxics, by the API at the port `control` (Toxiproxy's, which Squall has as well)."""
    for number, (kind, stream, attributes) in enumerate(toxics):
        body = {"name": f"{kind}-{number}", "type": kind, "stream": stream, "attributes": attributes}
        request = urllib.request.Request(f"http://127.0.0.1:{control}/proxies/{name}/toxics", json.dumps(body).encode(),
                                         {"Content-Type": "application/json"})
        urllib.request.urlopen(request, timeout=10).close()


def forecast(case):
    """What `squall plan` predicts for the download of a case: seconds, and by how many percent a run may differ."""
    with tempfile.TemporaryDirectory() as folder:
        profile = SHORTCUTS.get(case)
        if not profile:
            profile = os.path.join(folder, "profile.json")
            with open(profile, "w") as file:
                json.dump({"name": case, "faults": FAULTS[case]}, file)
        # The draws depend on the proxy's name: that of `squall run` is proxy.
        out = subprocess.run([programs.SQUALL, "plan", profile, "--name", "proxy", "--size", f"{SIZES[case]}B",
                              "--seed", "1", "--events", "json"], stdout=subprocess.PIPE, check=True).stdout
    event = json.loads(out)
    return event["seconds"], event["withinPercent"]


class Cost:
    """Processor time of a proxy, and what others use meanwhile; the load may be child processes or this one."""

    def __init__(self, proxy, backend):
        self.meter, self.before = Meter(proxy, backend), self._own()

    def _own(self):
        return sum(used.ru_utime + used.ru_stime
                   for used in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))

    def stop(self):
        return self.meter.stop(self._own() - self.before)


def trips(peer, proxy, backend, scale):
    # Without the delay they come in the same rhythm.
    interval = () if peer.has_faults else (int(2 * DELAY * 1e6),)
    cost = Cost(proxy, backend)
    found = load("rounds", proxy.port, 64, scale.typical_seconds, *interval)
    used = cost.stop()
    # The warm-up costs as much as the rest, and is not counted.
    counted = scale.typical_seconds / (scale.typical_seconds + min(0.2, 0.2 * scale.typical_seconds))
    return {"of promise": 2e6 * DELAY / found["p50"] if peer.has_faults else None,
            "s/10k": used["proxy"] * counted / found["count"] * 1e4, "p50 ms": found["p50"] / 1000,
            "p99 ms": found["p99"] / 1000, "others": used["others"]}


def metered(peer, proxy, backend, scale):
    cost = Cost(proxy, backend)
    found = load("meter", proxy.port, scale.typical_seconds, 50)
    used = cost.stop()
    return {"of promise": found["rate"] / RATE if peer.has_faults else None,
            "s/GB": used["proxy"] / found["bytes"] * 1e9, "others": used["others"]}


def download(case, peer, proxy, backend, scale):
    size = SIZES[case]
    if scale.quick:
        size //= 4
    cost = Cost(proxy, backend)
    start, left, room = time.monotonic(), size, bytearray(MEBIBYTE)
    with socket.create_connection(("127.0.0.1", proxy.port), timeout=60) as connection:
        connection.sendall(b"S".ljust(8, b"\0") + struct.pack("=Q", size))
        while left:
            count = connection.recv_into(room)
            if not count:
                raise Failure(f"the download ended {left} bytes early")
            left -= count
    seconds = time.monotonic() - start
    used = cost.stop()
    promised, within = scale.forecasts.get(case, (None, None))
    return {"of promise": promised / seconds if promised else None, "s/GB": used["proxy"] / size * 1e9,
            "others": used["others"], "within": within}


class Origin:
    """nginx with a large file and a small one."""

    LARGE, SMALL = 4 * MEBIBYTE, 1_024

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="squall-bench-")
        os.chmod(self.folder, 0o755)
        self.port = free_port()
        paths = " ".join(f"{kind}_temp_path {{folder}}/{kind};"
                         for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        text = ("daemon off; worker_processes 1; pid {folder}/pid; error_log stderr crit; master_process off; events {} "
                "http { access_log off; keepalive_requests 1000000; " + paths +
                " server { listen 127.0.0.1:{port}; root {folder}; } }")
        with open(os.path.join(self.folder, "nginx.conf"), "w") as file:
            file.write(fill(text, {"folder": self.folder, "port": self.port}))
        for name, size in (("large", self.LARGE), ("small", self.SMALL)):
            with open(os.path.join(self.folder, name), "wb") as file:
                file.write(random.Random(size).randbytes(size))
        self.process = programs.start(["nginx", "-p", self.folder, "-e", "stderr", "-c",
                                       os.path.join(self.folder, "nginx.conf")], stdin=subprocess.DEVNULL,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.pid = self.process.pid
        deadline = time.monotonic() + 10
        while not machine.is_listening(self.port):
            if time.monotonic() > deadline or self.process.poll() is not None:
                self.__exit__()
                raise Failure("nginx does not start")
            time.sleep(0.02)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        programs.end(self.process)
        programs.shutil.rmtree(self.folder, ignore_errors=True)


def kept_alive(peer, proxy, origin, scale):
    """Small requests and a part of the large file on each connection, until it is cut, or without the fault closed by the
    client at the same byte."""
    cost, until = Cost(proxy, origin), time.monotonic() + scale.typical_seconds
    times, requests, moved, exact, tried, start = [], 0, 0, 0, 0, 0
    while time.monotonic() < until:
        connection = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=20)
        for _ in range(8):
            begun = time.perf_counter()
            connection.request("GET", "/small")
            moved += len(connection.getresponse().read())
            times.append(time.perf_counter() - begun)
        end = min((start // MEBIBYTE + 1) * MEBIBYTE, Origin.LARGE)
        last = "" if peer.has_faults else str(end - 1)
        connection.request("GET", "/large", headers={"Range": f"bytes={start}-{last}"})
        response, got = connection.getresponse(), 0
        try:
            while piece := response.read(1 << 16):
                got += len(piece)
        except http.client.IncompleteRead as cut:
            got += len(cut.partial)
        except ConnectionResetError:
            pass
        connection.close()
        exact, tried, requests, moved = exact + (got == end - start), tried + 1, requests + 9, moved + got
        start = end % Origin.LARGE
    used = cost.stop()
    cuts = statistics.quantiles(times, n=100)
    return {"of promise": exact / tried if peer.has_faults else None, "s/GB": used["proxy"] / moved * 1e9,
            "s/10k": used["proxy"] / requests * 1e4, "p50 ms": cuts[49] * 1000, "p99 ms": cuts[98] * 1000,
            "others": used["others"]}


def sample(case, peer, scale):
    """The figures of a case, with a proxy of its own."""
    with (Origin() if case == "cuts" else Backend()) as backend, Proxy(peer, backend.port) as proxy:
        if peer.name == "toxiproxy":
            add_toxics(proxy.control, "bench", TOXICS[case])
        if case == "latency":
            return trips(peer, proxy, backend, scale)
        if case == "rate":
            return metered(peer, proxy, backend, scale)
        if case == "cuts":
            return kept_alive(peer, proxy, backend, scale)
        return download(case, peer, proxy, backend, scale)
