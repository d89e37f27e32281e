"""Kernels that start at once do not share an address."""

import kernels


def test_each_kernel_has_sockets_in_its_own_folder(tmp_path):
    addresses = set()
    for name in ("one", "two"):
        manager = kernels.manager(tmp_path / "log", tmp_path / name)()
        assert manager.transport == "ipc"
        addresses.add(manager.ip)
    assert addresses == {str(tmp_path / name / "kernel") for name in ("one", "two")}
