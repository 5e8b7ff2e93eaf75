#!/usr/bin/env python3
"""Squall beside HAProxy with TLS on both sides and the upstream verified, one thread each, in turns.

    make https-bench                               9 rounds, about 5 minutes
    python3 Benchmarks/https.py --rounds 3 --seconds 0.5

wrk asks nginx through each proxy: for 10 MB by 4 connections (processor time for each GB), for 100 B by a connection each (processor
time for each connection, which is two handshakes), and for 100 B by 64 connections (p99). Prints the medians, and a line for each
promise; exits 1 if one does not hold. HAProxy resumes its sessions with servers unless told otherwise, so it is there both ways.
"""
import argparse, json, os, statistics, subprocess, tempfile

from measuring import peers, programs
from kit import machine
from kit.certificates import make_certificates
from kit.verdicts import finish, verdict

NAME = "localhost"
# wrk calls this at its end.
REPORT = """\
done = function(summary, latency, requests)
  io.write(string.format('{"requests":%d,"bytes":%d,"p99":%f,"errors":%d}\\n', summary.requests, summary.bytes,
    latency:percentile(99), summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout + summary.errors.status))
end
"""
NGINX = """\
daemon off; worker_processes 1; worker_rlimit_nofile 65536; pid {folder}/pid; error_log stderr crit;
events { worker_connections 8192; }
http {
  access_log off; sendfile on; keepalive_requests 1000000000;
  server { listen 127.0.0.1:{listen} ssl backlog=4096; ssl_certificate {keys}/leaf.pem; ssl_certificate_key {keys}/leaf.key; root {keys}/files; }
}
"""
HAPROXY = """\
global
  nbthread 1
  maxconn 4000
  ssl-default-bind-options no-tls-tickets
defaults
  mode tcp
  timeout connect 5s
  timeout client 1h
  timeout server 1h
listen proxy
  bind 127.0.0.1:{listen} backlog 4096 ssl crt {keys}/both.pem
  server backend 127.0.0.1:{upstream} ssl verify required ca-file {keys}/ca.pem verifyhost localhost sni str(localhost){reuse}
"""
CASES = {"bulk": ("s/GB", 4), "conn": ("ms", 32), "rr64": ("p99 µs", 64)}


def make_keys(folder):
    """An authority, a certificate for localhost, and the files that are served."""
    make_certificates(folder)
    with open(os.path.join(folder, "both.pem"), "w") as both:
        both.write(machine.read(f"{folder}/leaf.pem") + machine.read(f"{folder}/leaf.key"))
    os.mkdir(os.path.join(folder, "files"))
    os.chmod(folder, 0o755)  # nginx reads them as another user.
    for name, size in {"small": 100, "large": 10_000_000}.items():
        with open(os.path.join(folder, "files", name), "wb") as file:
            file.write(os.urandom(size))
    with open(os.path.join(folder, "report.lua"), "w") as file:
        file.write(REPORT)


def squall(name, faults, keys):
    peer = peers.squall(name, faults)
    command = peer.command.replace("--listen ", "--listen tls:").replace("--upstream ", "--upstream tls:")
    options = f" --tls-cert {keys}/leaf.pem --tls-key {keys}/leaf.key --ca-file {keys}/ca.pem --upstream-name {NAME}"
    return peers.replace(peer, command=command + options)


def measured(case, proxy, keys, seconds):
    """The figure of a case."""
    unit, connections = CASES[case]
    path = "large" if case == "bulk" else "small"
    headers = ["-H", "Connection: close"] if case == "conn" else []
    before = proxy.processor_seconds()
    out = subprocess.run(
        ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "30s", "-s", f"{keys}/report.lua", *headers,
         f"https://{NAME}:{proxy.port}/{path}"], stdout=subprocess.PIPE, text=True, timeout=seconds + 60).stdout
    used = proxy.processor_seconds() - before
    found = json.loads(out.strip().split("\n")[-1])
    if found["errors"] > connections or not found["requests"]:
        raise programs.Failure(f"{case} of {proxy.peer.name}: {found}")
    return {"s/GB": used / (found["bytes"] / 1e9), "ms": used / found["requests"] * 1e3, "p99 µs": found["p99"]}[unit]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=int, default=2, help="of each measurement")
    options = parser.parse_args()
    programs.need_squall()
    with tempfile.TemporaryDirectory(prefix="squall-https-") as keys:
        make_keys(keys)
        haproxy = lambda name, reuse: peers.Peer(
            name, "haproxy", "haproxy -db -f haproxy.cfg", {"haproxy.cfg": HAPROXY.replace("{keys}", keys).replace("{reuse}", reuse)})
        chosen = [squall("squall", (), keys), squall("squall-faults", peers.IDLE_FAULTS, keys),
                  haproxy("haproxy", ""), haproxy("haproxy-full-handshakes", " no-ssl-reuse")]
        nginx = peers.Peer("nginx", "nginx", "nginx -p {folder} -e stderr -c {folder}/nginx.conf",
                           {"nginx.conf": NGINX.replace("{keys}", keys)}, family=True)
        results = {}
        with programs.Proxy(nginx, 0) as server:
            running = [programs.Proxy(peer, server.port) for peer in chosen]
            try:
                for turn in range(options.rounds):
                    for case in CASES:
                        for proxy in running[::-1] if turn % 2 else running:
                            machine.wait_for_ended_connections()
                            found = measured(case, proxy, keys, options.seconds)
                            results.setdefault(case, {}).setdefault(proxy.peer.name, []).append(found)
            finally:
                for proxy in running:
                    proxy.close()
    medians = {case: {name: statistics.median(values) for name, values in rows.items()} for case, rows in results.items()}
    for case, rows in results.items():
        for name, values in rows.items():
            print(f"{case:6} {name:26} {statistics.median(values):9.3f} {CASES[case][0]:7} ({min(values):.3f} to {max(values):.3f})")
    for case, peer, most in (("bulk", "haproxy", 0.8), ("conn", "haproxy-full-handshakes", 0.75), ("rr64", "haproxy", 1.25)):
        ratio = medians[case]["squall"] / medians[case][peer]
        verdict(case, ratio <= most, f"{ratio:.2f} of {peer}'s, at most {most}")
    ratio = medians["bulk"]["squall-faults"] / medians["bulk"]["squall"]
    verdict("faults", ratio <= 1.15, f"bulk with latency and rate: {ratio:.2f} of that without, at most 1.15")
    finish()


main()
