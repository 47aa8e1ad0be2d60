// Io: everything a shard asks of the kernel, stated as intentions, so that io_uring, a simulated
// machine and a poll-based backend in the tests can stand behind it. No ring detail (entries, buffer
// groups, completion flags) shows here.
//
// Owner shard: one Io for each shard; only that shard's thread calls it, except wake().
// Lifetime: outlives every operation started on it.
// Invariant: a completion handed to an operation is queued on the ready list exactly once, in
// poll(); never inside the call that starts the operation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <sys/socket.h>
#include <sys/uio.h>

#include "reactor/base/bytes.h"
#include "reactor/base/result.h"
#include "reactor/completion.h"
#include "reactor/file_system.h"

namespace pelton {

using SocketFd = int;  // a connected or listening socket; -1 is none

// An IPv4 or IPv6 address and port in text-free form.
struct SocketAddress {
  std::string host;  // numeric: "127.0.0.1", "::1"; empty = every address (dual stack)
  uint16_t port = 0;
  std::string to_string() const;  // "127.0.0.1:9092", "[::1]:9092"
  friend bool operator==(const SocketAddress&, const SocketAddress&) = default;
};

// A receive buffer on loan from the Io's pool. Give it back with Io::release, once.
struct Lease {
  uint8_t* data = nullptr;
  uint32_t size = 0;      // bytes received
  uint32_t capacity = 0;  // of the buffer
  uint32_t id = 0;        // the pool's own mark
};

// Receives what is there, once. With `into` empty the Io lends a buffer when bytes arrive (an idle
// connection holds none) and fills `lease`; otherwise it receives into `into`.
// Result: bytes received; 0 = the peer has finished sending; -ENOBUFS = the pool is empty, try again
// after a release (the Io does not retry by itself); other negative = errno.
struct RecvOp {
  explicit RecvOp(Completion on_done) : done(on_done) {}
  Completion done;
  MutableBytes into;
  Lease lease;
  bool more_waits = false;  // for Io: the last receive on this op's socket left something
};

// Sends bytes; `pieces` and what they point to stay until the end. Result: bytes sent, maybe fewer
// than asked; negative = errno. more = another send follows at once (MSG_MORE).
struct SendOp {
  explicit SendOp(Completion on_done) : done(on_done) {}
  Completion done;
  iovec* pieces = nullptr;
  int count = 0;
  bool more = false;
  msghdr message{};  // for Io
};

// Accepts connections until stopped: `done` runs for each one, with its descriptor or an error as the
// result; the Io starts the next accept by itself.
struct AcceptOp {
  explicit AcceptOp(Completion on_done) : done(on_done) {}
  Completion done;
};

// Any operation without data of its own: sync, unlink, poll.
struct Op {
  explicit Op(Completion on_done) : done(on_done) {}
  Completion done;
};

// Reads a range of a file that may not be in the page cache, without blocking the shard.
// Result: bytes read (short at the end of the file) or negative errno.
struct ReadOp {
  explicit ReadOp(Completion on_done) : done(on_done) {}
  Completion done;
  MutableBytes into;
};

class Io {
 public:
  virtual ~Io() = default;

  // --- clock and randomness ---
  virtual uint64_t now_ns() = 0;  // monotonic; cheap: read once a turn by the loop
  virtual int64_t wall_ms() = 0;  // since the epoch
  virtual uint64_t random() = 0;

  virtual FileSystem& files() = 0;

  // --- the loop's two calls ---
  // Submits what was started, waits until something ends or `deadline_ns` passes (nullopt = no
  // deadline; a deadline in the past = do not wait), and appends what ended to `ready`.
  virtual void poll(ReadyList& ready, std::optional<uint64_t> deadline_ns) = 0;
  // Ends another thread's poll() early. The only call that is safe from any thread.
  virtual void wake() = 0;

  // --- sockets; all are non-blocking, TCP_NODELAY is set on accepted ones ---
  // Binds with SO_REUSEPORT and listens. Port 0 picks one; `local_address` tells which.
  virtual Result<SocketFd> listen(const SocketAddress& address, int backlog) = 0;
  virtual Result<SocketAddress> local_address(SocketFd socket) = 0;
  virtual Result<SocketAddress> peer_address(SocketFd socket) = 0;
  // 0 leaves the kernel's own tuning on.
  virtual void set_buffer_sizes(SocketFd socket, int send_bytes, int receive_bytes) = 0;
  virtual void accept(SocketFd listener, AcceptOp& op) = 0;
  // Stops an accept; `op.done` runs once more with -ECANCELED.
  virtual void stop_accept(AcceptOp& op) = 0;
  virtual void recv(SocketFd socket, RecvOp& op) = 0;
  // A buffer of the pool without a receive, of lease_bytes(); nullopt when they are scarce: the last quarter
  // is for receives alone, and whoever holds a lease for longer then finds other memory.
  virtual uint32_t lease_bytes() const = 0;
  virtual std::optional<Lease> lease() = 0;
  virtual bool leases_are_scarce() const = 0;
  virtual void release(const Lease& lease) = 0;
  virtual void send(SocketFd socket, SendOp& op) = 0;
  // Inline attempts: bytes taken by the kernel, or -EAGAIN, or a negative errno. try_sendfile may block
  // for the disk when the range is not cached: ask cached() first. A short count from try_sendfile
  // with the range past the end of the file is 0.
  virtual int64_t try_send(SocketFd socket, const iovec* pieces, int count, bool more) = 0;
  virtual int64_t try_sendfile(SocketFd socket, FileFd file, uint64_t position, size_t length) = 0;
  // Runs when the socket can take bytes (or has an error or hang-up).
  virtual void poll_writable(SocketFd socket, Op& op) = 0;
  // Shuts the socket down both ways so that pending operations on it end; close() after they have.
  virtual void shutdown(SocketFd socket) = 0;
  virtual void close(SocketFd socket) = 0;

  // --- files ---
  // Inline, when all of the range is in the page cache: bytes read, short at the end of the file; -EAGAIN
  // when some of it is not; other negative = errno.
  virtual int64_t try_read(FileFd file, MutableBytes into, uint64_t position) = 0;
  // The rest goes on off the shard's path.
  virtual void read(FileFd file, uint64_t position, ReadOp& op) = 0;
  // fdatasync: covers the writes that had returned before it was started.
  virtual void sync(FileFd file, Op& op) = 0;
  // syncfs on the file system that holds `directory`: one call for many dirty files. Reports write-back
  // errors since the descriptor was opened (Linux 5.8).
  virtual void sync_file_system(FileFd directory, Op& op) = 0;
  // `path` must stay until the end.
  virtual void unlink(const char* path, Op& op) = 0;
  // Of an empty one; as unlink.
  virtual void remove_directory(const char* path, Op& op) = 0;
  // Whether a range is wholly in the page cache (cachestat, or a RWF_NOWAIT probe before Linux 6.5).
  virtual bool cached(FileFd file, uint64_t position, size_t length) = 0;
};

}  // namespace pelton
