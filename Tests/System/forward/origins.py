#!/usr/bin/env python3
"""Downloads from servers that people run, through a proxy that cuts every connection at 200 KiB.

    scripts/install.sh origins               node-express and nginx-light of Debian
    make origins                             some seconds
    SQUALL=.build/debug/squall python3 Tests/System/forward/origins.py express nginx

express  express.static: a weak entity tag beside a Last-Modified
nginx    nginx with `gzip on`, the file of a coded type

Each download is whole after one resumption for each cut. Everything listens on free ports of 127.0.0.1. Exits 1 if
something doesn't hold.
"""
import argparse, contextlib, hashlib, json, math, os, random, subprocess, sys, tempfile, time, urllib.request

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from clients import running
from kit.programs import SQUALL, free_port
from kit.verdicts import finish, verdict

SIZE, CUT, MOST_OVERLAP = 3 << 20, 200 << 10, 64 << 10


@contextlib.contextmanager
def started(*command, port, environment=None):
    """A program that answers HTTP on a port of 127.0.0.1."""
    program = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment)
    try:
        for _ in range(200):
            if program.poll() is not None:
                raise SystemExit(f"{command[0]} ended: {program.stdout.read().decode()}")
            with contextlib.suppress(OSError):
                urllib.request.build_opener(urllib.request.ProxyHandler({})).open(f"http://127.0.0.1:{port}/", timeout=5)
                break
            time.sleep(0.05)
        yield
    finally:
        program.terminate()
        program.wait(10)
        program.stdout.close()


def express(folder):
    script = ("const express = require('express'); const app = express(); app.use(express.static(process.argv[1])); "
              "app.get('/', (_, response) => response.send('ok')); app.listen(Number(process.argv[2]), '127.0.0.1');")
    port = free_port()
    environment = {**os.environ, "NODE_PATH": "/usr/share/nodejs:/usr/lib/nodejs"}
    return port, started("node", "-e", script, folder, str(port), port=port, environment=environment)


def nginx(folder):
    port = free_port()
    file = os.path.join(folder, "nginx.conf")
    with open(file, "w") as conf:
        conf.write(f"""daemon off; pid {folder}/nginx.pid; error_log stderr; user root;
events {{ }}
http {{
    access_log off; client_body_temp_path {folder}; proxy_temp_path {folder}; fastcgi_temp_path {folder};
    uwsgi_temp_path {folder}; scgi_temp_path {folder};
    gzip on; gzip_types text/plain;
    types {{ text/plain txt; text/html html; }}
    server {{ listen 127.0.0.1:{port}; root {folder}; }}
}}
""")
    # Debian has it outside the path of a user.
    path = os.environ["PATH"] + ":/usr/sbin"
    return port, started("nginx", "-c", file, "-e", "stderr", port=port, environment={**os.environ, "PATH": path})


def check(name, serve):
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        content = random.Random(7).randbytes(SIZE)
        with open(os.path.join(folder, "file.txt"), "wb") as file:
            file.write(content)
        with open(os.path.join(folder, "index.html"), "w") as file:
            file.write("ok")
        # Not modified in this second, as files that are served aren't.
        os.utime(os.path.join(folder, "file.txt"), (1_700_000_000, 1_700_000_000))
        profile = os.path.join(folder, "cut.json")
        with open(profile, "w") as file:
            json.dump({"name": "cut", "faults": [{"kind": "cut", "stream": "downstream", "at": "200 KiB"}]}, file)
        port, server = serve(folder)
        with server, running(profile, "--listen", "127.0.0.1:0", "--upstream", f"127.0.0.1:{port}") as (_, ports):
            received = os.path.join(folder, "received")
            done = subprocess.run([SQUALL, "get", f"http://127.0.0.1:{ports[0]}/file.txt", "--output", received,
                                   "--events", "json", "--no-proxy"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        end = json.loads(done.stdout.splitlines()[-1]) if done.stdout else {}
        cuts = end.get("connections", 0) - 1
        # Each connection brings at least the cut without its head, but for what it repeats.
        most = math.ceil(SIZE / (CUT - MOST_OVERLAP - 1_024))
        with contextlib.suppress(FileNotFoundError):
            with open(received, "rb") as file:
                digest = hashlib.sha256(file.read()).hexdigest()
        whole = done.returncode == 0 and digest == hashlib.sha256(content).hexdigest()
        verdict(name, whole and end.get("restarts") == 0 and end.get("resumptions") == cuts and 0 < cuts <= most,
                f"exit code {done.returncode}, {cuts} cuts, {end.get('resumptions')} resumptions, "
                f"{end.get('restarts')} restarts, proof {end.get('proof')} {done.stderr.strip()[-200:]}")


def main():
    servers = {"express": express, "nginx": nginx}
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("servers", nargs="*", choices=[*servers, []], default=[])
    for name in arguments.parse_args().servers or servers:
        check(name, servers[name])
    finish()


if __name__ == "__main__":
    main()
