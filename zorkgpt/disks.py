"""Tells local disks from network file systems."""

import os
from pathlib import Path

_NETWORK = ("nfs", "cifs", "smb", "9p", "afs", "ceph", "gluster", "lustre", "fuse.sshfs", "fuse.rclone", "ncpfs")
"""Beginnings of the types of network file systems on Linux."""


def is_on_local_disk(path: Path, mounts: Path = Path("/proc/self/mounts")) -> bool:
    """Return whether a file is on a disk of this machine, as far as the operating system tells.

    Processes on one machine can share memory, which SQLite's write-ahead log needs.

    Args:
        mounts: The list of mounted file systems, on Linux.
    """
    file = os.path.realpath(path)
    if file.startswith(("\\\\", "//")):
        return False
    try:
        lines = mounts.read_text(errors="surrogateescape").splitlines()
    except OSError:
        return True
    points = [(point, kind) for _, point, kind, *_ in (line.split(" ") for line in lines if line.count(" ") > 2)]
    containing = [(point, kind) for point, kind in points if os.path.commonpath([point, file]) == point]
    return not max(containing, key=lambda each: len(each[0]), default=("", ""))[1].startswith(_NETWORK)
