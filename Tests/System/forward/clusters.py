#!/usr/bin/env python3
"""Redis Cluster and Kafka advertise addresses of their own. Checks the recipes that lead their clients through Squall.

    scripts/install.sh clusters              redis-server, redis-tools and kcat of Debian
    make clusters                            about half a minute
    SQUALL=.build/debug/squall python3 Tests/System/forward/clusters.py redis-announce redis-socks kafka-announce kafka-socks

redis-announce  a cluster of three nodes that announce the ports of three proxies, and redis-cli -c as its client
redis-socks     a cluster that announces its own ports, and a client that connects by SOCKS5: one node is cut off
kafka-announce  a scripted broker whose Metadata names the proxy, and kcat; then one that names itself
kafka-socks     a scripted broker that names itself, and a client that connects by SOCKS5

Everything listens on free ports of 127.0.0.1. Exits 1 if something doesn't hold.
"""
import argparse, contextlib, json, os, shutil, socket, struct, subprocess, sys, tempfile, time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from clients import forwarding, running
from kit.programs import free_port
from kit.server import served
from kit.verdicts import finish, verdict

NODES, SLOTS, KEYS = 3, 16_384, 60


def connect(host, port, proxy=None):
    """A connection to a host, by SOCKS5 if a proxy's port is given."""
    if proxy is None:
        return socket.create_connection((host, port), timeout=10)
    stream = socket.create_connection(("127.0.0.1", proxy), timeout=10)
    name = host.encode()
    stream.sendall(b"\x05\x01\x00\x05\x01\x00\x03" + bytes([len(name)]) + name + struct.pack(">H", port))
    reply = b""
    while len(reply) < 12:
        part = stream.recv(12 - len(reply))
        if not part:
            raise ConnectionError("the proxy has ended the handshake")
        reply += part
    if reply[3] != 0:
        raise ConnectionError(f"the proxy answers {reply[3]}")
    return stream


def events(journal):
    """The lines of a journal about faults."""
    with open(journal) as file:
        return [line for line in map(json.loads, file) if "fault" in line]


# MARK: Redis


class Redis:
    """One connection that speaks RESP."""

    def __init__(self, host, port, proxy=None):
        self.stream = connect(host, port, proxy)
        self.lines = self.stream.makefile("rb")

    def call(self, *words):
        texts = [str(word).encode() for word in words]
        self.stream.sendall(b"*%d\r\n" % len(texts) + b"".join(b"$%d\r\n%s\r\n" % (len(text), text) for text in texts))
        return self.answer()

    def answer(self):
        line = self.lines.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError("the connection ended")
        kind, rest = line[:1], line[1:-2].decode()
        if kind == b"*":
            return [self.answer() for _ in range(int(rest))]
        if kind == b"$":
            return None if rest == "-1" else self.lines.read(int(rest) + 2)[:-2].decode()
        if kind == b"-":
            raise ValueError(rest)
        return int(rest) if kind == b":" else rest


class Cluster:
    """A client that follows the redirections of a cluster, each node by one connection."""

    def __init__(self, host, port, proxy=None):
        self.first, self.proxy, self.nodes = (host, port), proxy, {}

    def call(self, *words):
        place = self.first
        for _ in range(5):
            if place not in self.nodes:
                self.nodes[place] = Redis(*place, self.proxy)
            try:
                return self.nodes[place].call(*words)
            except ValueError as error:
                if not str(error).startswith("MOVED "):
                    raise
                host, port = str(error).split()[2].rsplit(":", 1)
                place = host, int(port)
            except OSError:
                del self.nodes[place]
                raise
        raise ValueError("too many redirections")


@contextlib.contextmanager
def cluster(folder, ports, announced):
    """A cluster at these ports, whose nodes announce the other ones."""
    nodes = []
    with contextlib.ExitStack() as stack:
        for port, other in zip(ports, announced):
            home = os.path.join(folder, f"node-{port}")
            os.makedirs(home, exist_ok=True)
            bus = free_port()
            process = subprocess.Popen(
                ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--dir", home, "--save", "", "--cluster-enabled",
                 "yes", "--cluster-port", str(bus), "--cluster-announce-ip", "127.0.0.1", "--cluster-announce-port",
                 str(other), "--cluster-announce-bus-port", str(bus)], stdout=subprocess.DEVNULL)
            stack.callback(process.wait, 10)
            stack.callback(process.terminate)
            nodes.append((port, bus))
        clients = [patiently(lambda port=port: Redis("127.0.0.1", port)) for port, _ in nodes]
        for number, client in enumerate(clients):
            first, last = SLOTS * number // NODES, SLOTS * (number + 1) // NODES - 1
            client.call("CLUSTER", "ADDSLOTSRANGE", first, last)
            client.call("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
        for port, bus in nodes[1:]:
            clients[0].call("CLUSTER", "MEET", "127.0.0.1", port, bus)

        def is_formed(client):
            said = client.call("CLUSTER", "INFO")
            listed = {(node[0], node[1]) for _, _, node, *_ in client.call("CLUSTER", "SLOTS")}
            return "cluster_state:ok" in said and listed == {("127.0.0.1", port) for port in announced}

        for client in clients:
            patiently(lambda: is_formed(client) or None)
        yield clients


def patiently(body):
    """The result of `body` as soon as there is one, within 30 s."""
    deadline = time.monotonic() + 30
    while True:
        try:
            if (result := body()) is not None:
                return result
            problem = "it isn't ready"
        except OSError as error:
            problem = error
        if time.monotonic() > deadline:
            raise SystemExit(f"a cluster doesn't form: {problem}")
        time.sleep(0.05)


def check_redis_announce(folder):
    ports = [free_port() for _ in range(NODES)]
    profile, journal = os.path.join(folder, "cluster.json"), os.path.join(folder, "announce.jsonl")
    with open(profile, "w") as file:
        json.dump({"name": "cluster", "faults": [{"kind": "latency", "delay": "2 ms"}], "proxies": [
            {"name": f"node-{number}", "listen": "127.0.0.1:0", "upstream": f"127.0.0.1:{port}"}
            for number, port in enumerate(ports, 1)]}, file)
    with running(profile, "--journal", journal, proxies=NODES) as (process, proxies), cluster(folder, ports, proxies):
        commands = "".join(f"SET key-{number} {number}\nGET key-{number}\n" for number in range(KEYS))
        done = subprocess.run(["redis-cli", "-c", "-h", "127.0.0.1", "-p", str(proxies[0])], input=commands, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
        values = [line for line in done.stdout.splitlines() if line.isdigit()]
        verdict("redis", values == [str(number) for number in range(KEYS)],
                f"redis-cli -c sets and reads {KEYS} keys of {NODES} nodes through their proxies")
        process.terminate()
        process.wait(10)
    met = {line["proxy"] for line in events(journal)}
    verdict("redis", met == {f"node-{number}" for number in range(1, NODES + 1)}, f"faults act at {', '.join(sorted(met))}")


def check_redis_socks(folder):
    ports = [free_port() for _ in range(NODES)]
    profile = os.path.join(folder, "one-node.json")
    with open(profile, "w") as file:
        json.dump({"name": "one-node", "when": {"host": f"127.0.0.1:{ports[1]}"}, "faults": [
            {"kind": "cut", "stream": "downstream", "at": "0 B"}]}, file)
    with cluster(folder, ports, ports), forwarding(profile) as (_, proxy):
        client, results = Cluster("127.0.0.1", ports[0], proxy), []
        for number in range(KEYS):
            slot = client.call("CLUSTER", "KEYSLOT", f"key-{number}")
            try:
                client.call("SET", f"key-{number}", number)
                results.append((slot, True))
            except OSError:
                results.append((slot, False))
        middle = range(SLOTS // NODES, SLOTS * 2 // NODES)
        right = sum(is_set == (slot not in middle) for slot, is_set in results)
        verdict("redis", right == KEYS and {is_set for _, is_set in results} == {True, False},
                f"by SOCKS5, {sum(is_set for _, is_set in results)} of {KEYS} keys are set: those of the node that is cut off aren't")


# MARK: Kafka


class Broker(contextlib.ExitStack):
    """Answers ApiVersions, Metadata and Produce of Kafka's protocol, and says that it is at `advertised`."""

    TOPIC = "orders"

    def __init__(self):
        super().__init__()
        self.advertised, self.produced, self.connections = None, 0, 0
        self.port = self.enter_context(served(self.serve))

    def serve(self, stream):
        self.connections += 1
        with contextlib.suppress(struct.error), stream.makefile("rb") as reader:
            while size := reader.read(4):
                request = reader.read(struct.unpack(">i", size)[0])
                key, version, correlation = struct.unpack_from(">hhi", request)
                body = request[10 + max(0, struct.unpack_from(">h", request, 8)[0]):]
                answer = {18: self.versions, 3: self.metadata, 0: self.produce}[key](version, body)
                if answer is not None:
                    answer = struct.pack(">i", correlation) + answer
                    stream.sendall(struct.pack(">i", len(answer)) + answer)

    def versions(self, version, _):
        # A newer client asks again in version 0 after error 35.
        kinds = [(0, 0, 2), (3, 0, 1), (18, 0, 0)]
        return struct.pack(">hi", 0 if version == 0 else 35, len(kinds)) + b"".join(struct.pack(">hhh", *kind) for kind in kinds)

    def metadata(self, version, _):
        host, port = self.advertised
        broker = struct.pack(">ii", 1, 0) + text(host) + struct.pack(">i", port) + (text(None) if version else b"")
        partition = struct.pack(">hiiiiii", 0, 0, 0, 1, 0, 1, 0)
        topic = struct.pack(">h", 0) + text(self.TOPIC) + (b"\x00" if version else b"") + struct.pack(">i", 1) + partition
        return broker + (struct.pack(">i", 0) if version else b"") + struct.pack(">i", 1) + topic

    def produce(self, version, body):
        self.produced += 1
        acknowledgements = struct.unpack_from(">h", body)[0]
        if acknowledgements == 0:
            return None
        partition = struct.pack(">ihq", 0, 0, self.produced - 1) + (struct.pack(">q", -1) if version == 2 else b"")
        answer = struct.pack(">i", 1) + text(self.TOPIC) + struct.pack(">i", 1) + partition
        return answer + (struct.pack(">i", 0) if version else b"")


def text(value):
    return struct.pack(">h", -1) if value is None else struct.pack(">h", len(value)) + value.encode()


def advertised(stream):
    """The address of the only broker that Metadata names."""
    request = struct.pack(">hhi", 3, 0, 7) + text("check") + struct.pack(">i", 1) + text(Broker.TOPIC)
    stream.sendall(struct.pack(">i", len(request)) + request)
    reader = stream.makefile("rb")
    size = reader.read(4)
    if len(size) < 4:
        raise ConnectionError("the connection ended")
    answer = reader.read(struct.unpack(">i", size)[0])
    length = struct.unpack_from(">h", answer, 12)[0]
    return answer[14:14 + length].decode(), struct.unpack_from(">i", answer, 14 + length)[0]


def check_kafka_announce(folder):
    journal = os.path.join(folder, "kafka.jsonl")
    profile = os.path.join(folder, "slow.json")
    with open(profile, "w") as file:
        json.dump({"name": "slow", "faults": [{"kind": "latency", "delay": "2 ms", "stream": "upstream"}]}, file)
    for through in (True, False):
        broker = Broker()
        options = ["--listen", "127.0.0.1:0", "--upstream", f"127.0.0.1:{broker.port}", "--journal", journal]
        with running(profile, *options) as (process, (port,)):
            broker.advertised = ("127.0.0.1", port if through else broker.port)
            done = subprocess.run(
                ["kcat", "-P", "-b", f"127.0.0.1:{port}", "-t", Broker.TOPIC, "-p", "0", "-X", "message.timeout.ms=20000"],
                input="a message\n", text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
            process.terminate()
            process.wait(10)
        passed = len({line["connection"] for line in events(journal)})
        delivered = done.returncode == 0 and broker.produced == 1
        if through:
            # It knows the broker that it reached first by its advertised address, and stays with that connection.
            verdict("kafka", delivered and passed == broker.connections,
                    f"all {passed} connections of kcat pass a proxy that the broker advertises {done.stdout}".rstrip())
        else:
            verdict("kafka", delivered and passed == 1 < broker.connections,
                    f"without that only the first of {broker.connections} connections does {done.stdout}".rstrip())
        broker.close()


def check_kafka_socks(folder):
    broker = Broker()
    broker.advertised = ("127.0.0.1", broker.port)
    profile, journal = os.path.join(folder, "late.json"), os.path.join(folder, "socks.jsonl")
    with open(profile, "w") as file:
        json.dump({"name": "late", "faults": [{"kind": "latency", "delay": "2 ms", "stream": "upstream"}]}, file)
    with forwarding(profile, "--journal", journal, "--host", f"127.0.0.1:{broker.port}") as (process, proxy):
        with connect("127.0.0.1", broker.port, proxy) as first:
            place = advertised(first)
        with connect(*place, proxy) as second:
            again = advertised(second)
        process.terminate()
        process.wait(10)
    passed = len({line["connection"] for line in events(journal)})
    verdict("kafka", place == again == broker.advertised and passed == 2 == broker.connections,
            f"by SOCKS5 the connection to the broker's own address passes the proxy too: {passed} of {broker.connections}")
    broker.close()


CHECKS = {
    "redis-announce": check_redis_announce, "redis-socks": check_redis_socks,
    "kafka-announce": check_kafka_announce, "kafka-socks": check_kafka_socks,
}
PROGRAMS = {"redis-announce": ["redis-server", "redis-cli"], "redis-socks": ["redis-server"], "kafka-announce": ["kcat"]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("checks", nargs="*", choices=[*CHECKS, []], default=[])
    wanted = parser.parse_args().checks or list(CHECKS)
    for name in wanted:
        missing = [program for program in PROGRAMS.get(name, []) if not shutil.which(program)]
        if missing:
            verdict(name, False, f"{' and '.join(missing)} missing; scripts/install.sh clusters installs what is needed")
            continue
        with tempfile.TemporaryDirectory(prefix="squall-clusters-") as folder:
            CHECKS[name](folder)
    finish()


if __name__ == "__main__":
    main()
