"""What the promises share: programs and servers between which Squall is measured, and the verdicts."""
import json, os, re, shutil, socket, subprocess, tempfile, time

from kit import programs
from kit.programs import ROOT, SQUALL, free_port
from kit.server import is_silent, send_back, served  # noqa: F401: for the promises
from kit.verdicts import verdict  # noqa: F401: for the promises

FOLDER = tempfile.mkdtemp(prefix="squall-acceptance-")


def need(*programs):
    missing = [p for p in programs if not shutil.which(p)]
    if missing:
        print("installing", *missing, flush=True)
        subprocess.run(["apt-get", "install", "-y", "-qq", *missing], check=True, stdout=subprocess.DEVNULL)


class Squall:
    """`squall run` with a profile given as a dictionary, on a free port or where `listen` says; `upstream` is a port or an
    address."""

    def __init__(self, profile, upstream, *arguments, prefix=(), listen="127.0.0.1:0"):
        path = tempfile.mktemp(prefix="profile-", suffix=".json", dir=FOLDER)
        with open(path, "w") as file:
            json.dump({"name": "acceptance", **profile}, file)
        self.journal_path = path + "l"
        upstream = f"127.0.0.1:{upstream}" if isinstance(upstream, int) else upstream
        command = [SQUALL, "run", path, "--listen", listen, "--upstream", upstream]
        self.process = subprocess.Popen(
            [*prefix, *command, "--journal", self.journal_path, *arguments], stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        self.ready = time.monotonic()
        found = re.match(r"ready: 127\.0\.0\.1:(\d+)", line)
        self.port = int(found.group(1)) if found else None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(10)
        self.process.stdout.close()

    def journal(self):
        """The lines of the journal behind its header, times aside."""
        with open(self.journal_path) as file:
            lines = [json.loads(line) for line in file]
        assert lines[0]["event"] == "journal"
        return [{k: v for k, v in line.items() if k != "time"} for line in lines[1:]]


class Nginx:
    def __enter__(self):
        need("nginx")
        self.folder = tempfile.mkdtemp(prefix="nginx-", dir=FOLDER)
        os.chmod(FOLDER, 0o755)
        os.chmod(self.folder, 0o755)
        self.port = free_port()
        paths = "".join(f"{kind}_temp_path {self.folder}/{kind};"
                        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        with open(f"{self.folder}/nginx.conf", "w") as file:
            file.write(f"daemon off; pid {self.folder}/pid; error_log {self.folder}/errors; events {{}} "
                       f"http {{ access_log off; {paths} "
                       f"server {{ listen 127.0.0.1:{self.port}; root {self.folder}/www; }} }}")
        os.mkdir(f"{self.folder}/www")
        self.process = programs.start(["nginx", "-c", f"{self.folder}/nginx.conf"], stderr=subprocess.DEVNULL)
        programs.wait_until_listening(self.process, self.port)
        return self

    def file(self, name, size):
        data = os.urandom(size)
        with open(f"{self.folder}/www/{name}", "wb") as file:
            file.write(data)
        return data

    def __exit__(self, *_):
        programs.end(self.process)


class Haproxy:
    """HAProxy in TCP mode in its best configuration for bulk: one thread, splice forced, pipes of 1 MiB."""

    def __init__(self, upstream):
        need("haproxy")
        self.port = free_port()
        path = f"{FOLDER}/haproxy.cfg"
        with open(path, "w") as file:
            file.write("global\n nbthread 1\n tune.pipesize 1048576\n"
                       "defaults\n mode tcp\n timeout connect 5s\n timeout client 1h\n timeout server 1h\n"
                       " option splice-request\n option splice-response\n"
                       f"listen p\n bind 127.0.0.1:{self.port}\n server s 127.0.0.1:{upstream}\n")
        self.process = programs.start(["haproxy", "-db", "-f", path], stderr=subprocess.DEVNULL)
        programs.wait_until_listening(self.process, self.port)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        programs.end(self.process)


def source(connection):
    block = bytes(1 << 20)
    while True:
        connection.sendall(block)


def drain(port, seconds, counts=None, host="127.0.0.1"):
    """Receives for so many seconds from the moment of connecting from `host`; returns the bytes."""
    with socket.create_connection(("127.0.0.1", port), source_address=(host, 0)) as connection:
        start, total = time.monotonic(), 0
        buffer = bytearray(1 << 20)
        while (left := seconds - (time.monotonic() - start)) > 0:
            connection.settimeout(left)
            try:
                count = connection.recv_into(buffer)
            except TimeoutError:
                break
            if count == 0:
                break
            total += count
            if counts is not None:
                counts.append((time.monotonic(), total))
    return total


NEVER = {"kind": "http", "answer": {"status": 503}, "when": {"http": {"path": "/never/matches"}}}


def get(arguments, **options):
    return subprocess.run([SQUALL, "get", *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)


def scenarios():
    """The shipped scenarios by their names."""
    folder = os.path.join(ROOT, "Profiles")
    found = {}
    for name in os.listdir(folder):
        if name.endswith(".json") and not name.endswith(".schema.json"):
            with open(os.path.join(folder, name)) as file:
                found[name[:-5]] = json.load(file)
    return found


def presets():
    """The presets of all files by their names."""
    folder = os.path.join(ROOT, "Profiles", "presets")
    found = {}
    for name in os.listdir(folder):
        if name.endswith(".json"):
            with open(os.path.join(folder, name)) as file:
                found.update(json.load(file)["presets"])
    return found


def predicted(name, *arguments):
    """What `squall plan` tells, and the seconds that it took itself."""
    start = time.monotonic()
    out = subprocess.run([SQUALL, "plan", name, "--events", "json", *arguments], stdout=subprocess.PIPE, check=True).stdout
    return json.loads(out), time.monotonic() - start
