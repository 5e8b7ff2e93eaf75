"""The two sides: the same client and server behind `loss-link relay`, and behind Squall."""
import json, os, statistics, subprocess, tempfile, time
from collections import defaultdict

from .cells import FIRST_PORT, FIRST_PROXY_PORT, JOB_LIMIT, LINK, QUEUE
from .metrics import LATE, LATE_SHARE, opened
from .namespaces import Inside, Namespace, Programs, Unfit, need_root

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SQUALL = os.environ.get("SQUALL", os.path.join(ROOT, ".build", "release", "squall"))
LOSS_LINK = os.environ.get("LOSS_LINK", os.path.join(ROOT, ".build", "release", "loss-link"))
SYSCTLS = ["tcp_recovery", "tcp_early_retrans", "tcp_rmem", "tcp_wmem", "tcp_notsent_lowat", "tcp_slow_start_after_idle",
           "tcp_sack", "tcp_timestamps", "tcp_min_tso_segs", "tcp_no_metrics_save", "tcp_frto", "tcp_reordering"]


def give(process, text):
    process.stdin.write(text)
    process.stdin.flush()


def start_server(programs, namespace, address, cells, congestion):
    server = programs.start(namespace, [LOSS_LINK, "serve", address], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            text=True, priority=0)
    give(server, "".join(f"{cell['port']} {congestion(cell)}\n" for cell in cells) + "\n")
    if server.stdout.readline() != "ready\n":
        raise Unfit(f"loss-link serve does not start{'' if congestion is None else ' (is tcp_bbr there? modprobe tcp_bbr)'}")


def fetch(programs, namespace, address, plan, ports, folder):
    """Runs the jobs; the results by number of job."""
    path = os.path.join(folder, "results")
    with open(path, "w") as output:
        client = programs.start(namespace, [LOSS_LINK, "fetch", address], stdin=subprocess.PIPE, stdout=output, text=True,
                                priority=1)
        give(client, plan.table(ports))
        limit = time.monotonic() + plan.seconds + 2 * JOB_LIMIT
        while client.poll() is None:
            if time.monotonic() > limit:
                client.kill()
                raise Unfit(f"the transfers have taken {plan.seconds + 2 * JOB_LIMIT:.0f} s, and were ended")
            time.sleep(0.2)
    with open(path) as lines:
        return {result["id"]: result for result in map(json.loads, lines)}


def save(path, about, plan, results, lateness):
    """Writes the results of a plan, as the text at the top says."""
    failures = defaultdict(int)
    with opened(path, "w") as file:
        file.write(json.dumps({"kind": "about", **about}) + "\n")
        for index, (_, cell, kind, seconds) in enumerate(plan.jobs):
            result = results.get(index, {"error": "no result"})
            if result.get("error") == "late" and "connect" in result:
                del result["error"]
                result["time"] = JOB_LIMIT
            if "error" in result:
                failures[result["error"]] += 1
                continue
            line = {key: cell[key] for key in ("sender", "loss", "roundTrip", "burst", "part")}
            line["kind"] = kind
            late = lateness.get((cell["port"], result["clientPort"]))
            if late:
                line["late"] = round(late[3] / 1000, 3)
            line["connect"] = result["connect"]
            line["accept"] = result.get("accept", 0)
            if kind == "bulk":
                line.update(seconds=seconds, packets=late and late[0], lost=late and late[1], overflowed=late and late[2],
                            deliveries=result["deliveries"])
            else:
                line["time"] = result["time"]
            file.write(json.dumps(line, separators=(",", ":")) + "\n")
    for error, count in failures.items():
        print(f"{count} jobs failed: {error}")


def settings():
    found = {"kernel": os.uname().release, "processors": len(os.sched_getaffinity(0))}
    for name in SYSCTLS:
        try:
            with open(f"/proc/sys/net/ipv4/{name}") as file:
                found[name] = " ".join(file.read().split())
        except OSError:
            found[name] = "not there"
    return found


def fetch_through_link(cells, plan, line, seed, read, log=()):
    """Runs the jobs of a plan through `loss-link relay`, which takes a line of numbers for each cell. The results by number of
    job, what `read` makes of the relay's output, and the settings of the sender's side."""
    need_root()
    need_built(LOSS_LINK, "swift build -c release --product loss-link")
    programs, namespaces = Programs(), []
    with tempfile.TemporaryDirectory(prefix="loss-lab-") as folder:
        try:
            clients = Namespace("10.77.0.1", "10.77.0.2")
            namespaces.append(clients)
            servers = Namespace("10.77.0.2", "10.77.0.1")
            namespaces.append(servers)
            with Inside(servers):
                about = settings()
            print("; ".join(f"{name} {value}" for name, value in about.items()), flush=True)
            with open(os.path.join(folder, "flows"), "w+") as flows:
                relay = programs.start(
                    None, [LOSS_LINK, "relay", str(clients.tun), str(servers.tun), str(seed), *log],
                    stdin=subprocess.PIPE, stdout=flows, text=True, pass_fds=[clients.tun, servers.tun], priority=2)
                give(relay, "".join(line(cell) + "\n" for cell in cells) + "\n")
                start_server(programs, servers, "10.77.0.2", cells, lambda cell: cell["sender"])
                results = fetch(programs, clients, "10.77.0.2", plan, {cell["port"]: cell["port"] for cell in cells}, folder)
                relay.stdin.close()
                if relay.wait(30):
                    raise Unfit(f"loss-link relay ended with {relay.returncode}")
                flows.seek(0)
                return results, read(flows), about
        finally:
            programs.end()
            for namespace in namespaces:
                namespace.close()


def measure_kernel(cells, plan, path, seed, log=()):
    def line(cell):
        return (f"{cell['port']} {LINK:.0f} {cell['roundTrip'] * 1000} {QUEUE} {cell['loss'] / 100:g} {cell['burst']}"
                f" {cell['handshake'] / 100:g} 0 0")
    results, lateness, about = fetch_through_link(cells, plan, line, seed, read_lateness, log)
    save(path, about, plan, results, lateness)


def read_lateness(flows):
    """(packets, lost, overflowed, p99 µs, most µs) by ports; prints what the relay says of itself."""
    found = {}
    for line in flows:
        words = line.split()
        if words[0] == "flow":
            port, client = map(int, words[1:3])
            found[port, client] = tuple(int(word) for word in words[3:6]) + tuple(float(word) for word in words[6:8])
        else:
            print("relay:", line.strip())
    if found:
        worst = sorted(entry[3] / 1000 for entry in found.values())
        print(f"lateness of the link, p99 of a flow: median {statistics.median(worst):.3f} ms,"
              f" 99 % of flows below {worst[int(0.99 * (len(worst) - 1))]:.3f} ms, most {worst[-1]:.3f} ms;"
              f" {sum(entry > LATE for entry in worst)} of {len(worst)} flows above {LATE:g} ms, which are left out"
              f" unless that is below {LATE_SHARE * 100:g} % of the round trip", flush=True)
    return found


def profile(cell):
    faults = []
    if cell["loss"]:
        faults.append({"kind": "loss", "stream": "downstream", "rate": f"{cell['loss']:g} %", "burst": cell["burst"],
                       "rtt": f"{cell['roundTrip']} ms", "sender": cell["sender"], "link": f"{LINK / 1e6:.0f} Mbit/s"})
    faults.append({"kind": "latency", "delay": f"{cell['roundTrip'] / 2:g} ms"})
    return {"name": f"cell-{cell['port']}", "faults": faults}


def fetch_through_squall(cells, plan, profile, seed):
    """Runs the jobs of a plan through a proxy with its own profile for each cell; the results by number of job."""
    need_built(LOSS_LINK, "swift build -c release --product loss-link")
    need_built(SQUALL, "make build")
    programs, namespace = Programs(), None
    with tempfile.TemporaryDirectory(prefix="loss-lab-") as folder:
        try:
            if os.geteuid() == 0:
                namespace = Namespace()
            start_server(programs, namespace, "127.0.0.1", cells, lambda cell: "cubic")
            ports = {cell["port"]: cell["port"] - FIRST_PORT + FIRST_PROXY_PORT for cell in cells}
            config, errors = os.path.join(folder, "proxies.json"), os.path.join(folder, "errors")
            with open(config, "w") as file:
                json.dump([{"name": f"cell-{cell['port']}", "listen": f"127.0.0.1:{ports[cell['port']]}",
                            "upstream": f"127.0.0.1:{cell['port']}", "profile": profile(cell)} for cell in cells], file)
            with open(errors, "w") as messages:
                proxy = programs.start(namespace, [SQUALL, "serve", "--config", config, "--seed", str(seed)],
                                       stdin=subprocess.DEVNULL, stdout=messages, stderr=messages)
                wait_for_listener(namespace, max(ports.values()), proxy, errors)
                return fetch(programs, namespace, "127.0.0.1", plan, ports, folder)
        finally:
            programs.end()
            if namespace:
                namespace.close()


def measure_proxy(cells, plan, path, seed):
    save(path, {"squall": SQUALL}, plan, fetch_through_squall(cells, plan, profile, seed), {})


def wait_for_listener(namespace, port, process, errors):
    limit = time.monotonic() + 20
    while time.monotonic() < limit and process.poll() is None:
        with Inside(namespace), open("/proc/thread-self/net/tcp") as table:
            if any(line.split()[1].endswith(f":{port:04X}") and line.split()[3] == "0A" for line in list(table)[1:]):
                return
        time.sleep(0.05)
    with open(errors) as file:
        raise Unfit(f"squall serve does not start: {file.read().strip()[-500:]}")


def need_built(path, command):
    if not os.access(path, os.X_OK):
        raise Unfit(f"{path} is missing: build it with `{command}`")
