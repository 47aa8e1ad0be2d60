#include "reactor/uring_io.h"

#include <algorithm>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "reactor/base/check.h"
#include "reactor/posix_sockets.h"
#include "reactor/uring_entry.h"
#include "reactor/uring_setup.h"

namespace pelton {

// ---------------------------------------------------------------- life

Result<std::unique_ptr<UringIo>, std::string> UringIo::create(const UringOptions& options) {
  posix::ignore_sigpipe();
  std::unique_ptr<UringIo> io(new UringIo(options));
  if (auto ready = io->set_up(); !ready) return std::unexpected(ready.error());
  return io;
}

UringIo::UringIo(const UringOptions& options)
    : options_(options),
      page_cache_(options.force_cache_probe),
      ring_(this,
            [](void* self, const io_uring_cqe& entry) { static_cast<UringIo*>(self)->on_entry(entry); }),
      acceptors_(ring_, ended_),
      random_state_(posix::entropy()) {
  if (!options_.syncer) options_.syncer = std::make_shared<FileSystemSyncer>();
}

Result<void, std::string> UringIo::set_up() {
  HostFacts facts = read_host_facts();
  kernel_release_ = facts.kernel_release;
  if (auto made = ring_.set_up(options_.sq_entries, options_.cq_entries, facts); !made) return made;
  if (Status given = buffers_.register_with(ring_.raw(), options_.receive_buffers,
                                            options_.receive_buffer_size);
      !given)
    return std::unexpected(explain_ring_error(given.error().code, facts));
  wake_fd_ = ::eventfd(0, EFD_CLOEXEC);
  if (wake_fd_ < 0) return std::unexpected("eventfd: " + to_string(SysError{errno}));
  return {};
}

UringIo::~UringIo() {
  options_.syncer->forget(*this);
  if (wake_fd_ >= 0) ::close(wake_fd_);
}

std::string UringIo::features() const {
  return fmt::format(
      "Linux {}, io_uring: single issuer, deferred task run, multishot accept, {} receive buffers of "
      "{} KiB, queues {}/{}, at most {}+{} kernel workers; page cache asked by {}",
      kernel_release_, options_.receive_buffers, options_.receive_buffer_size / 1024,
      options_.sq_entries, options_.cq_entries, options_.max_file_workers, options_.max_other_workers,
      page_cache_.uses_cachestat() ? "cachestat" : "RWF_NOWAIT reads");
}

uint64_t UringIo::now_ns() { return posix::monotonic_ns(); }
int64_t UringIo::wall_ms() { return posix::wall_ms(); }

// splitmix64
uint64_t UringIo::random() {
  uint64_t mixed = random_state_ += 0x9E3779B97F4A7C15u;
  mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9u;
  mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBu;
  return mixed ^ (mixed >> 31);
}

// ---------------------------------------------------------------- one poll

void UringIo::poll(ReadyList& ready, std::optional<uint64_t> deadline_ns) {
  if (!ring_.enabled()) ring_.enable(options_.max_file_workers, options_.max_other_workers);
  if (!wake_armed_) arm_wake();
  acceptors_.arm_all();
  buffers_.refill();
  ring_.poll(earliest(deadline_ns));
  ready.splice(ready.end(), ended_);
}

std::optional<uint64_t> UringIo::earliest(std::optional<uint64_t> deadline_ns) const {
  if (!ended_.empty()) return 0;
  std::optional<uint64_t> accepting = acceptors_.next_ns();
  if (!accepting) return deadline_ns;
  return std::min(*accepting, deadline_ns.value_or(UINT64_MAX));
}

void UringIo::on_entry(const io_uring_cqe& entry) {
  switch (uring_kind(entry.user_data)) {
    case UringKind::kResult:
      return end(uring_target<Completion>(entry.user_data), entry.res);
    case UringKind::kReadiness:
      return end(uring_target<Completion>(entry.user_data), std::min(entry.res, 0));
    case UringKind::kReceive:
      return on_received(uring_target<RecvOp>(entry.user_data), entry);
    case UringKind::kAccept:
      return acceptors_.on_ended(entry);
    case UringKind::kWake:
      wake_armed_ = false;
      return take_synced();
    case UringKind::kIgnored:
      return;
  }
  CHECK(false, "an entry of unknown kind");
}

void UringIo::end(Completion& completion, int32_t result) {
  completion.set_result(result);
  ended_.push_back(completion);
}

// ---------------------------------------------------------------- wake and syncfs

void UringIo::wake() {
  uint64_t one = 1;
  ssize_t wrote = ::write(wake_fd_, &one, sizeof one);
  CHECK(wrote == sizeof one, "an eventfd takes a wake");
}

void UringIo::arm_wake() {
  io_uring_sqe& sqe = ring_.next();
  io_uring_prep_read(&sqe, wake_fd_, &wake_count_, sizeof wake_count_, 0);
  io_uring_sqe_set_data64(&sqe, static_cast<uint64_t>(UringKind::kWake));
  wake_armed_ = true;
}

void UringIo::synced(Op& op, int32_t result) {
  {
    std::lock_guard lock(synced_mutex_);
    synced_.push_back({&op, result});
  }
  wake();
}

void UringIo::take_synced() {
  std::vector<Synced> done;
  {
    std::lock_guard lock(synced_mutex_);
    done.swap(synced_);
  }
  for (const Synced& one : done) end(one.op->done, one.result);
}

void UringIo::sync_file_system(FileFd directory, Op& op) {
  op.done.mark_started();
  options_.syncer->request(directory, op, *this);
}

// ---------------------------------------------------------------- sockets

Result<SocketFd> UringIo::listen(const SocketAddress& address, int backlog) {
  return posix::listen(address, backlog, posix::ListenerMode::kBlocking);
}
Result<SocketAddress> UringIo::local_address(SocketFd socket) { return posix::local_address(socket); }
Result<SocketAddress> UringIo::peer_address(SocketFd socket) { return posix::peer_address(socket); }
void UringIo::set_buffer_sizes(SocketFd socket, int send_bytes, int receive_bytes) {
  posix::set_buffer_sizes(socket, send_bytes, receive_bytes);
}

void UringIo::accept(SocketFd listener, AcceptOp& op) { acceptors_.accept(listener, op); }
void UringIo::stop_accept(AcceptOp& op) { acceptors_.stop(op); }

void UringIo::recv(SocketFd socket, RecvOp& op) {
  op.done.mark_started();
  io_uring_sqe& sqe = ring_.next();
  if (op.into.empty()) {
    io_uring_prep_recv(&sqe, socket, nullptr, buffers_.buffer_size(), 0);
    sqe.flags |= IOSQE_BUFFER_SELECT;
    sqe.buf_group = UringBuffers::kGroup;
  } else {
    io_uring_prep_recv(&sqe, socket, op.into.data(), op.into.size(), 0);
  }
  // The attempt that finds nothing is spared when the last receive has taken everything.
  if (!op.more_waits) sqe.ioprio |= IORING_RECVSEND_POLL_FIRST;
  io_uring_sqe_set_data64(&sqe, uring_data(&op, UringKind::kReceive));
}

void UringIo::on_received(RecvOp& op, const io_uring_cqe& entry) {
  op.lease = {};
  op.more_waits = (entry.flags & IORING_CQE_F_SOCK_NONEMPTY) != 0;
  if ((entry.flags & IORING_CQE_F_BUFFER) != 0) {
    Lease lease = buffers_.taken(entry.flags >> IORING_CQE_BUFFER_SHIFT,
                                 static_cast<uint32_t>(std::max(entry.res, 0)));
    // The end of a stream may come with a buffer, which nobody would give back.
    if (entry.res > 0)
      op.lease = lease;
    else
      buffers_.release(lease);
  }
  if (entry.res == -ENOBUFS) {
    buffers_.ran_out();
    op.more_waits = true;
  }
  end(op.done, entry.res);
}

void UringIo::release(const Lease& lease) { buffers_.release(lease); }

void UringIo::send(SocketFd socket, SendOp& op) {
  op.done.mark_started();
  io_uring_sqe& sqe = ring_.next();
  int flags = MSG_NOSIGNAL | (op.more ? MSG_MORE : 0);
  if (op.count == 1) {
    io_uring_prep_send(&sqe, socket, op.pieces->iov_base, op.pieces->iov_len, flags);
  } else {
    op.message = {};
    op.message.msg_iov = op.pieces;
    op.message.msg_iovlen = static_cast<size_t>(op.count);
    io_uring_prep_sendmsg(&sqe, socket, &op.message, static_cast<unsigned>(flags));
  }
  io_uring_sqe_set_data64(&sqe, uring_data(&op.done, UringKind::kResult));
}

int64_t UringIo::try_send(SocketFd socket, const iovec* pieces, int count, bool more) {
  return posix::try_send(socket, pieces, count, more);
}
int64_t UringIo::try_sendfile(SocketFd socket, FileFd file, uint64_t position, size_t length) {
  return posix::try_sendfile(socket, file, position, length);
}

void UringIo::poll_writable(SocketFd socket, Op& op) {
  op.done.mark_started();
  io_uring_sqe& sqe = ring_.next();
  io_uring_prep_poll_add(&sqe, socket, POLLOUT);
  io_uring_sqe_set_data64(&sqe, uring_data(&op.done, UringKind::kReadiness));
}

void UringIo::shutdown(SocketFd socket) { (void)::shutdown(socket, SHUT_RDWR); }
void UringIo::close(SocketFd socket) { files_.close(socket); }

// ---------------------------------------------------------------- files

int64_t UringIo::try_read(FileFd file, MutableBytes into, uint64_t position) {
  return page_cache_.read(file, into, position);
}

void UringIo::read(FileFd file, uint64_t position, ReadOp& op) {
  op.done.mark_started();
  io_uring_sqe& sqe = ring_.next();
  io_uring_prep_read(&sqe, file, op.into.data(), static_cast<unsigned>(op.into.size()), position);
  io_uring_sqe_set_data64(&sqe, uring_data(&op.done, UringKind::kResult));
}

void UringIo::sync(FileFd file, Op& op) {
  op.done.mark_started();
  io_uring_sqe& sqe = ring_.next();
  io_uring_prep_fsync(&sqe, file, IORING_FSYNC_DATASYNC);
  io_uring_sqe_set_data64(&sqe, uring_data(&op.done, UringKind::kResult));
}

void UringIo::unlink(const char* path, Op& op) {
  op.done.mark_started();
  io_uring_sqe& sqe = ring_.next();
  io_uring_prep_unlinkat(&sqe, AT_FDCWD, path, 0);
  io_uring_sqe_set_data64(&sqe, uring_data(&op.done, UringKind::kResult));
}

void UringIo::remove_directory(const char* path, Op& op) {
  op.done.mark_started();
  io_uring_sqe& sqe = ring_.next();
  io_uring_prep_unlinkat(&sqe, AT_FDCWD, path, AT_REMOVEDIR);
  io_uring_sqe_set_data64(&sqe, uring_data(&op.done, UringKind::kResult));
}

bool UringIo::cached(FileFd file, uint64_t position, size_t length) {
  return page_cache_.cached(file, position, length);
}

}  // namespace pelton
