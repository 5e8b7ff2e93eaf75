#!/usr/bin/env python3
"""Sends real programs through `squall run PROFILE --forward-proxy`: Chromium, curl and pip, and then garbage.

    make forward                             about half a minute
    SQUALL=.build/debug/squall python3 Tests/System/forward/clients.py chromium curl pip close host garbage

chromium  a page over HTTP and one over HTTPS from local servers, through wifi-roam
curl      HTTPS_PROXY, http_proxy and socks5h://, each file whole
pip       a wheel from a local index, through slow-3g
close     20 GETs by clients that keep connections, from a server that closes without saying so: no error
host      a fault that is narrowed to one name leaves the other alone, also where the name is only in the tunnel
garbage   10,000 handshakes of nonsense: the proxy answers afterwards, and has no more memory or descriptors

Every server is one of Python's on a free port of loopback. Exits 1 if something doesn't hold.
"""
import argparse, contextlib, hashlib, http.client, json, os, random, re, shutil, socket, subprocess
import sys, tempfile, threading, time, zipfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from kit.browser import Browser
from kit.machine import descriptors, resident_bytes
from kit.programs import ROOT as TOP, SQUALL
from kit.verdicts import finish, verdict
from kit.web import served

HANDSHAKES, ABREAST = 10_000, 50
# What the proxy may have grown by: buffers that it keeps.
GROWTH = 16 << 20


@contextlib.contextmanager
def running(profile, *options, proxies=1):
    """`squall run` with proxies on free ports of 127.0.0.1: the process and their ports, in order."""
    environment = {**os.environ, "SQUALL_PROFILES": os.path.join(TOP, "Profiles")}
    process = subprocess.Popen([SQUALL, "run", profile, *options], text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment)
    late = threading.Timer(20, process.kill)
    late.start()
    try:
        said = ""
        while len(ports := re.findall(r"^ready: 127\.0\.0\.1:(\d+)", said, re.MULTILINE)) < proxies:
            line = process.stdout.readline()
            if not line:
                raise SystemExit(f"{SQUALL} isn't ready: {said}")
            said += line
        late.cancel()
        yield process, [int(port) for port in ports]
    finally:
        late.cancel()
        process.terminate()
        process.wait(10)
        process.stdout.close()


@contextlib.contextmanager
def forwarding(profile, *options):
    """`squall run` as a forward proxy on a free port: the process and its port."""
    with running(profile, "--forward-proxy", "127.0.0.1:0", *options) as (process, ports):
        yield process, ports[0]


def curl(*arguments, **environment):
    plain = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    done = subprocess.run(["curl", "-sS", "-f", "--max-time", "60", *arguments], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, env={**plain, **environment})
    return done.returncode, done.stdout, done.stderr.decode()


def check_chromium(folder, certificate):
    with served(folder) as plain, served(folder, certificate) as secure, forwarding("wifi-roam") as (_, port):
        # Chromium sends loopback past a proxy unless it is told otherwise.
        browser = Browser(arguments=[
            f"--proxy-server=http://127.0.0.1:{port}", "--proxy-bypass-list=<-loopback>", "--ignore-certificate-errors"])
        try:
            for scheme, server in (("http", plain), ("https", secure)):
                browser.open(f"{scheme}://localhost:{server}/page.html")
                browser.until("document.images[0].naturalWidth === 1", f"the picture of the page over {scheme}", 30)
                title = browser.evaluate("document.title")
                verdict("chromium", title == "through the proxy", f"a page and its picture over {scheme}: “{title}”")
            browser.open(f"http://localhost:{plain}/page.html?again")
            verdict("chromium", browser.evaluate("document.title") == "through the proxy", "a page at the first server again")
        finally:
            browser.close()


def check_curl(folder, certificate):
    with open(os.path.join(folder, "file.bin"), "rb") as file:
        wanted = hashlib.sha256(file.read()).digest()
    with served(folder) as plain, served(folder, certificate) as secure, forwarding("wifi-roam") as (_, port):
        proxy = f"http://127.0.0.1:{port}"
        cases = [
            ("HTTPS_PROXY", ["--cacert", certificate, f"https://localhost:{secure}/file.bin"], {"HTTPS_PROXY": proxy}),
            ("http_proxy", [f"http://localhost:{plain}/file.bin"], {"http_proxy": proxy}),
            ("socks5h", ["--proxy", f"socks5h://127.0.0.1:{port}", f"http://localhost:{plain}/file.bin"], {}),
            ("socks5h and TLS", ["--proxy", f"socks5h://127.0.0.1:{port}", "--cacert", certificate,
                                 f"https://localhost:{secure}/file.bin"], {}),
        ]
        for name, arguments, environment in cases:
            code, data, problem = curl(*arguments, **environment)
            verdict("curl", code == 0 and hashlib.sha256(data).digest() == wanted,
                    f"{name}: {len(data):,} bytes, exit code {code} {problem.strip()}".rstrip())
        code, _, problem = curl("--proxy", proxy, f"http://localhost:{plain}/missing")
        verdict("curl", code == 22 and "404" in problem, f"the server's own 404 arrives: {problem.strip()}")
        with socket.socket() as closed:
            closed.bind(("127.0.0.1", 0))
            target = f"localhost:{closed.getsockname()[1]}"
            code, _, problem = curl("--proxy", proxy, f"http://{target}/")
            verdict("curl", code == 22 and "502" in problem, f"a closed port is a 502: {problem.strip()}")
            code, _, problem = curl("--proxy", f"socks5h://127.0.0.1:{port}", f"http://{target}/")
            verdict("curl", code == 97, f"and an error of SOCKS: {problem.strip()}")


def check_pip(folder, _):
    index = os.path.join(folder, "simple", "squall-sample")
    os.makedirs(index, exist_ok=True)
    wheel = "squall_sample-1.0-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(index, wheel), "w") as archive:
        archive.writestr("squall_sample.py", f"DATA = {random.Random(1).randbytes(40_000).hex()!r}\n")
        archive.writestr("squall_sample-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: squall-sample\nVersion: 1.0\n")
        archive.writestr("squall_sample-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr("squall_sample-1.0.dist-info/RECORD", "")
    with open(os.path.join(index, "index.html"), "w") as file:
        file.write(f'<a href="{wheel}">{wheel}</a>')
    with served(folder) as plain, forwarding("slow-3g") as (_, port), tempfile.TemporaryDirectory() as target:
        began = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-m", "pip", "install", "--isolated", "--no-cache-dir", "--no-deps", "--disable-pip-version-check",
             "--proxy", f"http://127.0.0.1:{port}", "--index-url", f"http://127.0.0.1:{plain}/simple", "--trusted-host",
             "127.0.0.1", "--target", target, "squall-sample"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
        took = time.monotonic() - began
        installed = os.path.exists(os.path.join(target, "squall_sample.py"))
        verdict("pip", done.returncode == 0 and installed,
                f"a wheel in {took:.1f} s" + ("" if installed else f": {done.stdout[-500:]}"))
        # Two round trips of 400 ms, at the least, and some 80 KB at 500 kbit/s.
        verdict("pip", took > 2, "and the faults acted")


def check_close(folder, _):
    with served(folder) as plain, forwarding(quiet(folder)) as (_, port):
        # Asked to close, Python's server does so without a word.
        url, errors = f"http://localhost:{plain}/page.html", 0
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        for _ in range(20):
            try:
                client.request("GET", url)
                client.getresponse().read()
            except (http.client.HTTPException, OSError):
                errors += 1
                client.close()
        verdict("close", errors == 0, f"http.client: {errors} errors in 20 GETs")
        if shutil.which("node"):
            script = """
                const http = require("http"), agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
                const [port, path] = process.argv.slice(1);
                const get = () => new Promise(done => http.get({ port, path, agent }, response => {
                    response.resume().on("end", () => done(0));
                }).on("error", () => done(1)));
                (async () => {
                    let errors = 0;
                    for (let index = 0; index < 20; index += 1) errors += await get();
                    console.log(errors);
                    process.exit();
                })();
            """
            done = subprocess.run(["node", "-e", script, str(port), url], stdout=subprocess.PIPE, text=True, timeout=60)
            verdict("close", done.stdout.strip() == "0", f"node: {done.stdout.strip()} errors in 20 GETs")


def quiet(folder):
    """The path of a profile without faults."""
    path = os.path.join(folder, "quiet.json")
    with open(path, "w") as file:
        json.dump({"name": "quiet"}, file)
    return path


def check_host(folder, certificate):
    profile = os.path.join(folder, "narrow.json")
    with open(profile, "w") as file:
        json.dump({"name": "narrow", "faults": [
            {"kind": "cut", "stream": "downstream", "at": "64 KiB", "when": {"host": "localhost"}}]}, file)
    with served(folder) as plain, served(folder, certificate) as secure, forwarding(profile) as (_, port):
        for scheme, server in (("http", plain), ("https", secure)):
            for way in ("http", "socks5h"):
                proxy = ["--proxy", f"{way}://127.0.0.1:{port}", "-k"]
                code, data, _ = curl(*proxy, f"{scheme}://localhost:{server}/file.bin")
                other, whole, _ = curl(*proxy, f"{scheme}://127.0.0.1:{server}/file.bin")
                verdict("host", code in (18, 35, 56) and len(data) < 65_536 and other == 0 and len(whole) == 1 << 20,
                        f"{scheme} by {way}: localhost is cut at {len(data):,} bytes, 127.0.0.1 has all {len(whole):,}")
            # The proxy gets an address by CONNECT or SOCKS, and the name is in the SNI or in Host.
            for tunnel in (["--proxytunnel", "--proxy", f"http://127.0.0.1:{port}", "--connect-to", "::127.0.0.1:"],
                           ["--proxy", f"socks5://127.0.0.1:{port}"]):
                code, data, _ = curl(*tunnel, "-k", f"{scheme}://localhost:{server}/file.bin")
                other, whole, _ = curl(*tunnel, "-k", "--resolve", f"other.example:{server}:127.0.0.1",
                                       f"{scheme}://other.example:{server}/file.bin")
                verdict("host", code in (18, 35, 56) and len(data) < 65_536 and other == 0 and len(whole) == 1 << 20,
                        f"{scheme} to an address: localhost is cut at {len(data):,} bytes, other.example has all {len(whole):,}")


def nonsense(draws):
    """A handshake that is none: noise, a beginning of something, or something real with wrong bytes in it."""
    real = draws.choice([
        b"CONNECT localhost:1 HTTP/1.1\r\nHost: localhost:1\r\n\r\n", b"GET http://localhost:1/ HTTP/1.1\r\nHost: x\r\n\r\n",
        b"\x05\x01\x00\x05\x01\x00\x03\x09localhost\x00\x01", b"\x05\x02\x00\x02\x01\x01a\x01b\x05\x01\x00\x01\x7f\x00\x00\x01\x00\x01",
        b"\x04\x01\x00\x01\x7f\x00\x00\x01\x00", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ])
    kind = draws.randrange(5)
    if kind == 0:
        return draws.randbytes(draws.randrange(1, 400))
    if kind == 1:
        return real[: draws.randrange(len(real))]
    if kind == 2:
        return b"GET http://" + b"a" * draws.choice([1, 300, 20_000]) + b" HTTP/1.1\r\n" + b"X: y\r\n" * draws.randrange(5_000)
    changed = bytearray(real)
    for _ in range(draws.randrange(1, 4)):
        changed[draws.randrange(len(changed))] = draws.randrange(256)
    return bytes(changed)


def check_garbage(folder, _):
    draws = random.Random(9)
    with served(folder) as plain, forwarding("first-two-fail") as (process, port):
        proxy = ["--proxy", f"http://127.0.0.1:{port}"]
        for _ in range(3):
            curl(*proxy, f"http://localhost:{plain}/page.html")
        before = resident_bytes(process.pid), descriptors(process.pid)
        began = time.monotonic()
        for _ in range(HANDSHAKES // ABREAST):
            clients = []
            for _ in range(ABREAST):
                client = socket.create_connection(("127.0.0.1", port), timeout=5)
                with contextlib.suppress(OSError):
                    client.sendall(nonsense(draws))
                    client.shutdown(socket.SHUT_WR)
                clients.append(client)
            for client in clients:
                with contextlib.suppress(OSError):
                    while client.recv(65_536):
                        pass
                client.close()
        took = time.monotonic() - began
        code, data, problem = curl(*proxy, f"http://localhost:{plain}/page.html")
        verdict("garbage", code == 0 and b"through the proxy" in data and process.poll() is None,
                f"{HANDSHAKES:,} handshakes in {took:.0f} s; the next request is answered {problem.strip()}".rstrip())
        deadline = time.monotonic() + 15
        while descriptors(process.pid) > before[1] and time.monotonic() < deadline:
            time.sleep(0.1)
        grown, left = resident_bytes(process.pid) - before[0], descriptors(process.pid) - before[1]
        verdict("garbage", grown < GROWTH and left <= 0, f"{grown / (1 << 20):.1f} MiB more, {left} descriptors more")


CHECKS = {"chromium": check_chromium, "curl": check_curl, "pip": check_pip, "close": check_close, "host": check_host,
          "garbage": check_garbage}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("checks", nargs="*", choices=[*CHECKS, []], default=[])
    wanted = parser.parse_args().checks or list(CHECKS)
    with tempfile.TemporaryDirectory(prefix="squall-forward-") as folder:
        with open(os.path.join(folder, "page.html"), "w") as file:
            file.write('<!doctype html><title>through the proxy</title><link rel="icon" href="data:,"><img src="dot.svg">')
        with open(os.path.join(folder, "dot.svg"), "w") as file:
            file.write('<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"><rect width="1" height="1"/></svg>')
        with open(os.path.join(folder, "file.bin"), "wb") as file:
            file.write(random.Random(3).randbytes(1 << 20))
        certificate = os.path.join(folder, "certificate.pem")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                        "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
                        "-keyout", certificate, "-out", certificate + ".crt"], check=True, stderr=subprocess.DEVNULL)
        with open(certificate, "a") as file, open(certificate + ".crt") as issued:
            file.write(issued.read())
        for name in wanted:
            CHECKS[name](folder, certificate)
    finish()


if __name__ == "__main__":
    main()
