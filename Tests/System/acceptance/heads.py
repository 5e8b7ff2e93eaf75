"""What a head costs, and what chunks of a byte take of memory while nobody reads them."""
import socket, time

from acceptance.harness import NEVER, Squall, served, verdict
from kit.machine import processor_seconds, resident_bytes


def measure():
    interim = b"HTTP/1.1 100 Continue\r\n\r\n" * 20_000
    rounds = 20

    def hint(connection):
        connection.recv(1 << 16)
        for _ in range(rounds):
            connection.sendall(interim)

    with served(hint) as upstream:
        costs = {}
        for name, faults in (("none", []), ("http", [NEVER])):
            with Squall({"faults": faults}, upstream) as squall:
                with socket.create_connection(("127.0.0.1", squall.port)) as connection:
                    connection.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
                    while connection.recv(1 << 20):
                        pass
                costs[name] = processor_seconds(squall.process.pid) / (rounds * 20_000) * 1e6
    cost = costs["http"] - costs["none"]
    verdict("heads", cost < 1, f"an interim response costs {cost:.2f} µs more where a fault reads HTTP")

    clients = 40
    chunks = b"1\r\nx\r\n" * 100_000

    def endless(connection):
        connection.recv(1 << 16)
        connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while True:
            connection.sendall(chunks)

    cut = {"kind": "cut", "stream": "downstream", "at": "1048576 MiB", "of": "body", "how": "reset"}
    with served(endless) as upstream, Squall({"faults": [cut]}, upstream) as squall:
        before = resident_bytes(squall.process.pid)
        connections = []
        for _ in range(clients):
            connection = socket.socket()
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            connection.connect(("127.0.0.1", squall.port))
            connection.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            connections.append(connection)
        time.sleep(5)
        each = (resident_bytes(squall.process.pid) - before) / clients / 2**20
        verdict("heads", each < 2, f"chunks of a byte that nobody reads take {each:.2f} MiB a connection")
        for connection in connections:
            connection.close()
