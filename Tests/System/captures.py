#!/usr/bin/env python3
"""Reads captures of `squall run` and `squall exec` with tshark: is every packet well formed, and every fault where it acted?

    make captures
    SQUALL=.build/debug/squall python3 Tests/System/captures.py scenarios kill      some of the parts

scenarios   every shipped profile, for some seconds
addresses   IPv4, IPv6, Unix-domain sockets, a forward proxy, `squall exec`, and TLS with its secrets, also of TLS 1.2 on
            either side and of a server that asks for another ClientHello; a cut behind TLS is on the packet of the reset
limits      1,000 connections with limits of 1 and 16 MiB, and on a disk of 8 MiB: bounded, readable, and no
            client loses a byte
kill        SIGKILL in mid-capture
speed       downloads with a capture beside those without one whose bytes aren't spliced either; not run unless named

No packet is malformed or suspect to `tcp.analysis`, each line of the journal about a connection is a comment on a packet,
and the objects that tshark exports are what was sent. Exits 1 if something doesn't hold.
"""
import argparse, collections, concurrent.futures, contextlib, json, os, re, signal, ssl, statistics, subprocess, sys, tempfile, threading, time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from kit import programs, web
from kit.certificates import make_certificates
from kit.squall import Origin
from kit.verdicts import finish, verdict

SIZE = 1_100_000
NOTE = re.compile(r"^(\S+) “(.+?)” (.+?)(?:, (upstream|downstream))?(?:, offset (\d+))?(?:, of [a-z ]+ of request \d+)?"
                  r"(?:, connection (\d+)), proxy “")


def read(path, *options):
    run = subprocess.run(["tshark", "-r", path, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace")
    return run.stdout.splitlines(), run.returncode


def comments(path):
    lines, _ = read(path, "-Y", "frame.comment", "-T", "fields", "-E", "aggregator=|", "-e", "frame.comment")
    return [comment for line in lines for comment in line.split("|")]


def noted(path):
    """The comments of faults, as a journal has them: what, fault, direction, offset, connection."""
    found = collections.Counter()
    for match in filter(None, map(NOTE.match, comments(path))):
        _, fault, what, direction, offset, connection = match.groups()
        found[what, fault, direction, offset and int(offset), int(connection)] += 1
    return found


def journalled(path):
    found = collections.Counter()
    with open(path, encoding="utf-8") as file:
        for entry in map(json.loads, file):
            if "what" in entry and "connection" in entry and "fault" in entry:
                found[entry["what"], entry["fault"], entry.get("direction"), entry.get("offset"), entry["connection"]] += 1
    return found


def problems(path):
    """What tshark doesn't like in a capture."""
    found, code = read(path, "-Y", "_ws.malformed or tcp.analysis.flags or _ws.short")
    return found[:3] + ([f"tshark exits with {code}"] if code else [])


def objects(path, folder):
    """The bodies of HTTP that a capture has."""
    subprocess.run(["tshark", "-q", "-r", path, "--export-objects", f"http,{folder}"], stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, check=False)
    found = []
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb") as file:
            found.append(file.read())
    return found


@contextlib.contextmanager
def running(*arguments, **options):
    """A proxy and its port, ended by SIGINT so that it writes what waits."""
    process = programs.start([programs.SQUALL, "run", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
    try:
        line = process.stdout.readline()
        found = re.search(r":(\d+)(?: ->|/? )", line)
        yield process, found and found[1]
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            process.wait(30)
    finally:
        process.said = process.stderr.read() if process.poll() is not None else ""
        programs.end(process)


def fetch(url, *options, limit=10):
    return subprocess.run(["curl", "-sk", "-o", "/dev/null", "-m", str(limit), *options, url], check=False).returncode


def check(part, folder, needs=True):
    """A capture and its journal in a folder."""
    path, journal = os.path.join(folder, "a.pcapng"), os.path.join(folder, "j.jsonl")
    wrong = problems(path)
    missing = journalled(journal) - noted(path) if os.path.exists(journal) else {}
    packets = len(read(path)[0])
    verdict(part, not wrong and not missing and (packets or not needs),
            f"{packets} packets, {sum(noted(path).values())} comments" + (f"; {wrong}" if wrong else "")
            + (f"; no comment: {list(missing)[:3]}" if missing else ""))


def scenario(name, origin):
    with tempfile.TemporaryDirectory() as folder:
        with running(os.path.join(programs.ROOT, "Profiles", name), "--seed", "3", "--listen", "127.0.0.1:0", "--upstream",
                     f"127.0.0.1:{origin.port}", "--pcap", f"{folder}/a.pcapng", "--journal", f"{folder}/j.jsonl") as (_, port):
            end = time.monotonic() + 12
            while time.monotonic() < end:
                fetch(f"http://127.0.0.1:{port}/file.bin", limit=4)
                time.sleep(0.3)
        # A server that is dead answers nobody: nothing of it is on a wire.
        check(name, folder, needs=name not in ("dead-server.json", "full-server.json"))


def scenarios(origin):
    names = sorted(name for name in os.listdir(os.path.join(programs.ROOT, "Profiles"))
                   if name.endswith(".json") and not name.endswith(".schema.json"))
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda name: scenario(name, origin), names))


def secured(part, faults, port, authority, options):
    """A capture with secrets of a download over TLS on both sides, through a forward proxy."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/a.pcapng"
        with running(*faults, "--forward-proxy", "127.0.0.1:0", "--intercept", "localhost", "--ca-file", authority,
                     "--key-log", f"{folder}/keys", "--pcap", path, "--journal", f"{folder}/j.jsonl") as (_, proxy):
            fetch(f"https://localhost:{port}/file.bin", "--http1.1", "-x", f"http://127.0.0.1:{proxy}", *options)
        check(part, folder)
        requests, _ = read(path, "-Y", "http.request.method == GET", "-T", "fields", "-e", "frame.interface_name")
        cuts, _ = read(path, "-Y", 'frame.comment contains "resets"', "-T", "fields", "-e", "tcp.flags.reset")
        verdict(part, sorted(requests) == ["clients", "servers"] and cuts == ["1"] * ("--cut-at" in faults),
                f"requests that tshark decrypts: {requests}; RST of the packets with cuts: {cuts}")


def addresses(origin):
    upstream, content = f"127.0.0.1:{origin.port}", origin.content

    def trial(part, arguments, request, expected=content):
        with tempfile.TemporaryDirectory() as folder:
            common = ["--pcap", f"{folder}/a.pcapng", "--journal", f"{folder}/j.jsonl"]
            with running(*arguments(folder), *common) as (_, port):
                request(port, folder)
            check(part, folder)
            os.mkdir(f"{folder}/objects")
            found = objects(f"{folder}/a.pcapng", f"{folder}/objects")
            # Once on each leg that tshark can read.
            verdict(part, found and all(expected.startswith(one) for one in found) and max(map(len, found)) == len(expected),
                    f"objects of {[len(one) for one in found]} bytes")

    late = ["--latency", "20ms", "--seed", "1"]
    trial("IPv4", lambda _: [*late, "--listen", "127.0.0.1:0", "--upstream", upstream],
          lambda port, _: fetch(f"http://127.0.0.1:{port}/file.bin"))
    trial("IPv6", lambda _: [*late, "--listen", "[::1]:0", "--upstream", upstream],
          lambda port, _: fetch(f"http://[::1]:{port}/file.bin"))
    trial("Unix", lambda folder: [*late, "--listen", f"unix:{folder}/s", "--upstream", upstream],
          lambda _, folder: fetch("http://host/file.bin", "--unix-socket", f"{folder}/s"))
    trial("forward", lambda _: [*late, "--forward-proxy", "127.0.0.1:0"],
          lambda port, _: fetch(f"http://{upstream}/file.bin", "-p", "-x", f"http://127.0.0.1:{port}"))
    with Origin(tls=True) as secure:
        with open(os.path.join(secure.folder, "file.bin"), "wb") as file:
            file.write(content)
        trial("TLS", lambda folder: [*late, "--listen", "tls:127.0.0.1:0", "--upstream", f"tls:localhost:{secure.port}",
                                     "--ca-file", secure.authority, "--key-log", f"{folder}/keys"],
              lambda port, _: fetch(f"https://localhost:{port}/file.bin", "--http1.1"))
    with tempfile.TemporaryDirectory() as own:
        make_certificates(own)
        with open(os.path.join(own, "server.pem"), "w", encoding="utf-8") as file:
            for name in ("leaf.key", "leaf.pem"):
                with open(os.path.join(own, name), encoding="utf-8") as part:
                    file.write(part.read())
        # The key of Squall's ClientHello is for another group.
        with web.served(origin.folder, os.path.join(own, "server.pem"), group="prime256v1") as port:
            for part, faults, options in (("TLS, HelloRetryRequest", [], []), ("TLS 1.2", [], ["--tls-max", "1.2"]),
                                          ("TLS, cut", ["--cut-at", "300KB"], [])):
                secured(part, [*late, "--down", "20Mbit/s", *faults], port, os.path.join(own, "ca.pem"), options)
        with web.served(origin.folder, os.path.join(own, "server.pem"), version=ssl.TLSVersion.TLSv1_2) as port:
            secured("TLS 1.2 upstream", late, port, os.path.join(own, "ca.pem"), [])
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([programs.SQUALL, "exec", *late, "--cut-at", "100KB", "--pcap", f"{folder}/a.pcapng", "--journal", f"{folder}/j.jsonl",
                        "--", "curl", "-s", "-o", "/dev/null", f"http://{upstream}/file.bin"], check=False)
        check("exec", folder)


def limits(origin):
    def clients(port, count=1_000):
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            return sum(pool.map(lambda _: fetch(f"http://127.0.0.1:{port}/small.bin") == 0, range(count)))

    for limit in (1 << 20, 16 << 20):
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/a.pcapng"
            with running("--latency", "1ms", "--listen", "127.0.0.1:0", "--upstream", f"127.0.0.1:{origin.port}", "--pcap", path,
                         "--pcap-limit", f"{limit}B") as (process, port):
                fine = clients(port)
                # As a kill would leave it.
                codes = [read(os.path.join(folder, name))[1] for name in os.listdir(folder)]
            size, left = os.path.getsize(path), os.listdir(folder)
            _, code = read(path)
            verdict("limits", fine == 1_000 and limit // 2 < size <= limit and not any([code, *codes]) and left == ["a.pcapng"],
                    f"{fine} of 1000 downloads, {size:,} bytes of {limit >> 20} MiB, tshark's codes {codes + [code]}, "
                    f"said {process.said!r}")
    with tempfile.TemporaryDirectory() as folder:
        # The disk is seen by the proxy alone: what is left is copied out of its namespace.
        command = (f"mount -t tmpfs -o size=8m tmpfs {folder} && {programs.SQUALL} run --latency 1ms --listen 127.0.0.1:0 "
                   f"--upstream 127.0.0.1:{origin.port} --pcap {folder}/a.pcapng; cp {folder}/a.pcapng {folder}.pcapng")
        process = programs.start(["unshare", "-Urm", "sh", "-c", f"trap : INT; {command}"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace")
        try:
            port = re.search(r":(\d+) ->", process.stdout.readline())[1]
            fine = clients(port)
            os.killpg(process.pid, signal.SIGINT)
            process.wait(30)
            said = process.stderr.read()
        finally:
            programs.end(process)
        _, code = read(f"{folder}.pcapng")
        size = os.path.getsize(f"{folder}.pcapng")
        os.remove(f"{folder}.pcapng")
        verdict("limits", fine == 1_000 and size <= 8 << 20 and code == 0 and "can't be written" in said,
                f"{fine} of 1000 downloads on a full disk, {size:,} bytes: {said.strip().splitlines()[:1]}")


def kill(origin):
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/a.pcapng"
        with running("--down", "2MB/s", "--listen", "127.0.0.1:0", "--upstream", f"127.0.0.1:{origin.port}", "--pcap", path) as (process, port):
            client = threading.Thread(target=fetch, args=[f"http://127.0.0.1:{port}/file.bin"])
            client.start()
            time.sleep(0.5)
            process.kill()
            client.join()
        verdict("kill", len(read(path)[0]) > 10, f"{len(read(path)[0])} packets")


def speed(origin):
    """Downloads of 1 GB; an insertion far behind the end keeps bytes from being spliced."""
    with open(os.path.join(origin.folder, "large.bin"), "wb") as file:
        file.truncate(1_000_000_000)
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/p.json", "w", encoding="utf-8") as file:
            json.dump({"name": "p", "faults": [{"kind": "insert", "stream": "downstream", "at": "1000 GB", "bytes": "x"}]}, file)
        ratios, common = [], ["--threads", "1", "--listen", "127.0.0.1:0", "--upstream", f"127.0.0.1:{origin.port}"]
        for _ in range(5):
            times = []
            for options in ([], ["--pcap", f"{folder}/a.pcapng"]):
                with running(f"{folder}/p.json", *common, *options) as (_, port):
                    begin = time.monotonic()
                    if code := fetch(f"http://127.0.0.1:{port}/large.bin", limit=60):
                        raise programs.Failure(f"curl exits with {code}")
                    times.append(time.monotonic() - begin)
            ratios.append(times[0] / times[1])
            print(f"     {1 / times[0]:.2f} and {1 / times[1]:.2f} GB/s", flush=True)
        verdict("speed", statistics.median(ratios) >= 0.7, f"with a capture {statistics.median(ratios):.2f} of that without")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = {"scenarios": scenarios, "addresses": addresses, "limits": limits, "kill": kill, "speed": speed}
    parser.add_argument("parts", nargs="*", help=", ".join(parts))
    options = parser.parse_args()
    programs.need_squall()
    if unknown := set(options.parts) - parts.keys():
        parser.error(f"there is no part {', '.join(unknown)}")
    with Origin() as origin:
        origin.content = os.urandom(SIZE)
        for name, content in (("file.bin", origin.content), ("small.bin", origin.content[:20_000])):
            with open(os.path.join(origin.folder, name), "wb") as file:
                file.write(content)
        for name, part in parts.items():
            if name in options.parts or not options.parts and name != "speed":
                part(origin)
    finish()


if __name__ == "__main__":
    main()
