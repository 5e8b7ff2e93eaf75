"""A hang answers nobody, and live connections go on."""
import socket, time
from concurrent.futures import ThreadPoolExecutor

from acceptance.harness import Squall, send_back, served, verdict


def connecting(port, seconds):
    """How long a connection takes to be made; `None` when there is no answer in time."""
    start = time.monotonic()
    try:
        socket.create_connection(("127.0.0.1", port), seconds).close()
        return time.monotonic() - start
    except TimeoutError:
        return None


def measure():
    fault = {"kind": "connect", "how": "hang"}
    phases = [{"name": "before", "for": "1 s"}, {"name": "away", "for": "3 s", "faults": [fault]}, {"name": "after"}]
    with served(send_back) as upstream, Squall({"phases": phases}, upstream) as squall:
        live = socket.create_connection(("127.0.0.1", squall.port))
        time.sleep(max(0, 1.1 - (time.monotonic() - squall.ready)))
        with ThreadPoolExecutor(64) as pool:
            answers = list(pool.map(lambda _: connecting(squall.port, 1.5), range(64)))
        live.sendall(b"hello")
        alive = live.recv(16) == b"hello"
        patient = connecting(squall.port, 20)
        after = time.monotonic() - squall.ready
        again = connecting(squall.port, 5)
    answered = sum(answer is not None for answer in answers)
    verdict("hang", answered == 0 and alive and patient and after >= 4 and again is not None and again < 0.5,
            f"{answered} of 64 connects answered in 1.5 s; the live one goes on: {alive}; a patient one got through "
            f"after {after:.2f} s")
