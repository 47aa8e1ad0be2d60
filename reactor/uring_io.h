// UringIo: Io on io_uring; this and the other uring_* files are the only users of liburing.
//
// Owner shard: created anywhere, then used by one thread alone: the one that polls first (operations
// may be started before, but fewer than fit the submission queue). wake() from any thread.
// Lifetime: destroyed after that thread ended or by it, when no operation is pending but those that
// the destructor cancels (its own).
// Invariants: nothing runs inside the drain of the ring: what ended goes to a list that poll() hands
// out. Everything started in a turn is submitted by one system call, the one that waits.
// The process ignores SIGPIPE from the first UringIo on, since sendfile cannot suppress it.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "reactor/file_system_syncer.h"
#include "reactor/io.h"
#include "reactor/page_cache.h"
#include "reactor/posix_files.h"
#include "reactor/uring_acceptors.h"
#include "reactor/uring_buffers.h"
#include "reactor/uring_ring.h"

namespace pelton {

struct UringOptions {
  uint32_t sq_entries = 256;
  uint32_t cq_entries = 4096;
  uint32_t receive_buffers = 128;  // a power of two
  // A request with one batch of 128 KiB fits, however its records are laid out.
  uint32_t receive_buffer_size = 136 * 1024;
  // Kernel worker threads: for files (sync, cold reads, unlink), and for everything else.
  uint32_t max_file_workers = 8;
  uint32_t max_other_workers = 2;
  // Ask the page cache by RWF_NOWAIT reads even where cachestat exists.
  bool force_cache_probe = false;
  // Shared by the shards of a process; made when absent.
  std::shared_ptr<FileSystemSyncer> syncer;
};

class UringIo final : public Io, private FileSystemSyncer::Client {
 public:
  // The error is one line for the operator: what forbids io_uring, and how to allow it.
  static Result<std::unique_ptr<UringIo>, std::string> create(const UringOptions& options = {});
  ~UringIo() override;

  // One line for the start-up log.
  std::string features() const;

  uint64_t now_ns() override;
  int64_t wall_ms() override;
  uint64_t random() override;
  FileSystem& files() override { return files_; }

  void poll(ReadyList& ready, std::optional<uint64_t> deadline_ns) override;
  void wake() override;

  Result<SocketFd> listen(const SocketAddress& address, int backlog) override;
  Result<SocketAddress> local_address(SocketFd socket) override;
  Result<SocketAddress> peer_address(SocketFd socket) override;
  void set_buffer_sizes(SocketFd socket, int send_bytes, int receive_bytes) override;
  void accept(SocketFd listener, AcceptOp& op) override;
  void stop_accept(AcceptOp& op) override;
  void recv(SocketFd socket, RecvOp& op) override;
  uint32_t lease_bytes() const override { return buffers_.buffer_size(); }
  std::optional<Lease> lease() override { return buffers_.take(); }
  bool leases_are_scarce() const override { return buffers_.scarce(); }
  void release(const Lease& lease) override;
  void send(SocketFd socket, SendOp& op) override;
  int64_t try_send(SocketFd socket, const iovec* pieces, int count, bool more) override;
  int64_t try_sendfile(SocketFd socket, FileFd file, uint64_t position, size_t length) override;
  void poll_writable(SocketFd socket, Op& op) override;
  void shutdown(SocketFd socket) override;
  void close(SocketFd socket) override;

  int64_t try_read(FileFd file, MutableBytes into, uint64_t position) override;
  void read(FileFd file, uint64_t position, ReadOp& op) override;
  void sync(FileFd file, Op& op) override;
  void sync_file_system(FileFd directory, Op& op) override;
  void unlink(const char* path, Op& op) override;
  void remove_directory(const char* path, Op& op) override;
  bool cached(FileFd file, uint64_t position, size_t length) override;

 private:
  explicit UringIo(const UringOptions& options);
  Result<void, std::string> set_up();
  void arm_wake();
  std::optional<uint64_t> earliest(std::optional<uint64_t> deadline_ns) const;
  void on_entry(const io_uring_cqe& entry);
  void on_received(RecvOp& op, const io_uring_cqe& entry);
  void end(Completion& completion, int32_t result);

  // On the helper's thread.
  void synced(Op& op, int32_t result) override;
  void take_synced();

  UringOptions options_;
  std::string kernel_release_;
  PosixFiles files_;
  PageCache page_cache_;
  UringBuffers buffers_;
  ReadyList ended_;
  UringRing ring_;
  UringAcceptors acceptors_;

  int wake_fd_ = -1;
  uint64_t wake_count_ = 0;
  bool wake_armed_ = false;
  uint64_t random_state_;

  struct Synced {
    Op* op;
    int32_t result;
  };
  std::mutex synced_mutex_;
  std::vector<Synced> synced_;
};

}  // namespace pelton
