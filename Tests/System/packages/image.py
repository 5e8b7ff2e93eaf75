#!/usr/bin/env python3
"""Builds the image of docker/Dockerfile by buildah, without an engine, and uses it.

    python3 Tests/System/packages/image.py --build            as root; builds it on base images that debootstrap makes
    python3 Tests/System/packages/image.py --root PROGRAM     without a build of the image: docker/root.sh lays a program out

Its size, the time until it answers, Toxiproxy's contract, Testcontainers' sequence of calls, and the services of
docker/compose.yaml, each a process in a copy of the image's files with the image's user, folder, environment and command. All of
it happens in a network namespace of its own, so that the ports are the image's.
"""
import argparse, contextlib, http.client, json, os, re, shutil, signal, socket, statistics, subprocess, sys, tempfile, time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from kit import roots
from kit.programs import ROOT as TOP
from kit.verdicts import check, finish

LIMIT_BYTES, LIMIT_SECONDS = 60_000_000, 0.2
SWIFT_PACKAGES = [
    "binutils", "ca-certificates", "gcc", "git", "libc6-dev", "libcurl4", "libedit2", "libgcc-12-dev", "libncurses6",
    "libpython3.11", "libsqlite3-0", "libstdc++-12-dev", "libxml2", "libz3-4", "tzdata", "zlib1g-dev",
]


def toolchain():
    """The folder of the Swift toolchain of this machine: the one above usr/bin/swift."""
    return os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(shutil.which("swift")))))


def local_mirrors():
    """Folders in which git of this machine has copies of repositories."""
    lines = subprocess.run(["git", "config", "--get-regexp", r"^url\..*\.insteadof$"], capture_output=True, text=True).stdout
    return sorted({match[1].rstrip("/") for line in lines.splitlines() if (match := re.match(r"url\.(/.*)\.insteadof ", line))})


def build():
    """Builds the image; returns its configuration, the folder of its files, and the container that holds it."""
    base = "docker.io/library/swift:6.2-bookworm"
    root = roots.debian("bookworm", SWIFT_PACKAGES)
    with open("/etc/gitconfig", "rb") if os.path.exists("/etc/gitconfig") else open(os.devnull, "rb") as file:
        with open(f"{root}/etc/gitconfig", "wb") as copy:
            copy.write(file.read())
    print(f"== the stand-in of {base}: Debian with the toolchain of this machine mounted", flush=True)
    container = roots.run("buildah", "from", "scratch").strip()
    roots.run("buildah", "add", "--quiet", container, root, "/")
    roots.run("buildah", "config", "--env", "PATH=/opt/toolchain/usr/bin:/usr/sbin:/usr/bin:/sbin:/bin", container)
    roots.run("buildah", "commit", "--quiet", "--rm", container, base)
    volumes = [f"{toolchain()}:/opt/toolchain:ro"] + [f"{folder}:{folder}:ro" for folder in local_mirrors()]
    options = [option for volume in volumes for option in ("--volume", volume)]
    start = time.monotonic()
    roots.run(
        "buildah", "bud", "--isolation", "chroot", "--pull-never", "--format", "docker", "--layers", "--network", "host", *options,
        "-f", "docker/Dockerfile", "-t", "squall", ".", cwd=TOP,
    )
    print(f"== buildah took {time.monotonic() - start:.0f} s", flush=True)
    described = json.loads(roots.run("buildah", "inspect", "--type", "image", "squall"))["Docker"]["config"]
    container = roots.run("buildah", "from", "--pull-never", "squall").strip()
    return described, roots.run("buildah", "mount", container).strip(), container


def written():
    """The configuration that docker/Dockerfile describes, for files laid out without a build."""
    with open(os.path.join(TOP, "docker/Dockerfile"), encoding="utf-8") as file:
        final = file.read().split("FROM scratch")[1]
    lists = {name: json.loads(re.search(rf"^{name} (\[.*\])$", final, re.M)[1]) for name in ("ENTRYPOINT", "CMD")}
    ports = re.search(r"^EXPOSE (.*)$", final, re.M)[1].split()
    exposed = {}
    for port in ports:
        first, _, last = port.partition("-")
        exposed.update({f"{number}/tcp": {} for number in range(int(first), int(last or first) + 1)})
    return {
        "Entrypoint": lists["ENTRYPOINT"], "Cmd": lists["CMD"], "ExposedPorts": exposed,
        "Env": re.search(r"^ENV (.*)$", final, re.M)[1].split(), "User": re.search(r"^USER (.*)$", final, re.M)[1],
        "WorkingDir": re.search(r"^WORKDIR (.*)$", final, re.M)[1],
        "Healthcheck": {"Test": ["CMD", *json.loads(re.search(r"^HEALTHCHECK.* CMD (\[.*\])$", final, re.M)[1])]},
    }


class Container:
    """A process in a copy of the image's files, as its user."""

    def __init__(self, image, arguments=None, hosts="", mounts=()):
        self.configuration, files = image
        self.root = tempfile.mkdtemp(prefix="squall-container-")
        roots.run("cp", "-a", f"{files}/.", self.root)
        # As the engine does: a container has /proc, names of others, and what is mounted.
        os.makedirs(f"{self.root}/proc", exist_ok=True)
        roots.run("mount", "-t", "proc", "proc", f"{self.root}/proc")
        self.mounts = [f"{self.root}/proc"]
        for source, target in mounts:
            self.mount(source, self.root + target)
        os.makedirs(f"{self.root}/dev", exist_ok=True)
        for device in ("null", "urandom"):
            self.mount(f"/dev/{device}", f"{self.root}/dev/{device}")
        with open(f"{self.root}/etc/hosts", "w", encoding="utf-8") as file:
            file.write(f"127.0.0.1 localhost\n{hosts}")
        self.process = None
        self.arguments = arguments

    def mount(self, source, target):
        if os.path.isdir(source):
            os.makedirs(target, exist_ok=True)
        else:
            os.makedirs(os.path.dirname(target), exist_ok=True)
            open(target, "a", encoding="utf-8").close()
        roots.run("mount", "--bind", source, target)
        self.mounts.append(target)

    def run(self, *words, **more):
        """Starts words in the container."""
        user, _, group = self.configuration["User"].partition(":")

        def enter():
            os.chroot(self.root)
            os.chdir(self.configuration["WorkingDir"])
            os.setgroups([])
            os.setgid(int(group))
            os.setuid(int(user))

        environment = dict(value.split("=", 1) for value in self.configuration["Env"])
        return subprocess.Popen(words, preexec_fn=enter, env=environment, text=True, **more)

    def output(self, *words):
        process = self.run(*words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        text, _ = process.communicate(timeout=120)
        return process.returncode, text

    def __enter__(self):
        command = self.configuration["Cmd"] if self.arguments is None else self.arguments
        self.started = time.monotonic()
        self.process = self.run(*self.configuration["Entrypoint"], *command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.log, _ = self.process.communicate(timeout=60)
        self.remove()

    def remove(self):
        for mount in reversed(self.mounts):
            roots.run("umount", "-l", mount)
        shutil.rmtree(self.root)


def call(method, path, body=None, fields=None, port=8474, host="127.0.0.1"):
    """The status, and the value of JSON content. No length is sent without a body, as by Java."""
    connection = http.client.HTTPConnection(host, port, timeout=30)
    connection.putrequest(method, path)
    content = None if body is None else json.dumps(body).encode()
    for name, value in {**(fields or {}), **({} if content is None else {"Content-Length": str(len(content))})}.items():
        connection.putheader(name, value)
    connection.endheaders(content)
    response = connection.getresponse()
    text = response.read()
    connection.close()
    return response.status, json.loads(text) if text[:1] in (b"{", b"[") else text


def wait_until_ready(container):
    """Waits for /version as Testcontainers does; returns the time since the start."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError):
            if call("GET", "/version")[0] == 200:
                return time.monotonic() - container.started
        if container.process.poll() is not None:
            break
        time.sleep(0.001)
    raise RuntimeError("the container doesn't answer")


def echo():
    listener = socket.create_server(("127.0.0.1", 6379))
    script = (
        "import socket, sys, threading\n"
        "s = socket.socket(fileno=int(sys.argv[1]))\n"
        "def serve(p):\n"
        "    while d := p.recv(65536): p.sendall(d)\n"
        "    p.close()\n"
        "while True: threading.Thread(target=serve, args=(s.accept()[0],), daemon=True).start()\n"
    )
    number = listener.fileno()
    process = subprocess.Popen([sys.executable, "-c", script, str(number)], pass_fds=[number])
    listener.close()
    return process


def said(client, text):
    """What an echo server sends back within 300 ms; nothing is `b""`."""
    client.settimeout(0.3)
    client.sendall(text)
    with contextlib.suppress(TimeoutError):
        return client.recv(100)
    return b""


def check_size(image):
    configuration, files = image
    total = sum(
        os.lstat(os.path.join(folder, name)).st_size
        for folder, folders, names in os.walk(files) for name in names + folders
        if not os.path.isdir(os.path.join(folder, name)) or os.path.islink(os.path.join(folder, name))
    )
    packed = subprocess.run(f"tar -C '{files}' -c . | gzip -6 | wc -c", shell=True, capture_output=True, text=True).stdout
    print(f"== the root file system has {total / 1e6:.1f} MB, packed {int(packed) / 1e6:.1f} MB", flush=True)
    check(total < LIMIT_BYTES, "the whole root file system is below 60 MB")
    exposed = set()
    for port in configuration["ExposedPorts"]:
        # A builder may keep a range as it is.
        first, _, last = port.removesuffix("/tcp").partition("-")
        exposed.update(range(int(first), int(last or first) + 1))
    check({8474, *range(8666, 8698)} == exposed, "the ports of Toxiproxy and Testcontainers are exposed", str(exposed))
    check(configuration["Cmd"] == ["-host=0.0.0.0"], "the default command is Toxiproxy's")
    check(configuration["User"].split(":")[0] not in ("", "0", "root"), "the user isn't root")


def check_start(image):
    times = []
    for _ in range(11):
        with Container(image) as container:
            times.append(wait_until_ready(container))
    print(
        f"== GET /version answered {statistics.median(times) * 1e3:.0f} ms after the start (median of {len(times)}, "
        f"{min(times) * 1e3:.0f} to {max(times) * 1e3:.0f} ms)", flush=True,
    )
    check(statistics.median(times) < LIMIT_SECONDS, "the image answers /version in less than 200 ms")


def check_contract(image):
    with Container(image) as container:
        wait_until_ready(container)
        status, version = call("GET", "/version")
        check(status == 200 and tuple(map(int, version["version"].split("."))) >= (2, 6, 0), "the version is one of Toxiproxy's")
        code, text = container.output(*container.configuration["Healthcheck"]["Test"][1:])
        check(code == 0, "the health check passes", text)
        code, text = container.output("/toxiproxy-cli", "create", "-l", "0.0.0.0:8697", "-u", "localhost:6379", "last")
        check((code, text) == (0, "Created new proxy last\n"), "/toxiproxy-cli works", text)
        with open(f"/proc/{container.process.pid}/status", encoding="utf-8") as file:
            check(re.search(r"^Uid:\s+10001\s", file.read(), re.M) is not None, "the process isn't root's")
        code, text = container.output("/toxiproxy", "profiles")
        check(code == 0 and "wifi-roam" in text, "any command of squall runs, with the shipped profiles", text)
        code, text = container.output("/usr/bin/squall", "demo", "--size", "4MiB", "--seed", "7", "--direction", "upstream")
        check(code == 0 and "equal: the file arrived byte for byte" in text, "the demo runs", text[-1000:])
        check_authorities(container)
        code, text = container.output("/toxiproxy", "serve", "--port=0", "-version=x")
        check(code == 2, "a wrong flag is an error", text)
    check(container.process.returncode == 0, "SIGTERM ends it with 0", str(container.process.returncode))


def check_authorities(container):
    """`squall get` trusts the image's authorities, and no other."""
    origin = container.run(
        "/usr/bin/squall", "origin", "/usr/share/squall", "--port", "8443", "--tls-self-signed", stdout=subprocess.PIPE
    )
    try:
        trust = origin.stdout.readline().split()[1]
        origin.stdout.readline()
        get = ["/usr/bin/squall", "get", "https://localhost:8443/profiles/wifi-roam.json", "--output", "/data/roam.json"]
        code, text = container.output(*get)
        check(code == 1, "TLS: a server of an unknown authority is refused", f"{code} {text}")
        bundle = f"{container.root}/etc/ssl/certs/ca-certificates.crt"
        with open(bundle, encoding="utf-8") as file:
            check(file.read().count("BEGIN CERTIFICATE") > 50, "TLS: the image has the usual authorities")
        with open(container.root + trust, encoding="utf-8") as authority, open(bundle, "a", encoding="utf-8") as file:
            file.write(authority.read())
        code, text = container.output(*get)
        check(code == 0, "TLS: a server of an authority in the image's list is trusted", f"{code} {text}")
    finally:
        origin.terminate()
        origin.communicate(timeout=60)


def check_testcontainers(image):
    """The calls of Testcontainers' modules of Java, Go and Node."""
    java = {"Content-Type": "application/x-www-form-urlencoded", "User-Agent": "Java/17.0.9"}
    with Container(image) as container:
        wait_until_ready(container)
        proxy = {"name": "redis:6379", "listen": "0.0.0.0:8666", "upstream": "localhost:6379"}
        status, made = call("POST", "/proxies", proxy, java)
        check(status == 201 and made["listen"].endswith(":8666") and made["enabled"], "Java: a proxy is made", str(made))
        with socket.create_connection(("127.0.0.1", 8666)) as client:
            check(said(client, b"one") == b"one", "Java: it passes bytes")
            for stream in ("DOWNSTREAM", "UPSTREAM"):
                toxic = {"name": f"CUT_CONNECTION_{stream}", "type": "bandwidth", "stream": stream.lower(), "toxicity": 1.0}
                status, made = call("POST", "/proxies/redis:6379/toxics", {**toxic, "attributes": {"rate": 0}}, java)
                check(status == 200 and made["attributes"] == {"rate": 0}, f"Java: the connection is cut {stream.lower()}", str(made))
            check(said(client, b"two") == b"", "Java: a cut connection passes nothing")
            for stream in ("DOWNSTREAM", "UPSTREAM"):
                path = f"/proxies/redis:6379/toxics/CUT_CONNECTION_{stream}"
                check(call("GET", path, fields=java)[0] == 200, "Java: the toxic is there")
                check(call("DELETE", path, fields=java)[0] == 204, "Java: the toxic is removed, without a length")
            client.settimeout(10)
            check(client.recv(100) == b"two", "Java: nothing is lost")
        check(call("POST", "/reset", fields=java)[0] == 204, "Java: reset, without a length")
        listed = call("GET", "/proxies")[1]
        check([proxy["listen"].rsplit(":", 1)[1] for proxy in listed.values()] == ["8666"], "Node: the port is after the last colon")
        check(call("DELETE", "/proxies/redis:6379", fields=java)[0] == 204, "Java: the proxy is deleted")

    # Testcontainers for Go copies the file into the container and names it in the command.
    container = Container(image, ["-host=0.0.0.0", "-config=/tmp/tc-toxiproxy.json"])
    proxies = [{"name": f"p{i}", "listen": f"0.0.0.0:{8666 + i}", "upstream": "localhost:6379", "enabled": True} for i in range(3)]
    with open(f"{container.root}/tmp/tc-toxiproxy.json", "w", encoding="utf-8") as file:
        json.dump(proxies, file)
    with container:
        wait_until_ready(container)
        listed = call("GET", "/proxies")[1]
        check(sorted(listed) == ["p0", "p1", "p2"], "Go: the proxies of the file are made", str(listed))
        with socket.create_connection(("127.0.0.1", 8668)) as client:
            check(said(client, b"go") == b"go", "Go: the third passes bytes")


def check_compose(image):
    """The services of docker/compose.yaml; each name is an address of the loopback."""
    with open(os.path.join(TOP, "docker/compose.yaml"), encoding="utf-8") as file:
        text = file.read()
    commands = {}
    for name in ("origin", "proxy", "client"):
        line = re.search(rf"^  {name}:\n(?:    .*\n|\n)*?    command: \[(.*)\]$", text, re.M)[1]
        commands[name] = [word.strip().strip('"') for word in line.split(",")]
    hosts = "127.0.0.2 origin\n127.0.0.3 proxy\n"
    with tempfile.TemporaryDirectory() as served:
        os.chmod(served, 0o755)
        # The service `file`.
        subprocess.run("head -c 67108864 /dev/urandom > file.bin && sha256sum file.bin > sum", shell=True, cwd=served, check=True)
        origin = Container(image, commands["origin"], hosts, [(served, "/served")])
        proxy = Container(image, commands["proxy"], hosts, [(os.path.join(TOP, "docker/wifi.json"), "/etc/squall/wifi.json")])
        client = Container(image, commands["client"], hosts)
        with origin, proxy:
            wait_until_ready(proxy)
            with client:
                client.process.wait(timeout=120)
                digest = subprocess.run(["sha256sum", f"{client.root}/data/file.bin"], capture_output=True, text=True).stdout[:64]
            code, journal = proxy.output("/toxiproxy-cli", "journal")
            page = call("GET", "/")
        with open(os.path.join(served, "sum"), encoding="utf-8") as file:
            expected = file.read()[:64]
    check(client.process.returncode == 0, "compose: the client ends with 0", client.log)
    check(digest == expected, "compose: the file arrived byte for byte", f"{digest} {expected}")
    connections = re.search(r"([0-9]+) connections", client.log)
    check(connections is not None and int(connections[1]) > 1, "compose: the client went on after the outage", client.log)
    check("outage" in journal, "compose: the outage is in the proxy's journal", journal)
    check(page[0] == 200 and b"<html" in page[1].lower(), "compose: the page is there")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    choice = parser.add_mutually_exclusive_group(required=True)
    choice.add_argument("--build", action="store_true")
    choice.add_argument("--root", metavar="PROGRAM")
    parser.add_argument("--isolated", nargs=2, metavar=("CONFIGURATION", "FILES"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("this mounts file systems: run it as root")
    if not arguments.isolated:
        with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as after:
            if arguments.build:
                configuration, files, container = build()
                after.callback(roots.run, "buildah", "rm", container)
            else:
                files = os.path.join(folder, "image/root")
                made = os.path.join(folder, "image")
                laid = roots.run(os.path.join(TOP, "docker/root.sh"), os.path.abspath(arguments.root), made, umask=0o077)
                print(laid.strip(), flush=True)
                # As the Dockerfile's COPY --chown.
                shutil.copytree(os.path.join(made, "user"), files, dirs_exist_ok=True)
                os.chown(os.path.join(files, "data"), 10001, 10001)
                os.chmod(folder, 0o755)
                configuration = written()
            command = [sys.executable, *sys.argv, "--isolated", json.dumps(configuration), files]
            sys.exit(subprocess.run(["unshare", "--mount", "--net", *command]).returncode)
    roots.run("ip", "link", "set", "lo", "up")
    image = (json.loads(arguments.isolated[0]), arguments.isolated[1])
    server = echo()
    try:
        for part in (check_size, check_start, check_contract, check_testcontainers, check_compose):
            part(image)
    finally:
        server.kill()
        server.wait()
    finish()


if __name__ == "__main__":
    main()
