"""Device memory kept from call to call, by size, for as long as there is a program to use it."""

from __future__ import annotations

from symgrad.locks import Lock
from symgrad.runtime.cuda import driver


class Blocks:
    """Runs of device memory that nothing uses."""

    def __init__(self, device: driver.Device) -> None:
        self._device = device
        self._kept: dict[int, list[int]] = {}  # addresses by size
        self._closed = False
        # The garbage collector may give memory back within any call, this class's own included.
        self._lock = Lock()

    def take(self, nbytes: int) -> int | None:
        """The address of memory of a size, if some is kept."""
        with self._lock:
            kept = self._kept.get(nbytes)
            return kept.pop() if kept else None

    def give(self, nbytes: int, address: int) -> None:
        """Keep memory for whoever takes some of its size."""
        with self._lock:
            if not self._closed:
                self._kept.setdefault(nbytes, []).append(address)
                return
        with self._device:
            driver.free(address)

    def drop(self) -> None:
        """Give all back to the device; its context is current."""
        with self._lock:
            kept, self._kept = self._kept, {}
        for address in (address for addresses in kept.values() for address in addresses):
            driver.free(address)

    def close(self) -> None:
        """Give all back, and from now on whatever comes."""
        with self._lock:
            self._closed = True
        self.drop()
