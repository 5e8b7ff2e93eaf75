"""Clients beyond a limit of connections wait in the queue."""
import socket
from concurrent.futures import ThreadPoolExecutor

from acceptance.harness import Squall, is_silent, send_back, served, verdict


def measure():
    limit = {"kind": "connection-limit", "limit": 3, "how": "hang"}
    with served(send_back) as upstream, Squall({"faults": [limit]}, upstream) as squall:
        def client():
            connection = socket.create_connection(("127.0.0.1", squall.port))
            connection.sendall(b"hello")
            return connection
        kept = [client() for _ in range(3)]
        answered = sum(connection.recv(16) == b"hello" for connection in kept)
        waiting = [client() for _ in range(5)]
        with ThreadPoolExecutor(5) as pool:
            quiet = sum(pool.map(lambda connection: is_silent(connection, 1), waiting))
        admitted = 0
        for number, connection in enumerate(waiting):
            (kept + waiting)[number].close()
            admitted += connection.recv(16) == b"hello"
    verdict("full", answered == 3 and quiet == 5 and admitted == 5,
            f"{answered} of 3 answered at once, {quiet} of 5 waited, {admitted} of 5 answered when another had ended")
