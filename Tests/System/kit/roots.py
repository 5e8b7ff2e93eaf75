"""Folders with a Debian system in them, made by debootstrap and kept below .build-roots for the next time."""
import contextlib, os, shutil, subprocess, sys

from .programs import ROOT

FOLDER = os.path.join(ROOT, ".build-roots")


def run(*command, **more):
    """Runs a command, which has to succeed, quietly."""
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
    if result.returncode:
        sys.exit(f"{' '.join(command)}: exit code {result.returncode}\n{result.stdout[-4000:]}")
    return result.stdout


def debian(release, packages):
    """The path of a root of a release with these packages; needs root's rights."""
    if os.geteuid() != 0:
        sys.exit("this makes a root file system: run it as root")
    root = os.path.join(FOLDER, "-".join([release, *sorted(packages)])[:120])
    mark = os.path.join(root, "complete")
    if os.path.exists(mark):
        return root
    shutil.rmtree(root, ignore_errors=True)
    os.makedirs(FOLDER, exist_ok=True)
    print(f"== debootstrap makes {root}", flush=True)
    run("debootstrap", "--variant=minbase", release, root)
    if packages:
        with mounted(root):
            install(root, *packages)
    with open(mark, "w", encoding="utf-8"):
        return root


def install(root, *packages):
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"}
    options = ["apt-get", "install", "-y", "-qq", "--no-install-recommends"]
    return run("chroot", root, *options, *packages, env=environment)


@contextlib.contextmanager
def mounted(root):
    """Mounts /proc and the devices in a root meanwhile."""
    mounts = [("-t", "proc", "proc", f"{root}/proc"), ("--rbind", "/dev", f"{root}/dev")]
    for arguments in mounts:
        os.makedirs(arguments[-1], exist_ok=True)
        run("mount", *arguments)
    # What is unmounted here shall stay mounted outside.
    run("mount", "--make-rslave", f"{root}/dev")
    try:
        yield
    finally:
        for arguments in reversed(mounts):
            run("umount", "-l", arguments[-1])
