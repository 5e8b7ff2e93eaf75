"""The proxies that are compared. Another one is a line of `PEERS`: its name, the program that has to be there, the
command that starts it in the foreground, its files, and what it is measured in.

In commands and files these words stand in braces for values that are chosen when it starts: `listen` and `upstream`
(ports on 127.0.0.1), `control` (another free port), `folder` (an empty folder, where the files are and where it runs),
`connections` (how many the limit of descriptors permits), `squall` and `forward` (our programs), `old` (the binary of
`--old`).
"""
import json, os, shutil
from dataclasses import dataclass, field, replace

# Debian has these programs where only root looks.
os.environ["PATH"] += ":/usr/local/sbin:/usr/sbin:/sbin"

BULK = ("down1", "up1", "down8", "up8")
ROUNDS = ("rr1", "rr64")
CONNECTIONS = ("conn", "conn-server")
ALL = (*BULK, *CONNECTIONS, *ROUNDS, "idle")
LOOPS = ("loops-conn", "loops-rr64")
CORES = len(os.sched_getaffinity(0))
OLD = "-old"  # What the name of the old binary's peer ends with.


@dataclass(frozen=True)
class Peer:
    name: str
    program: str = ""  # has to be found, or the peer is left out
    command: str = ""  # none: the load generators without a proxy
    files: dict = field(default_factory=dict, hash=False)
    cases: tuple = ALL
    family: bool = False  # whether it works in several processes
    version: tuple = ()
    has_faults: bool = False

    def twin(self):
        """The same with the binary of `--old`."""
        return replace(self, name=self.name + OLD, command=self.command.replace("{squall}", "{old}"))

    def is_there(self):
        return not self.program or shutil.which(self.program) is not None or os.access(self.program, os.X_OK)


def _haproxy(splice, threads=1):
    """In TCP mode: as it comes, or with what makes it fastest in bulk, splice forced and pipes of 1 MiB."""
    tune = force = ""
    if splice:
        tune = "  maxpipes 256\n  tune.pipesize 1048576\n"
        force = "  option splice-request\n  option splice-response\n"
    return (f"global\n  nbthread {threads}\n  maxconn {{connections}}\n{tune}"
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


def squall(name, faults=(), options="--threads 1", cases=ALL, shipped=None):
    """Squall with these faults, or with the profile at a path."""
    profile = json.dumps({"name": name, "faults": list(faults)})
    return Peer(name, "", f"{{squall}} run {shipped or '{folder}/profile.json'} --listen 127.0.0.1:{{listen}} "
                f"--upstream 127.0.0.1:{{upstream}} --seed 1 {options}", {"profile.json": profile}, cases,
                has_faults=bool(faults or shipped))


def haproxy(name, threads, splice=False, cases=ALL):
    return Peer(name, "haproxy", "haproxy -db -f haproxy.cfg", {"haproxy.cfg": _haproxy(splice, threads)}, cases,
                version=("haproxy", "-v"))


def toxiproxy():
    """Toxiproxy, whose program `TOXIPROXY` names; its proxy is called "bench"."""
    program = os.environ["TOXIPROXY"]
    return Peer("toxiproxy", program, program + " -host 127.0.0.1 -port {control} -config toxiproxy.json",
                {"toxiproxy.json": '[{"name": "bench", "listen": "127.0.0.1:{listen}", '
                                   '"upstream": "127.0.0.1:{upstream}", "enabled": true}]'},
                version=(program, "-version"), has_faults=True)


PEERS = [
    squall("squall"),
    squall("squall-faults", IDLE_FAULTS, cases=BULK),
    squall("squall-1-loop", cases=LOOPS),
    squall("squall-2-loops", options="--threads 2", cases=LOOPS),
    squall("squall-default-loops", options="", cases=("loops-rr64",)),
    haproxy("haproxy-as-many-threads", CORES, cases=("loops-rr64",)),
    haproxy("haproxy", 1),
    haproxy("haproxy-splice", 1, splice=True),
    Peer("nginx", "nginx", "nginx -p {folder} -e stderr -c {folder}/nginx.conf",
         {"nginx.conf": _NGINX}, family=True, version=("nginx", "-v")),
    Peer("socat", "socat", "socat -b 65536 TCP-LISTEN:{listen},bind=127.0.0.1,reuseaddr,nodelay,fork,backlog=128 "
         "TCP:127.0.0.1:{upstream},nodelay", cases=(*BULK, "rr1"), family=True, version=("socat", "-V")),
    Peer("forward-copy", "", "{forward} copy {listen} {upstream}"),
    Peer("forward-splice", "", "{forward} splice {listen} {upstream}"),
    Peer("direct", cases=(*BULK, *CONNECTIONS, *ROUNDS, *LOOPS)),
]

if os.environ.get("TOXIPROXY"):
    PEERS.insert(-1, toxiproxy())

HAPROXIES = ("haproxy", "haproxy-splice")
# Of these cases promises compare peers that are nearly the same, so they are measured more often.
CLOSE = {**{case: ("squall", "squall-faults") for case in BULK},
         **{case: ("squall", *HAPROXIES) for case in ("conn", "conn-server", "rr64")}}
FORWARDERS = ("forward-copy", "forward-splice")
