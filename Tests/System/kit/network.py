"""A network namespace of the benchmark's own (network_namespaces(7)): loopback and nothing else.

Nothing else of the machine is in it, and its settings are nobody else's. Two of them matter. The ports for outgoing
connections are as many as there can be: a port is free a second after its connection has ended, so the 28,000 that
systems usually have bound every proxy to 14,000 connections a second. And the congestion control can be chosen."""
import atexit, ctypes, fcntl, os, socket, struct

USER, NETWORK = 0x10000000, 0x40000000  # CLONE_NEWUSER, CLONE_NEWNET
GET_FLAGS, SET_FLAGS, IS_UP = 0x8913, 0x8914, 1  # SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP
PORTS = "1024 65535"
CONTROL = "/proc/sys/net/ipv4/tcp_congestion_control"
AVAILABLE, ALLOWED = (f"/proc/sys/net/ipv4/tcp_{word}_congestion_control" for word in ("available", "allowed"))


def _unshare(what):
    if ctypes.CDLL(None, use_errno=True).unshare(what):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _write(path, text):
    with open(path, "w") as file:
        file.write(text)


def _leave():
    """Leaves the machine's network. Who isn't root may in a user namespace, and keeps the same name there."""
    if os.geteuid() == 0:
        return _unshare(NETWORK)
    user, group = os.geteuid(), os.getegid()
    _unshare(USER | NETWORK)
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"{user} {user} 1")
    _write("/proc/self/gid_map", f"{group} {group} 1")


def _raise_loopback():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sh14x", b"lo", 0)
        flags = struct.unpack("16sh14x", fcntl.ioctl(any_socket, GET_FLAGS, request))[1]
        fcntl.ioctl(any_socket, SET_FLAGS, struct.pack("16sh14x", b"lo", flags | IS_UP))


def _read(path):
    with open(path) as file:
        return file.read().strip()


def _allow_controls():
    """Lets other namespaces have every congestion control of the machine, which is a setting of the whole machine: it
    gets its value back at the end."""
    before, all_of_them = _read(ALLOWED), _read(AVAILABLE)
    if set(before.split()) >= set(all_of_them.split()):
        return
    machine = os.open("/proc/self/ns/net", os.O_RDONLY)
    _write(ALLOWED, all_of_them)

    def restore():
        ctypes.CDLL(None).setns(machine, NETWORK)
        _write(ALLOWED, before)
    atexit.register(restore)


def control(name=None):
    """The congestion control that connections begin with; `name` sets it first, and False says that it can't be."""
    if name:
        try:
            _write(CONTROL, name)
        except OSError:
            return False
    return _read(CONTROL)


def enter(congestion=None):
    """Moves this process, and so all that it starts, into a network of its own; returns what it has become, in words.
    Without the right to, it stays where it is, unless a congestion control is asked for: then that raises OSError."""
    try:
        _allow_controls()
    except OSError:
        pass  # Then some can't be chosen, which whoever chooses is told.
    try:
        _leave()
    except OSError as error:
        if congestion:
            raise
        return f"the machine's ({error.strerror} for another)"
    _raise_loopback()
    _write("/proc/sys/net/ipv4/ip_local_port_range", PORTS)
    if congestion:
        _write(CONTROL, congestion)
    return "its own, ports " + PORTS.replace(" ", " to ")
