"""What programs say of devices that Tessera has no code of its own for."""

from __future__ import annotations

from enum import IntEnum


class OrtDeviceVendorId(IntEnum):
    """Vendors by their numbers on the PCI bus."""

    NONE = 0x0000
    AMD = 0x1002
    NVIDIA = 0x10DE
    ARM = 0x13B5
    MICROSOFT = 0x1414
    HUAWEI = 0x19E5
    QUALCOMM = 0x5143
    INTEL = 0x8086


def preload_dlls(cuda: bool = True, cudnn: bool = True, msvc: bool = True, directory: str | None = None) -> None:
    """Accepted: Tessera has no libraries of other vendors to load."""
