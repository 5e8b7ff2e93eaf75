"""What Linux tells of processes and of the machine, from /proc. Nothing here starts or ends anything."""
import os, platform, re, resource, subprocess, time

TICK = os.sysconf("SC_CLK_TCK")


def read(path):
    """A file of /proc, or an empty text where it has gone."""
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ""


def _fields(pid):
    """The fields of /proc/PID/stat behind the name; the state is the first."""
    text = read(f"/proc/{pid}/stat")
    return text[text.rindex(")") + 2:].split() if text else []


def family(pid):
    """The process and all that descend from it."""
    children = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            fields = _fields(name)
            if fields:
                children.setdefault(int(fields[1]), []).append(int(name))
    found, waiting = [], [pid]
    while waiting:
        found.append(waiting.pop())
        waiting += children.get(found[-1], [])
    return found


def processor_seconds(pid, whole_family=False):
    """Processor time of a process, in seconds, user and system, ended threads included. It is the sum of utime and
    stime of /proc/PID/stat, read from the clock of the process, which doesn't round to a tick of 10 ms. With the
    family, ended and reaped children count as well."""
    total = 0.0
    for one in family(pid) if whole_family else [pid]:
        try:
            total += time.clock_gettime((~one << 3) | 2)  # clock_getcpuclockid(3)
        except OSError:
            continue  # It has gone meanwhile.
        fields = _fields(one) if whole_family else []
        if fields:
            total += (int(fields[13]) + int(fields[14])) / TICK
    return total


def machine_seconds():
    """Processor seconds that the whole machine has spent, on all cores, without idling and waiting for disks."""
    user, nice, system, _, _, irq, softirq = map(int, read("/proc/stat").split("\n", 1)[0].split()[1:8])
    return (user + nice + system + irq + softirq) / TICK


def stolen_seconds():
    """Processor seconds in which something of this machine wanted to run, and its host let another one run."""
    return int(read("/proc/stat").split("\n", 1)[0].split()[8]) / TICK


def lateness(seconds=2):
    """By how many µs sleeps of 1 ms end late, p50 and p99, 50 µs of slack included that the system takes for itself:
    nothing that waits for a time is more exact on this machine as it is now."""
    late, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        start = time.perf_counter()
        time.sleep(0.001)
        late.append((time.perf_counter() - start) * 1e6 - 1_000)
    late.sort()
    return late[len(late) // 2], late[len(late) * 99 // 100]


def resident_bytes(pid, whole_family=False):
    """Resident memory. With the family, pages that they share count once for each."""
    total = 0
    for one in family(pid) if whole_family else [pid]:
        found = re.search(r"^Rss:\s+(\d+)", read(f"/proc/{one}/smaps_rollup"), re.MULTILINE)
        if found:
            total += int(found.group(1)) * 1024
    return total


def descriptors(pid, whole_family=False):
    total = 0
    for one in family(pid) if whole_family else [pid]:
        try:
            total += len(os.listdir(f"/proc/{one}/fd"))
        except OSError:
            continue
    return total


def wait_for_ended_connections(most=2_000, seconds=60):
    """Until so many connections at most are in TIME_WAIT, which lasts a minute: the system looks at all of them for each
    packet and then ends them one by one, and round trips that it does this beside are not those of a proxy."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = re.search(r"^TCP:.* tw (\d+)", read("/proc/net/sockstat"), re.MULTILINE)
        if not found or int(found.group(1)) <= most:
            return
        time.sleep(0.5)


def is_listening(port):
    wanted = f":{port:04X}"
    for path in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in read(path).split("\n")[1:]:
            fields = line.split()
            if len(fields) > 3 and fields[3] == "0A" and fields[1].endswith(wanted):
                return True
    return False


def pin(pid, processors):
    """Keeps every thread of a process on these processors."""
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            os.sched_setaffinity(int(thread), processors)
    except OSError:
        pass  # It has gone, or a thread of it has.


def raise_descriptor_limit():
    """As many descriptors as are permitted, for us and for what we start; root may raise the hard limit as well."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    for wanted in (65_536, hard):
        if wanted >= hard:
            try:
                resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, wanted))
                break
            except (ValueError, OSError):
                continue
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def first_line(command):
    """The first line of what a program says of itself."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"
    lines = [line.strip() for line in done.stdout.split("\n") if line.strip()]
    return next((line for line in lines if "version" in line.lower()), lines[0] if lines else "unknown")


def description():
    """The machine, as pairs of what and which."""
    model = re.search(r"model name\s*:\s*(.+)", read("/proc/cpuinfo"))
    memory = re.search(r"MemTotal:\s+(\d+)", read("/proc/meminfo"))
    name = re.search(r'PRETTY_NAME="(.+)"', read("/etc/os-release"))
    return {
        "processor": model.group(1) if model else platform.processor() or platform.machine(),
        "cores": str(len(os.sched_getaffinity(0))),
        "memory": f"{int(memory.group(1)) / 2 ** 20:.0f} GiB" if memory else "unknown",
        "kernel": platform.release(),
        "system": name.group(1) if name else "unknown",
        "congestion control": read("/proc/sys/net/ipv4/tcp_congestion_control").strip() or "unknown",
        "descriptors": str(resource.getrlimit(resource.RLIMIT_NOFILE)[0]),
        "load before": "{:.2f}".format(os.getloadavg()[0]),
    }
