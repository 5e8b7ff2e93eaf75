"""Network namespaces without a name, and child processes that end with the lab."""
import ctypes, fcntl, os, signal, struct, subprocess

libc = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNET, PR_SET_PDEATHSIG = 0x4000_0000, 1
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x4004_54CA, 1, 0x1000


def need_root():
    if os.geteuid() != 0:
        raise Unfit("the kernel's side needs root, for network namespaces: run `sudo make loss-lab`")
    if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        raise Unfit("/dev/net/tun is missing: load the module (`modprobe tun`), or give the container --device /dev/net/tun")


class Unfit(Exception):
    """The machine or the checkout lacks something: exit code 2."""


class Namespace:
    """A network namespace without a name: it ends with the last descriptor and the last process of it."""

    def __init__(self, address=None, other=None):
        self.tun = None
        with Inside(None):
            if libc.unshare(CLONE_NEWNET):
                raise Unfit(f"no network namespace: {os.strerror(ctypes.get_errno())} (a container needs CAP_SYS_ADMIN)")
            self.handle = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
            self.ip("link", "set", "lo", "up")
            if address:
                self.tun = os.open("/dev/net/tun", os.O_RDWR | os.O_CLOEXEC)
                fcntl.ioctl(self.tun, TUNSETIFF, struct.pack("16sH22x", b"losslab", IFF_TUN | IFF_NO_PI))
                self.ip("address", "add", address, "peer", other, "dev", "losslab")
                self.ip("link", "set", "losslab", "mtu", "1500", "txqueuelen", "2000", "up")
            # A flow begins without what an earlier one to the same host has learnt (its ssthresh above all).
            with open("/proc/sys/net/ipv4/tcp_no_metrics_save", "w") as file:
                file.write("1")

    @staticmethod
    def ip(*words):
        subprocess.run(["ip", *words], check=True)

    def close(self):
        for descriptor in (self.handle, self.tun):
            if descriptor is not None:
                os.close(descriptor)


class Inside:
    """Runs what is within `with` in a namespace; `None` stays where it is. Afterwards it is in the old one."""

    def __init__(self, namespace):
        self.namespace = namespace

    def __enter__(self):
        self.old = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        if self.namespace and libc.setns(self.namespace.handle, CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "setns")

    def __exit__(self, *_):
        libc.setns(self.old, CLONE_NEWNET)
        os.close(self.old)


class Programs:
    """Child processes that end with the lab."""

    def __init__(self):
        self.started = []

    def start(self, namespace, command, priority=0, **options):
        def prepare():
            libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            if priority:
                try:
                    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
                except OSError:
                    pass  # The lateness tells.
        with Inside(namespace):
            process = subprocess.Popen(command, preexec_fn=prepare, start_new_session=True, **options)
        self.started.append(process)
        return process

    def end(self):
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.wait()
