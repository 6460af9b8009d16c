"""The system-call filter of a local sandbox, assembled as classic BPF without a library.

Denied with ``EPERM``: what would reach the kernel's rarely used doors (mounts, keys, bpf, io_uring,
modules, clocks), other namespaces, other processes' memory, or a terminal's input queue. ``clone3`` says
``ENOSYS`` because its flags can't be read by a filter; libraries then fall back to ``clone``, whose flags
can. Sockets are let through for the families that a network namespace confines; AF_VSOCK, for one, it
doesn't. ``ptrace`` is denied outright: a debugger is lost, and a whole class of attacks with it.
"""

from __future__ import annotations

import errno
import platform
import struct
from typing import NamedTuple

__all__ = ["build_filter", "supported_machine"]

_LD_WORD, _JUMP_EQUAL, _JUMP_AT_LEAST, _JUMP_BITS, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_NR, _ARCH, _ARG0, _ARG1, _ARG2 = 0, 4, 16, 24, 32
"""Offsets in ``struct seccomp_data``; of 64-bit arguments the low word (both machines are little-endian)."""

_X32_BIT = 0x40000000
_NEW_NAMESPACES = 0x7E020000
"""Every CLONE_NEW* flag that ``clone`` understands."""
_TERMINAL_INJECTION = (0x5412, 0x541C)
"""TIOCSTI and TIOCLINUX: both can type into the terminal of whoever started us."""
_SOCKET_FAMILIES = (1, 2, 10)
"""AF_UNIX, AF_INET, AF_INET6: bound to the network namespace. AF_NETLINK is allowed for routes alone."""
_AF_NETLINK = 16


class _Machine(NamedTuple):
    audit: int
    clone: int
    ioctl: int
    socket: int
    denied: tuple[int, ...]


_COMMON = (425, 426, 427, 428, 429, 430, 431, 432, 433, 438, 442, 443, 467)
"""io_uring_*, open_tree, move_mount, fsopen, fsconfig, fsmount, fspick, pidfd_getfd, mount_setattr,
quotactl_fd, open_tree_attr: one number on every machine."""
_CLONE3 = 435

_MACHINES = {
    "x86_64": _Machine(
        audit=0xC000003E,
        clone=56,
        ioctl=16,
        socket=41,
        denied=(
            *(101, 310, 311, 312),  # ptrace, process_vm_readv, process_vm_writev, kcmp
            *(165, 166, 155, 161, 308, 272),  # mount, umount2, pivot_root, chroot, setns, unshare
            *(248, 249, 250),  # add_key, request_key, keyctl
            *(321, 298, 323, 300),  # bpf, perf_event_open, userfaultfd, fanotify_init
            *(246, 320, 174, 175, 313, 176),  # kexec_*, *_module
            *(303, 304, 212),  # name_to_handle_at, open_by_handle_at, lookup_dcookie
            *(167, 168, 169, 163, 179, 103),  # swapon, swapoff, reboot, acct, quotactl, syslog
            *(164, 227, 305, 159),  # settimeofday, clock_settime, clock_adjtime, adjtimex
            *(172, 173, 153, 154, 279),  # iopl, ioperm, vhangup, modify_ldt, move_pages
            *(134, 136, 139, 156, 180),  # uselib, ustat, sysfs, _sysctl, nfsservctl
        ),
    ),
    "aarch64": _Machine(
        audit=0xC00000B7,
        clone=220,
        ioctl=29,
        socket=198,
        denied=(
            *(117, 270, 271, 272),  # ptrace, process_vm_readv, process_vm_writev, kcmp
            *(40, 39, 41, 51, 268, 97),  # mount, umount2, pivot_root, chroot, setns, unshare
            *(217, 218, 219),  # add_key, request_key, keyctl
            *(280, 241, 282, 262),  # bpf, perf_event_open, userfaultfd, fanotify_init
            *(104, 294, 105, 273, 106),  # kexec_*, *_module
            *(264, 265, 18),  # name_to_handle_at, open_by_handle_at, lookup_dcookie
            *(224, 225, 142, 89, 60, 116),  # swapon, swapoff, reboot, acct, quotactl, syslog
            *(170, 112, 266, 171),  # settimeofday, clock_settime, clock_adjtime, adjtimex
            *(58, 239, 42),  # vhangup, move_pages, nfsservctl
        ),
    ),
}


def supported_machine(machine: str | None = None) -> bool:
    """Whether there is a system-call table for this processor."""
    return (machine or platform.machine()) in _MACHINES


def build_filter(machine: str | None = None) -> bytes:
    """The filter program for this processor, as ``bwrap --seccomp`` reads it."""
    table = _MACHINES[machine or platform.machine()]
    program = [
        _load(_ARCH),
        *_unless_equal(table.audit, _KILL),
        _load(_NR),
        *_if_x32(),
        *_clone(table.clone),
        *_ioctl(table.ioctl),
        *_socket(table.socket),
        *_if_equal(_CLONE3, _refuse(errno.ENOSYS)),
        *(step for number in (*table.denied, *_COMMON) for step in _if_equal(number, _refuse(errno.EPERM))),
        _answer(_ALLOW),
    ]
    return b"".join(program)


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("<HBBI", code, if_true, if_false, value)


def _load(offset: int) -> bytes:
    return _step(_LD_WORD, offset)


def _answer(value: int) -> bytes:
    return _step(_RETURN, value)


def _refuse(number: int) -> int:
    return _ERRNO | number


def _if_equal(value: int, answer: int) -> list[bytes]:
    return [_step(_JUMP_EQUAL, value, 0, 1), _answer(answer)]


def _unless_equal(value: int, answer: int) -> list[bytes]:
    return [_step(_JUMP_EQUAL, value, 1, 0), _answer(answer)]


def _if_x32() -> list[bytes]:
    return [_step(_JUMP_AT_LEAST, _X32_BIT, 0, 1), _answer(_refuse(errno.ENOSYS))]


def _for_call(number: int, body: list[bytes]) -> list[bytes]:
    """``body`` decides the call ``number`` to the end; every other call jumps over it."""
    return [_step(_JUMP_EQUAL, number, 0, len(body)), *body]


def _clone(number: int) -> list[bytes]:
    new_namespace = [_step(_JUMP_BITS, _NEW_NAMESPACES, 0, 1), _answer(_refuse(errno.EPERM))]
    return _for_call(number, [_load(_ARG0), *new_namespace, _answer(_ALLOW)])


def _ioctl(number: int) -> list[bytes]:
    injections = [step for request in _TERMINAL_INJECTION for step in _if_equal(request, _refuse(errno.EPERM))]
    return _for_call(number, [_load(_ARG1), *injections, _answer(_ALLOW)])


def _socket(number: int) -> list[bytes]:
    families = [step for family in _SOCKET_FAMILIES for step in _if_equal(family, _ALLOW)]
    refuse = _answer(_refuse(errno.EAFNOSUPPORT))
    routes = [_step(_JUMP_EQUAL, _AF_NETLINK, 1, 0), refuse, _load(_ARG2), *_if_equal(0, _ALLOW), refuse]
    return _for_call(number, [_load(_ARG0), *families, *routes])
