"""What is added to the first message of another protocol by the shipped profiles that read HTTP."""
import json, re, socket, statistics, time

from acceptance.harness import NEVER, Squall, presets, scenarios, verdict


def measure():
    messages = {
        "git": b"0032git-upload-pack /project.git\0host=example.org\0", "SSH": b"SSH-2.0-OpenSSH_9.9\r\n",
        "SMTP": b"EHLO client.example.org\r\n", "PostgreSQL": bytes.fromhex("0000000804d2162f"),
        "MySQL": b"J\0\0\0\x0a8.0.40\0", "Redis": b"PING\r\n", "RESP": b"*1\r\n$4\r\nPING\r\n",
        "MQTT": b"\x10\x10\0\4MQTT\4\2\0\x3c\0\4name", "ZooKeeper": b"ruok", "memcached": b"get foo\r\n",
        "AMQP": b"AMQP\0\0\x09\x01", "Kafka": b"\0\0\0\x14\0\x12\0\3\0\0\0\1\0\4name\0\0\0\0\0\0",
        "NATS": b'CONNECT {"verbose":false}\r\n', "IRC": b"NICK name\r\n", "rsync": b"@RSYNCD: 31.0\n",
        "TLS": b"\x16\3\1\0\xc4\1\0\0\xc0\3\3" + b"G" * 190,
    }
    profiles = {"never": {"faults": [NEVER]}}
    for name, content in (scenarios() | presets()).items():
        if re.search(r'"(http|of)"', json.dumps(content)):
            profiles[name] = content
    for profile, content in profiles.items():
        content.pop("$schema", None)
        slowest, altered = (0, ""), 0
        with socket.create_server(("127.0.0.1", 0)) as listener, \
                Squall(content, listener.getsockname()[1]) as squall:
            for name, message in messages.items():
                times = {squall.port: [], listener.getsockname()[1]: []}
                for _ in range(21):
                    for port in times:
                        with socket.create_connection(("127.0.0.1", port)) as client, listener.accept()[0] as server:
                            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                            server.settimeout(3)
                            begin, received = time.monotonic(), b""
                            client.sendall(message)
                            try:
                                while len(received) < len(message):
                                    received += server.recv(1 << 16)
                            except TimeoutError:
                                pass
                            times[port].append(time.monotonic() - begin)
                            altered += received != message
                through, direct = (statistics.median(values) for values in times.values())
                slowest = max(slowest, (through - direct, name))
        verdict("foreign", slowest[0] < 0.001 and not altered,
                f"{len(messages)} first messages through {profile}: {slowest[0] * 1e3:.3f} ms later at most in the "
                f"median ({slowest[1]}), {altered} altered or held")
