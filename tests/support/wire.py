"""Frames on a raw socket: the few bytes of the Kafka protocol that probes and hostile tests need,
without any codec."""

import socket
import struct
import time

API_VERSIONS = 18
METADATA = 3
API_VERSIONS = 18


def connect(port, timeout=10.0, host="127.0.0.1"):
    connection = socket.create_connection((host, port), timeout=timeout)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def request(key, version, correlation, body=b"", client_id="probe"):
    """A frame with the request header v1 (non-flexible versions)."""
    name = client_id.encode()
    payload = struct.pack(">hhih", key, version, correlation, len(name)) + name + body
    return struct.pack(">i", len(payload)) + payload


def receive_exact(connection, count):
    data = bytearray()
    while len(data) < count:
        chunk = connection.recv(count - len(data))
        if not chunk:
            raise ConnectionError(f"peer closed after {len(data)} of {count} bytes")
        data += chunk
    return bytes(data)


def receive(connection):
    """One response frame, without its size."""
    (size,) = struct.unpack(">i", receive_exact(connection, 4))
    return receive_exact(connection, size)


def closed_by_peer(connection, seconds=10.0):
    """True when the peer closes (or resets) the connection, False when it sends or stays silent."""
    connection.settimeout(seconds)
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True
    except TimeoutError:
        return False


def metadata_brokers(connection):
    """Asks Metadata v1 for no topic; the number of brokers in the answer."""
    connection.sendall(request(METADATA, 1, 7, struct.pack(">i", 0)))
    answer = receive(connection)
    correlation, brokers = struct.unpack_from(">ii", answer)
    if correlation != 7:
        raise AssertionError(f"correlation id {correlation} instead of 7")
    return brokers


def wait_for_metadata(port, seconds, alive=lambda: True):
    """Waits for the first Metadata answer that names a broker; the seconds it took."""
    started = time.monotonic()
    while time.monotonic() - started < seconds:
        if not alive():
            raise AssertionError("the broker ended before it answered")
        try:
            with connect(port, timeout=2.0) as connection:
                if metadata_brokers(connection) > 0:
                    return time.monotonic() - started
        except OSError:
            pass
        time.sleep(0.002 if time.monotonic() - started < 1 else 0.05)
    raise AssertionError(f"no Metadata answer from port {port} within {seconds} s")
