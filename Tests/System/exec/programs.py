#!/usr/bin/env python3
"""Runs programs by `squall exec`, and through `squall run`: does each fault do the same to them?

    make exec                                     installs them first; some minutes
    SQUALL=.build/debug/squall python3 Tests/System/exec/programs.py curl node

Each program fetches 300 KB from a server on this machine: without faults, then four times behind a fault by both ways.

latency   200 ms each way: it succeeds, and takes 0.35 s longer than the fastest of three runs without, or more; or 1.75 s with 1 s each way
cut       a reset after 64 KiB of the answer
refuse    the target refuses
outage    no network for the first 2 s

It holds where the program succeeds or fails as it does through `squall run`. Where this script runs as root, squall and the
programs run as `nobody`, but for those that need their own user. Exits 1 if something doesn't hold, or if a program is missing.
"""
import argparse, functools, getpass, os, re, shutil, subprocess, sys, tempfile, time, zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.abspath(os.path.join(HERE, "../../.."))
sys.path.insert(0, os.path.dirname(HERE))
import servers
from kit import postgres, programs, redis
from kit.web import served

# Debian's, whose packages have the modules, and which every user can run.
PYTHON3 = servers.PYTHON3
NETTY = [f"/usr/share/java/netty-{part}.jar" for part in ("buffer", "common", "resolver", "transport")]
SIZE, LONGEST = 300_000, 60
FAULTS = {
    "latency": ["--latency", "200ms"],
    "cut": ["--cut-at", "64KiB"],
    "refuse": ["--outage", "0s..1h=refuse"],
    "outage": ["--outage", "0s..2s"],
}
PYTHON = {
    "urllib": "import sys, urllib.request as u\nassert len(u.urlopen(sys.argv[1]).read()) >= int(sys.argv[2])",
    "requests": "import sys, requests\nassert len(requests.get(sys.argv[1]).content) >= int(sys.argv[2])",
    "aiohttp": "import aiohttp, asyncio, sys\nasync def main():\n async with aiohttp.ClientSession() as s, s.get(sys.argv[1]) as r:\n"
               "  assert len(await r.read()) >= int(sys.argv[2])\nasyncio.run(main())",
    "uvloop": "import aiohttp, asyncio, sys, uvloop\nuvloop.install()\nasync def main():\n async with aiohttp.ClientSession() as s, "
              "s.get(sys.argv[1]) as r:\n  assert len(await r.read()) >= int(sys.argv[2])\nasyncio.run(main())",
}
GRPC = ("import grpc, sys\nwith grpc.insecure_channel('127.0.0.1:' + sys.argv[1]) as channel:\n"
        " assert len(channel.unary_unary('/a/b')(b'', timeout=30)) == 300000")
SSH = ["ssh", "-p", "{ssh}", "-i", "{folder}/user", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR",
       "-o", "BatchMode=yes", "-F", "none"]
NGINX = ("daemon off; master_process off; pid {out}.pid; error_log /dev/null;\nevents {}\nhttp { access_log off; client_body_temp_path {out}.a; "
         "proxy_temp_path {out}.b; fastcgi_temp_path {out}.c; uwsgi_temp_path {out}.d; scgi_temp_path {out}.e;\n"
         " server { listen unix:{out}.sock; location / { proxy_pass http://127.0.0.1:{port}; proxy_next_upstream off; } } }")
NODE = ("require('http').get(process.argv[1], r => { let n = 0; r.on('data', d => n += d.length); "
        "r.on('end', () => process.exit(n >= +process.argv[2] && r.complete ? 0 : 1)); r.on('error', () => process.exit(1)) })"
        ".on('error', () => process.exit(1))")
PERL = ("use IO::Socket::INET; my $s = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $ARGV[0]) or exit 1; "
        "print $s \"GET /file.bin HTTP/1.0\\r\\n\\r\\n\"; my $n = 0; while (my $c = sysread $s, my $b, 65536) { $n += $c } exit($n >= $ARGV[1] ? 0 : 1)")
BASH = ("exec 3<>/dev/tcp/127.0.0.1/$0 || exit 1; printf 'GET /file.bin HTTP/1.0\\r\\n\\r\\n' >&3; n=$(wc -c <&3); (( n >= $1 ))")
failures = []


def build(folder, built, is_meant):
    """Compiles the clients that have no program of their own, as far as there are compilers."""
    static = [("glibc static", ["gcc", "-static"]), ("musl static", ["musl-gcc", "-static"]), ("32-bit", ["gcc", "-m32"])]
    for name, compiler in static:
        path = os.path.join(built, name.replace(" ", "-"))
        if is_meant(name) and subprocess.run([*compiler, "-O1", "-o", path, os.path.join(HERE, "client.c")], capture_output=True).returncode == 0:
            yield name, [path, "{port}", "{size}"]
    if is_meant("Go static") and shutil.which("go"):
        path = os.path.join(built, "go-client")
        environment = {**os.environ, "CGO_ENABLED": "0", "GOCACHE": os.path.join(folder, "go"), "GOFLAGS": "-mod=mod", "HOME": folder}
        subprocess.run(["go", "build", "-o", path, os.path.join(HERE, "client.go")], env=environment, check=True, capture_output=True)
        yield "Go static", [path, "{url}"]
    if any(map(is_meant, ("Java HttpClient", "Java NIO", "Java Socket"))) and shutil.which("javac"):
        subprocess.run(["javac", "-d", built, os.path.join(HERE, "Client.java")], check=True, capture_output=True)
        for name, way in (("Java HttpClient", "http"), ("Java NIO", "nio"), ("Java Socket", "socket")):
            yield name, ["java", "-Xshare:auto", "-cp", built, "Client", way, "{port}", "{size}"]
    if is_meant("Netty") and shutil.which("javac") and all(map(os.path.exists, NETTY)):
        subprocess.run(["javac", "-cp", ":".join(NETTY), "-d", built, os.path.join(HERE, "NettyClient.java")], check=True, capture_output=True)
        yield "Netty", ["java", "-Xshare:auto", "-cp", ":".join([built, *NETTY]), "NettyClient", "{port}", "{size}"]
    if is_meant("Swift URLSession") and shutil.which("swiftc"):
        path = os.path.join(built, "swift-client")
        subprocess.run(["swiftc", "-O", "-o", path, os.path.join(HERE, "client.swift")], check=True, capture_output=True)
        yield "Swift URLSession", [path, "{url}", "{size}"]


def commands(folder, built, is_meant):
    """The command of each program by its name; {port}, {url} and {size} are filled in, and {out} is a new path."""
    found = {
        "curl": ["curl", "-sSf", "-o", "{out}", "{url}"],
        "wget": ["wget", "-q", "--tries=1", "-O", "{out}", "{url}"],
        "busybox": ["busybox", "wget", "-q", "-O", "{out}", "{url}"],
        "node": ["node", "-e", NODE, "{url}", "{size}"],
        "perl": ["perl", "-e", PERL, "{port}", "{size}"],
        "bash": ["bash", "-c", BASH, "{port}", "{size}"],
        "git http": ["git", "clone", "-q", "http://127.0.0.1:{port}/made.git", "{out}"],
        "pip": [PYTHON3, "-m", "pip", "download", "-q", "--no-deps", "--no-cache-dir", "--retries", "0", "--disable-pip-version-check",
                "--index-url", "http://127.0.0.1:{port}/index/", "-d", "{out}", "squall-example"],
        "rclone": ["rclone", "copyurl", "--retries", "1", "--low-level-retries", "1", "{url}", "{out}"],
        "apt": ["/usr/lib/apt/apt-helper", "-oAcquire::Retries=0", "-oAPT::Sandbox::User=", "download-file", "{url}", "{out}"],
        "chromium": ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir={out}", "--proxy-server=direct://",
                     "--timeout=30000", "--dump-dom", "http://127.0.0.1:{port}/page.html"],
        "psql": ["psql", "-h", "127.0.0.1", "-p", f"{{postgres}}", "-U", "squall", "-o", "{out}", "-c", "SELECT repeat('x', {size})", "postgres"],
        "psycopg2": [PYTHON3, "-c", "import psycopg2, sys\nc = psycopg2.connect(host='127.0.0.1', port=sys.argv[1], user='squall', "
                     "dbname='postgres').cursor()\nc.execute(\"SELECT repeat('x', 300000)\")\nassert len(c.fetchone()[0]) == 300000", f"{{postgres}}"],
        "redis-cli": ["redis-cli", "-h", "127.0.0.1", "-p", f"{{redis}}", "--no-raw", "LRANGE", "long", "0", "-1"],
        "ssh": ["sh", "-c", "test $(%s %s@127.0.0.1 cat {served}/file.bin | wc -c) = {size}" % (" ".join(SSH), getpass.getuser())],
        "git ssh": ["sh", "-c", "GIT_SSH_COMMAND='%s' git clone -q ssh://%s@127.0.0.1{served}/made.git {out}"
                    % (" ".join(SSH), getpass.getuser())],
        "rsync": ["rsync", "-q", "rsync://127.0.0.1:{rsync}/served/file.bin", "{out}"],
        "mariadb": ["sh", "-c", "test $(mariadb --no-defaults -h 127.0.0.1 -P {mariadb} -u root --skip-ssl -Ne \"SELECT repeat('x', {size})\" | wc -c)"
                    " -ge {size}"],
        "grpcio": [PYTHON3, "-c", GRPC, "{grpc}"],
        "nginx": ["sh", "-c", f"echo '{NGINX}' >{{out}}.conf; /usr/sbin/nginx -e stderr -c {{out}}.conf & "
                  "until [ -S {out}.sock ]; do sleep 0.02; done; curl -sSf -o {out} --unix-socket {out}.sock http://a/file.bin; code=$?; "
                  "kill $!; wait $!; exit $code"],
        **{name: [PYTHON3, "-c", text, "{url}", "{size}"] for name, text in PYTHON.items()},
    }
    found.update(build(folder, built, is_meant))
    return found


def is_there(command):
    if command[0] == PYTHON3 and command[1] == "-c":
        modules = re.findall(r"\b(requests|aiohttp|uvloop|psycopg2|grpc)\b", command[2])
        return not modules or subprocess.run([PYTHON3, "-c", f"import {modules[0]}"], capture_output=True).returncode == 0
    return os.path.exists(command[0]) or shutil.which(command[0]) is not None


class Runner:
    def __init__(self, folder, ports):
        self.folder, self.ports, self.count = folder, ports, 0
        self.user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"] if os.geteuid() == 0 else []
        environment = {name: value for name, value in os.environ.items() if not re.match(r"(?i)(.*_proxy$|PG)", name)}
        self.environment = {**environment, "HOME": folder, "TMPDIR": folder, "GIT_CONFIG_GLOBAL": "/dev/null"}

    def filled(self, command, ports):
        self.count += 1
        words = {"size": SIZE, "folder": self.folder, "served": os.path.join(self.folder, "served"), "out": os.path.join(self.folder, f"out-{self.count}"), **ports,
                 "url": f"http://127.0.0.1:{ports['port']}/file.bin"}
        return [functools.reduce(lambda text, word: text.replace("{" + word[0] + "}", str(word[1])), words.items(), part) for part in command]

    def time(self, command):
        """Whether a command succeeds, and how long it takes."""
        began = time.monotonic()
        try:
            # Something else than `nobody` must be allowed to end it.
            done = subprocess.run([*self.user, "timeout", "-k", "1", str(LONGEST), *command], stdin=subprocess.DEVNULL, capture_output=True,
                                  env=self.environment, cwd=self.folder)
        except OSError as error:
            return False, 0, str(error)
        ok = done.returncode == 0 and b"ERR_" not in done.stdout[:5_000] and (len(done.stdout) > 250_000 or not b"--dump-dom" in " ".join(command).encode())
        return ok, time.monotonic() - began, done.stderr.decode(errors="replace")[-300:]

    def plain(self, command):
        return self.time(self.filled(command, self.ports))

    def exec(self, command, faults):
        return self.time([programs.SQUALL, "exec", *faults, "--", *self.filled(command, self.ports)])

    def run(self, command, faults):
        """The same through a proxy that the program is pointed at."""
        key = next(key for key in self.ports if any("{" + key + "}" in word or (key == "port" and "{url}" in word) for word in command))
        port = programs.free_port()
        proxy = programs.start([programs.SQUALL, "run", *faults, "--listen", f"127.0.0.1:{port}", "--upstream", f"127.0.0.1:{self.ports[key]}"],
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=self.environment, cwd="/")
        try:
            proxy.stdout.readline()
            return self.time(self.filled(command, {**self.ports, key: port}))
        finally:
            programs.end(proxy)


def judge(name, command, runner):
    plain = [runner.plain(command) for _ in range(3)]
    if not all(ok for ok, _, _ in plain):
        failures.append(name)
        return print(f"BAD {name:18} fails without faults: {plain[0][2].strip()[-200:]}", flush=True)
    usual = min(took for _, took, _ in plain)
    cells, wrong = [], []
    for fault, options in FAULTS.items():
        (ok, took, said), (reference, _, _) = runner.exec(command, options), runner.run(command, options)
        holds = ok == reference and (fault != "latency" or ok and took >= usual + 0.35)
        if fault == "latency" and ok and reference and not holds:
            # Chromium does other things while it waits.
            ok, took, said = runner.exec(command, ["--latency", "1s"])
            holds = ok and took >= usual + 1.75
        cells.append(f"{fault} {'whole' if ok else 'fails'} {took:.1f} s")
        if not holds:
            wrong.append(f"{fault}: {'succeeds' if ok else 'fails'}, through squall run it {'succeeds' if reference else 'fails'}: {said.strip()[-200:]}")
    print(f"{'BAD' if wrong else 'ok '} {name:18} {usual:4.1f} s | {' | '.join(cells)}", flush=True)
    for text in wrong:
        print(f"      {text}", flush=True)
    if wrong:
        failures.append(name)


def fill(folder):
    """The files of the server: a file, a page, a package index and a repository."""
    with open(os.path.join(folder, "file.bin"), "wb") as file:
        file.write(os.urandom(SIZE))
    with open(os.path.join(folder, "page.html"), "w", encoding="utf-8") as file:
        file.write(f"<!doctype html><title>page</title><p>{'squall ' * (SIZE // 7)}</p>")
    index = os.path.join(folder, "index", "squall-example")
    os.makedirs(index)
    wheel = "squall_example-1.0-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(index, wheel), "w") as made:
        made.writestr("squall_example/data.bin", os.urandom(SIZE))
        made.writestr("squall_example-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: squall-example\nVersion: 1.0\n")
        made.writestr("squall_example-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        made.writestr("squall_example-1.0.dist-info/RECORD", "")
    with open(os.path.join(index, "index.html"), "w", encoding="utf-8") as file:
        file.write(f'<!doctype html><a href="{wheel}">{wheel}</a>')
    work = os.path.join(folder, "work")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-C", work]
    subprocess.run(["git", "init", "-q", work], check=True)
    shutil.copy(os.path.join(folder, "file.bin"), work)
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-qm", "a"], check=True)
    subprocess.run(["git", "clone", "-q", "--bare", work, os.path.join(folder, "made.git")], check=True)
    subprocess.run(["git", "-C", os.path.join(folder, "made.git"), "update-server-info"], check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="programs that are meant, by words of their names; all without one")
    options = parser.parse_args()
    programs.need_squall()
    folder = tempfile.mkdtemp(prefix="squall-exec-")
    os.chmod(folder, 0o777)
    served_folder, built = os.path.join(folder, "served"), os.path.join(folder, "built")
    os.makedirs(served_folder)
    os.makedirs(built)
    try:
        # Where others can run it.
        shutil.copy(programs.SQUALL, os.path.join(built, "squall"))
        programs.SQUALL = os.path.join(built, "squall")
        fill(served_folder)
        with served(served_folder) as port, postgres.Postgres() as database, redis.Redis() as store:
            push = ["redis-cli", "-p", str(store.port), "RPUSH", "long", *("v" * 1_000 for _ in range(SIZE // 1_000))]
            subprocess.run(push, check=True, capture_output=True)
            is_meant = lambda name: not options.names or any(word.lower() in name.lower() for word in options.names)
            with servers.started(folder, served_folder, is_meant) as others:
                runner = Runner(folder, {"port": port, "postgres": database.port, "redis": store.port, **others})
                for name, command in commands(folder, built, is_meant).items():
                    if not is_meant(name):
                        continue
                    if not is_there(command) or servers.MEANT.get(name, "port") not in runner.ports:
                        failures.append(name)
                        print(f"BAD {name:18} is missing", flush=True)
                        continue
                    judge(name, command, runner)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if failures:
        raise SystemExit(f"not all hold: {', '.join(failures)}")
    print("all hold")


main()
