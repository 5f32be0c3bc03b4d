"""A way to a server that can be cut, closed, slow and silent, and opened again, as networks are."""

import contextlib
import socket
import threading
import time
from typing import Self

from psycopg.conninfo import conninfo_to_dict, make_conninfo

_CHUNK_BYTES = 2**16


class Proxy:
    """Forwards connections to a PostgreSQL; used as a context.

    Args:
        conninfo: Of the server, which may listen on a socket of the file system.
    """

    def __init__(self, conninfo: str) -> None:
        self._server = conninfo_to_dict(conninfo)
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._ends: set[socket.socket] = set()
        self._lock = threading.Lock()
        self.is_open = True
        """Whether connections are taken."""
        self.answered_bytes = 0
        """Sent by the server so far."""
        self.delay_s = 0.0
        """By how much each piece is late that comes from now on."""
        self._flows = threading.Event()
        self._flows.set()
        self.cut_at_bytes: int | None = None
        """When it has sent so many, every connection is cut, once, wherever that is in an answer."""
        self.conninfo = make_conninfo(conninfo, host="127.0.0.1", port=self._listening.getsockname()[1])

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listening.close()
        self.cut()
        self._flows.set()

    def cut(self) -> None:
        """End every connection at once."""
        with self._lock:
            ends, self._ends = self._ends, set()
        for end in ends:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def fall_silent(self) -> None:
        """Pass nothing on from now on, while connections stay and more are taken: what is sent is lost if they end then."""
        self._flows.clear()

    def close(self) -> None:
        """End every connection, and take none."""
        self.is_open = False
        self.cut()

    def open(self) -> None:
        """Take connections again, and pass on what they say."""
        self.is_open = True
        self._flows.set()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                if not self.is_open:
                    client.close()
                    continue
                with contextlib.suppress(OSError):
                    there = self._connected()
                    with self._lock:
                        self._ends |= {client, there}
                    for one, other in ((client, there), (there, client)):
                        threading.Thread(target=self._pump, args=(one, other, one is there), daemon=True).start()
                    continue
                client.close()

    def _connected(self) -> socket.socket:
        host, port = str(self._server.get("host")), int(self._server.get("port") or 5432)
        if not host.startswith("/"):
            return socket.create_connection((host, port))
        there = socket.socket(socket.AF_UNIX)
        try:
            there.connect(f"{host}/.s.PGSQL.{port}")
        except OSError:  # it is being restarted
            there.close()
            raise
        return there

    def _pump(self, one: socket.socket, other: socket.socket, answers: bool) -> None:
        with contextlib.suppress(OSError):
            while data := one.recv(_CHUNK_BYTES):
                time.sleep(self.delay_s)
                self._flows.wait()
                if not answers:
                    other.sendall(data)
                    continue
                self.answered_bytes += len(data)
                if self.cut_at_bytes is None or self.answered_bytes < self.cut_at_bytes:
                    other.sendall(data)
                    continue
                other.sendall(data[: len(data) - (self.answered_bytes - self.cut_at_bytes)])
                self.cut_at_bytes = None
                self.cut()
        for end in (one, other):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
            with self._lock:
                self._ends.discard(end)
