// PollIo: Io on poll(2), for tests only: it shows that the seam needs no io_uring. File operations are
// done, blocking, in poll().
//
// Owner shard: one thread; wake() from any.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "reactor/io.h"
#include "reactor/page_cache.h"
#include "reactor/posix_files.h"

namespace pelton::test {

class PollIo : public Io {
 public:
  static constexpr uint32_t kBuffers = 16;
  static constexpr uint32_t kBufferSize = 16 * 1024;

  PollIo();
  ~PollIo() override;

  size_t free_buffers() const { return free_buffers_.size(); }

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
  uint32_t lease_bytes() const override { return kBufferSize; }
  std::optional<Lease> lease() override;
  bool leases_are_scarce() const override { return free_buffers_.size() <= kBuffers / 4; }
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
  enum class What { kAccept, kRecv, kSend, kWritable, kRead, kSync, kSyncFileSystem, kUnlink, kRemoveDirectory };
  struct Pending {
    What what;
    int fd;
    void* op;
    uint64_t position;
    const char* path;
  };

  void start(What what, int fd, void* op, Completion& done, uint64_t position = 0,
             const char* path = nullptr);
  static short events_of(What what);
  int wait(std::optional<uint64_t> deadline_ns);
  void attempt(const Pending& pending, short events);
  void attempt_accept(const Pending& pending);
  void attempt_recv(const Pending& pending);
  void attempt_send(const Pending& pending);
  void do_file(const Pending& pending);
  void end(Completion& completion, int64_t result);

  PosixFiles files_;
  PageCache page_cache_{true};
  std::vector<Pending> pending_;
  ReadyList ended_;
  int wake_fd_;
  std::vector<std::vector<uint8_t>> buffers_;
  std::vector<uint32_t> free_buffers_;
  uint64_t random_ = 1;
};

}  // namespace pelton::test
