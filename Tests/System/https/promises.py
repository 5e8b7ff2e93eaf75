#!/usr/bin/env python3
"""Whether TLS on both sides changes nothing but what it has to: the promises of docs/https.md, with real clients.

    make https                                    installs them first; four minutes
    SQUALL=.build/debug/squall python3 Tests/System/https/promises.py cuts protocols      some of the parts

cuts       400 cuts at random N of 10 MB of content with each of five clients: by FIN exactly N are read, by reset N were sent and at
           most N are read
scenarios  every shipped profile but tls-gauntlet, with curl, `squall get` and `squall put`: the same outcome, the same bytes, and the same
           faults at the same offsets of the content as without TLS
handshake  a delay, a loss and an outage act on the handshake: curl's time_appconnect
protocols  upstreams with HTTP/1.1 alone, HTTP/2 alone and without ALPN: eight clients negotiate and get what they do without a proxy

Exits 1 if something doesn't hold, or if a client is missing.
"""
import argparse, concurrent.futures, contextlib, json, os, random, shutil, socket, ssl, statistics, subprocess, sys, tempfile, time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import clients
from kit import programs
from kit.certificates import make_certificates
from kit.squall import Origin, Proxy, digest
from kit.verdicts import finish, verdict

SIZE = 10_000_000


class Setup:
    """A folder with certificates and compiled clients, and the ports of the server: with HTTP/1.1, with HTTP/2, and without ALPN."""

    def __init__(self, work, ports):
        self.work, self.ports, self.authority = work, ports, f"{work}/ca.pem"

    def proxy(self, profile, *options, port=None, authority=None):
        """A proxy with TLS on both sides."""
        return Proxy(profile, f"localhost:{port or self.ports['h1']}", "--tls-cert", f"{self.work}/leaf.pem", "--tls-key", f"{self.work}/leaf.key",
                     "--ca-file", authority or self.authority, *options, tls=True)

    def said(self, client, port, path, times=1):
        return clients.said(client, f"https://localhost:{port}/{path}", self.authority, self.work, times)


@contextlib.contextmanager
def prepared():
    with tempfile.TemporaryDirectory(prefix="squall-https-") as work:
        make_certificates(work)
        clients.compiled(work)
        clients.compile_go(work, "serve")
        clients.variables(f"{work}/ca.pem", work)
        server = programs.start([f"{work}/serve", f"{work}/leaf.pem", f"{work}/leaf.key"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            yield Setup(work, dict(zip(("h1", "h2", "none"), server.stdout.readline().split())))
        finally:
            programs.end(server)


# Cuts


def cuts(setup):
    url = f"https://localhost:{setup.ports['h1']}/{SIZE}"
    head = len(subprocess.run(["curl", "-sI", "--cacert", setup.authority, url], stdout=subprocess.PIPE, check=True).stdout)
    for client in clients.NAMES:
        for how in ("close", "reset"):
            generator = random.Random(f"{client} {how}")
            wanted = [generator.randrange(1, SIZE) for _ in range(200)]
            fault = {"kind": "cut", "stream": "downstream", "at": [f"{head + count} B" for count in wanted], "how": how}
            with setup.proxy({"faults": [fault]}) as proxy:
                read = [count for count, _, _ in setup.said(client, proxy.port, SIZE, len(wanted))]
            sent = [offset - head for _, offset in proxy.cuts()]
            exact, most = sum(map(int.__eq__, read, wanted)), sum(map(int.__le__, read, wanted))
            verdict("cuts", sent == wanted and most == len(wanted) and (how == "reset" or exact == most),
                    f"{client} {how}: {sum(map(int.__eq__, sent, wanted))} of {len(wanted)} sent, {exact} read exactly, {most} at most")


# Scenarios


def outcome(command, result, limit=60):
    """The exit code of a client, or that it has none, and the digest of its file."""
    try:
        code = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=limit).returncode
    except subprocess.TimeoutExpired:
        code = "no end"
    found = digest(result) if os.path.exists(result) else None
    # What was read before a failure depends on more than the fault, and its exit code is another one with TLS.
    return ("fails", None) if command[0] == "curl" and code else (code, found)


def injected(proxy):
    """The faults of the content, with their offsets, but for those by the clock."""
    with open(proxy.journal) as file:
        lines = [line for line in map(json.loads, file) if line.get("what") in ("discards", "answers", "drops") or "offset" in line]
    return sorted((line["connection"], line["what"], line["fault"], line.get("offset", -1)) for line in lines if line["what"] not in ("loses", "silences"))


def visited(client, proxy, origin, folder, trust):
    """What comes of a scenario."""
    scheme = "https" if trust else "http"
    name = os.path.basename(folder)
    path, url = f"{folder}/file.bin", f"{scheme}://localhost:{proxy.port}"
    trusting = ["--ca-file", trust] if trust else []
    own = ["--seed", "1", "--attempts", "3", *trusting]
    if client == "put":
        shutil.copy(os.path.join(origin.folder, "file.bin"), path)
        return outcome([programs.SQUALL, "put", path, f"{url}/{name}.bin", "--state", f"{folder}/state", *own], f"{origin.folder}/{name}.bin")
    if client == "get":
        return outcome([programs.SQUALL, "get", f"{url}/file.bin", "--output", path, *own], path)
    return outcome(["curl", "-s", "--http1.1", "-m", "30", "-o", path, f"{url}/file.bin", *(["--cacert", trust] if trust else [])], path)


def scenarios(setup):
    folder = os.path.join(programs.ROOT, "Profiles")
    names = sorted(name[:-5] for name in os.listdir(folder) if name.endswith(".json") and ".schema" not in name and name != "tls-gauntlet.json")
    with Origin() as plain, Origin(tls=True) as secure:
        content = random.Random(5).randbytes(1_100_000)
        for origin in (plain, secure):
            with open(os.path.join(origin.folder, "file.bin"), "wb") as file:
                file.write(content)

        def run(job):
            name, client = job
            found = []
            for origin in (plain, secure):
                own = tempfile.mkdtemp(dir=setup.work)
                profile = os.path.join(folder, f"{name}.json")
                if origin is secure:
                    proxy = setup.proxy(profile, "--seed", "3", port=secure.port, authority=secure.authority)
                else:
                    proxy = Proxy(profile, plain.port, "--seed", "3")
                with proxy:
                    told = visited(client, proxy, origin, own, setup.authority if origin is secure else None)
                found.append((*told, injected(proxy)))
            return found

        jobs = [(name, client) for name in names for client in ("curl", "get", "put")]
        with concurrent.futures.ThreadPoolExecutor(12) as pool:
            for (name, client), (without, within) in zip(jobs, pool.map(run, jobs)):
                same = without == within
                verdict("scenarios", same, f"{name} {client}: {without[0]}, {(without[1] or '-')[:8]}, {len(without[2])} faults"
                        + ("" if same else f"; with TLS {within[0]}, {(within[1] or '-')[:8]}: {without[2][:3]}, {within[2][:3]}"))


# The handshake


def appconnect(setup, proxy, *options):
    """curl's exit code, and its seconds for the connection and for the handshake."""
    done = subprocess.run(["curl", "-s", "-o", "/dev/null", "-m", "10", "--cacert", setup.authority, "-w", "%{time_connect} %{time_appconnect}", *options,
                           f"https://localhost:{proxy.port}/1"], stdout=subprocess.PIPE, text=True)
    return done.returncode, *map(float, done.stdout.split())


def handshakes(setup, proxy, count):
    """The seconds of handshakes alone."""
    context = ssl.create_default_context(cafile=setup.authority)
    for _ in range(count):
        start = time.monotonic()
        with context.wrap_socket(socket.create_connection(("127.0.0.1", proxy.port)), server_hostname="localhost"):
            yield time.monotonic() - start


def handshake(setup):
    with setup.proxy({"faults": [{"kind": "latency", "delay": "100 ms"}]}) as proxy:
        for version, options, wanted in (("1.3", ["--tlsv1.3"], 0.2), ("1.2", ["--tls-max", "1.2"], 0.4)):
            found = [appconnect(setup, proxy, *options) for _ in range(9)]
            times = [secure for _, _, secure in found]
            holds = abs(statistics.median(times) - wanted) <= 0.02 and max(connect for _, connect, _ in found) < 0.02
            verdict("handshake", holds and not any(code for code, *_ in found),
                    f"100 ms each way, TLS {version}: time_appconnect {statistics.median(times):.3f} s at the median ({min(times):.3f} to "
                    f"{max(times):.3f}), time_connect at most {max(connect for _, connect, _ in found) * 1e3:.1f} ms")
    with setup.proxy({"seed": 1, "faults": [{"kind": "loss", "stream": "downstream", "rate": "20 %", "rtt": "100 ms"}]}) as proxy:
        times = list(handshakes(setup, proxy, 20))
    with open(proxy.journal) as file:
        lines = [json.loads(line) for line in file]
    # A lost SYN makes it late as well.
    lost = {line["connection"] for line in lines if line.get("what") == "loses" and line["offset"] < 3_000}
    late = {number for number, seconds in enumerate(times, 1) if seconds > 0.1}
    dialed = {line["connection"] for line in lines if line.get("what") == "connects late"}
    verdict("handshake", lost and lost <= late <= lost | dialed, f"20 % loss: of 20 handshakes {len(late)} take longer than a round trip, {len(lost)} "
            f"of which lose a segment and {len(dialed)} a SYN")
    for how, wanted in (("silence", 0), ("reset", 35)):
        with setup.proxy({"faults": [{"kind": "outage", "how": how, "when": {"clock": "..2 s"}}]}) as proxy:
            code, _, seconds = appconnect(setup, proxy)
        verdict("handshake", code == wanted and (wanted or 1 < seconds < 2.1), f"an outage of 2 s, {how}: curl exits with {code}, handshake {seconds:.2f} s")


# What ALPN negotiates


def protocols(setup):
    def told(client, port):
        count, negotiated, problem = setup.said(client, port, 300_000)[0]
        return f"{count} B by {negotiated or '-'} {problem.replace(str(port), 'PORT')}"

    for kind, port in setup.ports.items():
        with setup.proxy({}, port=port) as proxy:
            for client in clients.COMMANDS:
                direct, through = told(client, port), told(client, proxy.port)
                verdict("protocols", direct == through, f"{kind} {client}: {direct}" + ("" if direct == through else f"; through Squall {through}"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = {"cuts": cuts, "scenarios": scenarios, "handshake": handshake, "protocols": protocols}
    parser.add_argument("parts", nargs="*", choices=[[], *parts], help="without one all")
    options = parser.parse_args()
    programs.need_squall()
    with prepared() as setup:
        for name in options.parts or parts:
            parts[name](setup)
    finish()


main()
