"""The proxies that are compared. Another one is a line of `PEERS`: its name, the program that has to be there, the
command that starts it in the foreground, its files, and what it is measured in.

In commands and files these words stand in braces for values that are chosen when it starts: `listen` and `upstream`
(ports on 127.0.0.1), `control` (another free port), `folder` (an empty folder, where the files are and where it runs),
`connections` (how many the limit of descriptors permits), `squall` and `forward` (our programs).
"""
import json, os, shutil
from dataclasses import dataclass, field

# Debian has these programs where only root looks.
os.environ["PATH"] += ":/usr/local/sbin:/usr/sbin:/sbin"

BULK = ("down1", "up1", "down8", "up8")
ROUNDS = ("rr1", "rr64")
CONNECTIONS = ("conn", "conn-server")
ALL = (*BULK, *CONNECTIONS, *ROUNDS, "idle")
LOOPS = ("loops-conn", "loops-rr64")


@dataclass(frozen=True)
class Peer:
    name: str
    program: str = ""  # has to be found, or the peer is left out
    command: str = ""  # none: the load generators without a proxy
    files: dict = field(default_factory=dict, hash=False)
    cases: tuple = ALL
    family: bool = False  # whether it works in several processes
    version: tuple = ()

    def is_there(self):
        return not self.program or shutil.which(self.program) is not None or os.access(self.program, os.X_OK)


def _haproxy(splice):
    """One thread in TCP mode: as it comes, or with what makes it fastest in bulk, splice forced and pipes of 1 MiB."""
    tune = force = ""
    if splice:
        tune = "  maxpipes 256\n  tune.pipesize 1048576\n"
        force = "  option splice-request\n  option splice-response\n"
    return (f"global\n  nbthread 1\n  maxconn {{connections}}\n{tune}"
            f"defaults\n  mode tcp\n  timeout connect 5s\n  timeout client 1h\n  timeout server 1h\n{force}"
            "listen proxy\n  bind 127.0.0.1:{listen} backlog 4096\n  server backend 127.0.0.1:{upstream}\n")


_NGINX = """\
daemon off;
worker_processes 1;
worker_rlimit_nofile 65536;
pid {folder}/pid;
error_log stderr crit;
{module}
events { worker_connections 40000; }
stream {
  access_log off;
  server {
    listen 127.0.0.1:{listen} backlog=4096;
    proxy_pass 127.0.0.1:{upstream};
    proxy_timeout 1h;
  }
}
"""

# Debian's package has the module in a file; where the file isn't there, it may be built in.
_NGINX_MODULE = "/usr/lib/nginx/modules/ngx_stream_module.so"
_NGINX = _NGINX.replace("{module}", f"load_module {_NGINX_MODULE};" if os.path.exists(_NGINX_MODULE) else "")

# A latency of 0 and a rate that is never reached, on every connection and in both directions.
IDLE_FAULTS = [{"kind": "latency", "delay": "0 s"}, {"kind": "bandwidth", "rate": "1000 GB/s"}]


def squall(name, faults=(), options="--threads 1", cases=ALL):
    profile = json.dumps({"name": name, "faults": list(faults)})
    return Peer(name, "", "{squall} run {folder}/profile.json --listen 127.0.0.1:{listen} "
                f"--upstream 127.0.0.1:{{upstream}} --seed 1 {options}", {"profile.json": profile}, cases)


PEERS = [
    squall("squall"),
    squall("squall-faults", IDLE_FAULTS, cases=BULK),
    squall("squall-1-loop", cases=LOOPS),
    squall("squall-2-loops", options="--threads 2", cases=LOOPS),
    Peer("haproxy", "haproxy", "haproxy -db -f haproxy.cfg", {"haproxy.cfg": _haproxy(False)},
         version=("haproxy", "-v")),
    Peer("haproxy-splice", "haproxy", "haproxy -db -f haproxy.cfg",
         {"haproxy.cfg": _haproxy(True)}),
    Peer("nginx", "nginx", "nginx -p {folder} -e stderr -c {folder}/nginx.conf",
         {"nginx.conf": _NGINX}, family=True, version=("nginx", "-v")),
    Peer("socat", "socat", "socat -b 65536 TCP-LISTEN:{listen},bind=127.0.0.1,reuseaddr,nodelay,fork,backlog=128 "
         "TCP:127.0.0.1:{upstream},nodelay", cases=(*BULK, "rr1"), family=True, version=("socat", "-V")),
    Peer("forward-copy", "", "{forward} copy {listen} {upstream}"),
    Peer("forward-splice", "", "{forward} splice {listen} {upstream}"),
    Peer("direct", cases=(*BULK, *CONNECTIONS, *ROUNDS, *LOOPS)),
]

if os.environ.get("TOXIPROXY"):
    PEERS.insert(-1, Peer(
        "toxiproxy", os.environ["TOXIPROXY"],
        os.environ["TOXIPROXY"] + " -host 127.0.0.1 -port {control} -config toxiproxy.json",
        {"toxiproxy.json": '[{"name": "bench", "listen": "127.0.0.1:{listen}", "upstream": "127.0.0.1:{upstream}", '
                           '"enabled": true}]'}, version=(os.environ["TOXIPROXY"], "-version")))

HAPROXIES = ("haproxy", "haproxy-splice")
# Of these cases promises compare peers that are nearly the same, so they are measured more often.
CLOSE = {**{case: ("squall", "squall-faults") for case in BULK},
         **{case: ("squall", *HAPROXIES) for case in ("conn", "conn-server", "rr64")}}
FORWARDERS = ("forward-copy", "forward-splice")
