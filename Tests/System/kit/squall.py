"""Servers of Squall, on free ports, until the end of `with`: `squall origin` and `squall run`."""
import hashlib, json, os, re, signal, subprocess, sys, tempfile

from .programs import SQUALL, Failure, end, need_squall, start
from .verdicts import finish


def digest(path):
    found = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            found.update(block)
    return found.hexdigest()


class Program:
    """A server of ours, until the end of `with`."""

    def __init__(self, *arguments):
        self.arguments = arguments
        self.begin()

    def begin(self):
        self.process = start([SQUALL, *self.arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                      stderr=subprocess.DEVNULL, text=True)
        line = self.process.stdout.readline()
        if trust := re.match(r"trust: (\S+) is", line):
            self.authority, line = trust.group(1), self.process.stdout.readline()
        found = re.search(r"127\.0\.0\.1:(\d+)", line)
        if not found:
            end(self.process)
            raise Failure(f"squall {self.arguments[0]} does not start")
        self.port = int(found.group(1))

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        end(self.process)


class Origin(Program):
    """`squall origin` over a new folder, into which it takes uploads as well."""

    authority = None

    def __init__(self, tls=False):
        self.folder = tempfile.mkdtemp(prefix="origin-")
        super().__init__("origin", self.folder, "--uploads", self.folder, *(["--tls-self-signed"] if tls else []))

    def restart(self):
        """A server on the same port, after a kill."""
        self.arguments = ("origin", self.folder, "--uploads", self.folder, "--port", str(self.port))
        self.begin()


class Proxy(Program):
    """`squall run` in front of a port or an address, with a profile given as a dictionary or a path, and with TLS on both sides if asked for."""

    def __init__(self, profile, upstream, *options, tls=False):
        own = tempfile.mkdtemp(prefix="proxy-")
        path = profile if isinstance(profile, str) else os.path.join(own, "profile.json")
        if path is not profile:
            with open(path, "w") as file:
                json.dump({"name": "system", **profile}, file)
        self.journal = os.path.join(own, "journal.jsonl")
        scheme, upstream = "tls:" if tls else "", f"127.0.0.1:{upstream}" if isinstance(upstream, int) else upstream
        super().__init__("run", path, "--listen", f"{scheme}127.0.0.1:0", "--upstream", scheme + upstream, "--threads", "1",
                         "--journal", self.journal, *options)

    def cuts(self):
        """The cuts that acted, as pairs of a direction and an offset of the connection."""
        with open(self.journal) as file:
            lines = [json.loads(line) for line in file]
        return [(line["direction"], line["offset"]) for line in lines if line.get("what") in ("closes", "resets")]


def run_parts(parts, options):
    """Runs the parts of a script that were asked for, or all, in a folder of their own, and ends the program."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # So that what was started is ended.
    try:
        need_squall()
        with tempfile.TemporaryDirectory(prefix="squall-transfers-") as own:
            tempfile.tempdir = own
            for part in options.parts or parts:
                parts[part](options)
            tempfile.tempdir = None
        finish()
    except Failure as failure:
        sys.exit(f"{os.path.basename(sys.argv[0])}: {failure}")
