// The socket calls and page-cache questions that every backend on a real kernel answers alike; an Io
// holds the state, these hold none.
//
// Owner shard: none. EINTR never reaches the caller.
#pragma once

#include <chrono>
#include <cstdint>

#include "reactor/io.h"

namespace pelton::posix {

// Blocking: whether the listener itself is left in blocking mode (io_uring waits by itself).
enum class ListenerMode { kBlocking, kNonBlocking };

// SO_REUSEPORT; TCP_NODELAY, which accepted sockets inherit. An empty host listens on every IPv4 and
// IPv6 address, or IPv4 alone where the kernel has no IPv6.
Result<SocketFd> listen(const SocketAddress& address, int backlog, ListenerMode mode);
// Whether a listener could have the address for itself. Listeners share their port between shards, and so
// with another process of the same user too, without an error: ask before the first of them binds.
Status check_free(const SocketAddress& address);
// The same, asked again for as long as `patience` while another has it: the kernel closes the sockets of a
// killed process's io_uring a little after the process is gone. Blocking.
Status wait_free(const SocketAddress& address, std::chrono::milliseconds patience);
// The numeric address of a host's name (IPv4 before IPv6); numeric ones and the empty one stay. Blocking. The
// error says why there is none.
Result<std::string, std::string> look_up(const std::string& host);
Result<SocketAddress> local_address(SocketFd socket);
Result<SocketAddress> peer_address(SocketFd socket);
void set_buffer_sizes(SocketFd socket, int send_bytes, int receive_bytes);

// Bytes taken or a negative errno (-EAGAIN: the socket is full).
int64_t try_send(SocketFd socket, const iovec* pieces, int count, bool more);
// sendfile has no MSG_NOSIGNAL: the process must ignore SIGPIPE (ignore_sigpipe).
int64_t try_sendfile(SocketFd socket, FileFd file, uint64_t position, size_t length);
void ignore_sigpipe();

uint64_t monotonic_ns();
int64_t wall_ms();
uint64_t entropy();  // 64 bits from the kernel

}  // namespace pelton::posix
