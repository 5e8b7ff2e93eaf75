"""A silent outage passes nothing, and everything afterwards."""
import hashlib, os, socket, time

from acceptance.harness import Squall, served, verdict


def measure():
    outage = {"kind": "outage", "how": "silence"}
    pace = {"kind": "bandwidth", "stream": "downstream", "rate": "20 MB/s"}
    phases = [{"name": "before", "for": "1 s"}, {"name": "away", "for": "3 s", "faults": [outage]}, {"name": "after"}]
    size = 60_000_000
    data = os.urandom(1 << 20) * (size >> 20)
    with served(lambda connection: connection.sendall(data)) as upstream:
        with Squall({"faults": [pace], "phases": phases}, upstream) as squall:
            digest, times, total = hashlib.sha256(), [], 0
            with socket.create_connection(("127.0.0.1", squall.port)) as connection:
                while part := connection.recv(1 << 20):
                    digest.update(part)
                    times.append(time.monotonic())
            total = len(data)
    gap = max((b - a, a - squall.ready) for a, b in zip(times, times[1:]))
    whole = digest.digest() == hashlib.sha256(data).digest()
    verdict("silence", 2.95 <= gap[0] <= 3.1 and whole,
            f"nothing passed for {gap[0]:.3f} s from second {gap[1]:.2f} on, then all {total} bytes: {whole}")
