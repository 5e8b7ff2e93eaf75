"""Clients that give up in a silent outage, with 256 descriptors for the proxy."""
import select, socket, time

from acceptance.harness import Squall, presets, send_back, served, verdict
from kit import machine


def measure():
    count, batch, patience = 10_000, 50, 0.05
    outage = {"kind": "outage", "how": "silence"}
    assert presets()["nlc-100-percent-loss"]["faults"] == [outage]
    end = 60
    profile = {"phases": [{"name": "lost", "for": f"{end} s", "faults": [outage]}, {"name": "back"}]}
    with served(send_back) as upstream:
        with Squall(profile, upstream, prefix=["sh", "-c", 'ulimit -n 256; exec "$@"', "sh"]) as squall:
            refused = 0
            for _ in range(count // batch):
                clients = []
                for _ in range(batch):
                    try:
                        client = socket.create_connection(("127.0.0.1", squall.port), timeout=10)
                        client.sendall(b"?")
                        clients.append(client)
                    except OSError:
                        refused += 1
                readable, _, _ = select.select(clients, [], [], patience)
                refused += len(readable)
                for client in clients:
                    client.close()
            took = time.monotonic() - squall.ready
            during = took < end
            descriptors = machine.descriptors(squall.process.pid)
            time.sleep(max(0, end - took))
            start = time.monotonic()
            with socket.create_connection(("127.0.0.1", squall.port), timeout=10) as client:
                client.sendall(b"!")
                answered = client.recv(1) == b"!"
            seconds = time.monotonic() - start
    verdict("give-up", refused == 0 and during,
            f"{count} clients give up in {took:.1f} s of a silent outage: {refused} were refused or reset "
            f"({descriptors} of 256 descriptors in use)")
    verdict("give-up", answered and seconds < 2, f"the next is served in {seconds:.2f} s when the network is back")
