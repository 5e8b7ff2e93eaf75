#!/usr/bin/env python3
"""Runs the visit of visit.py on the built command, with a proxy that three clients load from, and a queue with a job that waits.

    SQUALL=.build/debug/squall python3 Tests/System/page/run.py
"""
import contextlib, os, subprocess, sys, tempfile, threading

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from kit import programs
from kit.programs import SQUALL
from kit.server import Server, connected, served


def pour(peer):
    while True:
        peer.sendall(bytes(1 << 16))


def drink(address):
    # The visit ends connections, and takes the network away.
    while True:
        with contextlib.suppress(OSError), connected(address) as client:
            while client.recv(1 << 16):
                pass


@contextlib.contextmanager
def queue():
    """A queue called page, whose only job waits, as its server isn't there."""
    with tempfile.TemporaryDirectory(prefix="squall-queue-") as home:
        os.environ["XDG_STATE_HOME"] = home
        daemon = programs.start([SQUALL, "queue", "serve", "--name", "page"], stdout=subprocess.PIPE, text=True)
        try:
            daemon.stdout.readline()
            subprocess.run([SQUALL, "queue", "submit", "--name", "page", "http://127.0.0.1:9/night.iso", "--output", f"{home}/night.iso"],
                           check=True, stdout=subprocess.DEVNULL)
            yield
        finally:
            programs.end(daemon)


def main():
    with served(pour) as source, queue(), Server("--queue", "page") as server:
        address = server.proxy("db", f"127.0.0.1:{source}")
        server.toxic("db", name="line", type="bandwidth", attributes={"rate": 2_000})
        for _ in range(3):
            threading.Thread(target=drink, args=(address,), daemon=True).start()
        visit = os.path.join(os.path.dirname(os.path.abspath(__file__)), "visit.py")
        url = f"http://127.0.0.1:{server.port}/"
        command = [sys.executable, visit, "--url", url, "--proxy", "db", "--queue", "night.iso", *sys.argv[1:]]
        return subprocess.run(command, timeout=300).returncode


if __name__ == "__main__":
    sys.exit(main())
