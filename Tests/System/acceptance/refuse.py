"""A refusing outage resets live connections, refuses others, and heals."""
import socket, time

from acceptance.harness import Squall, send_back, served, verdict


def measure():
    outage = {"kind": "outage", "how": "refuse"}
    phases = [{"name": "before", "for": "1 s"}, {"name": "away", "for": "2 s", "faults": [outage]}, {"name": "after"}]
    with served(send_back) as upstream, Squall({"phases": phases}, upstream) as squall:
        live = socket.create_connection(("127.0.0.1", squall.port))
        live.sendall(b"hello")
        before = live.recv(16) == b"hello"
        try:
            live.settimeout(3)
            live.recv(1)
            was_reset = False
        except ConnectionResetError:
            was_reset = time.monotonic() - squall.ready < 1.2
        live.close()
        refused = tried = 0
        while time.monotonic() - squall.ready < 2.8:
            tried += 1
            try:
                socket.create_connection(("127.0.0.1", squall.port)).close()
            except ConnectionRefusedError:
                refused += 1
            time.sleep(0.02)
        time.sleep(max(0, 3.1 - (time.monotonic() - squall.ready)))
        with socket.create_connection(("127.0.0.1", squall.port)) as again:
            again.sendall(b"hello")
            healed = again.recv(16) == b"hello"
    verdict("refuse", before and was_reset and refused == tried and healed,
            f"live one reset: {was_reset}; {refused} of {tried} connects refused; healed: {healed}")
