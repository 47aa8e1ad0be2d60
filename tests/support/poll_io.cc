#include "tests/support/poll_io.h"

#include <algorithm>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "reactor/base/check.h"
#include "reactor/posix_sockets.h"

namespace pelton::test {
namespace {

int32_t result_of(int result) { return result == 0 ? 0 : -errno; }

}  // namespace

PollIo::PollIo() : wake_fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  posix::ignore_sigpipe();
  CHECK(wake_fd_ >= 0);
  for (uint32_t id = 0; id < kBuffers; ++id) {
    buffers_.emplace_back(kBufferSize);
    free_buffers_.push_back(id);
  }
}

PollIo::~PollIo() { ::close(wake_fd_); }

uint64_t PollIo::now_ns() { return posix::monotonic_ns(); }
int64_t PollIo::wall_ms() { return posix::wall_ms(); }
uint64_t PollIo::random() { return random_ = random_ * 6364136223846793005u + 1442695040888963407u; }

// ---------------------------------------------------------------- one poll

void PollIo::poll(ReadyList& ready, std::optional<uint64_t> deadline_ns) {
  std::vector<Pending> asked = std::exchange(pending_, {});
  std::vector<pollfd> watched;
  for (const Pending& pending : asked) watched.push_back({pending.fd, events_of(pending.what), 0});
  watched.push_back({wake_fd_, POLLIN, 0});
  bool at_once = !ended_.empty();
  for (const Pending& pending : asked) at_once |= events_of(pending.what) == 0;
  int timeout = at_once ? 0 : wait(deadline_ns);
  int events = ::poll(watched.data(), watched.size(), timeout);
  CHECK(events >= 0 || errno == EINTR);
  uint64_t count;
  if ((watched.back().revents & POLLIN) != 0) (void)!::read(wake_fd_, &count, sizeof count);
  for (size_t i = 0; i < asked.size(); ++i) attempt(asked[i], watched[i].revents);
  ready.splice(ready.end(), ended_);
}

int PollIo::wait(std::optional<uint64_t> deadline_ns) {
  if (!deadline_ns) return -1;
  uint64_t now = now_ns();
  if (*deadline_ns <= now) return 0;
  return static_cast<int>(std::min<uint64_t>((*deadline_ns - now + 999'999) / 1'000'000, 1'000'000));
}

short PollIo::events_of(What what) {
  switch (what) {
    case What::kAccept:
    case What::kRecv: return POLLIN;
    case What::kSend:
    case What::kWritable: return POLLOUT;
    default: return 0;
  }
}

void PollIo::attempt(const Pending& pending, short events) {
  if (events_of(pending.what) == 0) return do_file(pending);
  if (events == 0) {
    pending_.push_back(pending);
    return;
  }
  switch (pending.what) {
    case What::kAccept: return attempt_accept(pending);
    case What::kRecv: return attempt_recv(pending);
    case What::kSend: return attempt_send(pending);
    default: return end(static_cast<Op*>(pending.op)->done, 0);
  }
}

void PollIo::attempt_accept(const Pending& pending) {
  pending_.push_back(pending);
  auto& op = *static_cast<AcceptOp*>(pending.op);
  if (op.done.is_linked()) return;  // the last one has not been taken yet
  int fd = ::accept4(pending.fd, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (fd < 0 && errno == EAGAIN) return;
  if (!op.done.pending()) op.done.mark_started();
  end(op.done, fd >= 0 ? fd : -errno);
}

void PollIo::attempt_recv(const Pending& pending) {
  auto& op = *static_cast<RecvOp*>(pending.op);
  bool lends = op.into.empty();
  if (lends && free_buffers_.empty()) return end(op.done, -ENOBUFS);
  MutableBytes into = lends ? MutableBytes(buffers_[free_buffers_.back()]) : op.into;
  ssize_t got = ::recv(pending.fd, into.data(), into.size(), MSG_DONTWAIT);
  if (got < 0 && errno == EAGAIN) {
    pending_.push_back(pending);
    return;
  }
  op.lease = {};
  if (got > 0 && lends) {
    op.lease = {into.data(), static_cast<uint32_t>(got), kBufferSize, free_buffers_.back()};
    free_buffers_.pop_back();
  }
  end(op.done, got >= 0 ? got : -errno);
}

void PollIo::attempt_send(const Pending& pending) {
  auto& op = *static_cast<SendOp*>(pending.op);
  int64_t sent = posix::try_send(pending.fd, op.pieces, op.count, op.more);
  if (sent == -EAGAIN)
    pending_.push_back(pending);
  else
    end(op.done, sent);
}

void PollIo::do_file(const Pending& pending) {
  if (pending.what == What::kRead) {
    auto& op = *static_cast<ReadOp*>(pending.op);
    Result<size_t> got = files_.pread(pending.fd, op.into, pending.position);
    return end(op.done, got ? static_cast<int64_t>(*got) : -got.error().code);
  }
  Completion& done = static_cast<Op*>(pending.op)->done;
  switch (pending.what) {
    case What::kSync: return end(done, result_of(::fdatasync(pending.fd)));
    case What::kSyncFileSystem: return end(done, result_of(::syncfs(pending.fd)));
    case What::kRemoveDirectory: return end(done, result_of(::rmdir(pending.path)));
    default: return end(done, result_of(::unlink(pending.path)));
  }
}

void PollIo::end(Completion& completion, int64_t result) {
  completion.set_result(static_cast<int32_t>(result));
  ended_.push_back(completion);
}

void PollIo::start(What what, int fd, void* op, Completion& done, uint64_t position,
                   const char* path) {
  done.mark_started();
  pending_.push_back({what, fd, op, position, path});
}

void PollIo::wake() {
  uint64_t one = 1;
  CHECK(::write(wake_fd_, &one, sizeof one) == sizeof one);
}

// ---------------------------------------------------------------- operations

Result<SocketFd> PollIo::listen(const SocketAddress& address, int backlog) {
  return posix::listen(address, backlog, posix::ListenerMode::kNonBlocking);
}
Result<SocketAddress> PollIo::local_address(SocketFd socket) { return posix::local_address(socket); }
Result<SocketAddress> PollIo::peer_address(SocketFd socket) { return posix::peer_address(socket); }
void PollIo::set_buffer_sizes(SocketFd socket, int send_bytes, int receive_bytes) {
  posix::set_buffer_sizes(socket, send_bytes, receive_bytes);
}
void PollIo::accept(SocketFd listener, AcceptOp& op) {
  start(What::kAccept, listener, &op, op.done);
}

void PollIo::stop_accept(AcceptOp& op) {
  std::erase_if(pending_, [&](const Pending& pending) { return pending.op == &op; });
  if (op.done.is_linked()) {  // a connection that came too late
    op.done.unlink();
    if (op.done.result() >= 0) ::close(op.done.result());
  }
  if (!op.done.pending()) op.done.mark_started();
  end(op.done, -ECANCELED);
}

void PollIo::recv(SocketFd socket, RecvOp& op) { start(What::kRecv, socket, &op, op.done); }
std::optional<Lease> PollIo::lease() {
  if (leases_are_scarce()) return std::nullopt;
  uint32_t id = free_buffers_.back();
  free_buffers_.pop_back();
  return Lease{buffers_[id].data(), 0, kBufferSize, id};
}
void PollIo::release(const Lease& lease) { free_buffers_.push_back(lease.id); }
void PollIo::send(SocketFd socket, SendOp& op) { start(What::kSend, socket, &op, op.done); }
int64_t PollIo::try_send(SocketFd socket, const iovec* pieces, int count, bool more) {
  return posix::try_send(socket, pieces, count, more);
}
int64_t PollIo::try_sendfile(SocketFd socket, FileFd file, uint64_t position, size_t length) {
  return posix::try_sendfile(socket, file, position, length);
}
void PollIo::poll_writable(SocketFd socket, Op& op) {
  start(What::kWritable, socket, &op, op.done);
}
void PollIo::shutdown(SocketFd socket) { (void)::shutdown(socket, SHUT_RDWR); }
void PollIo::close(SocketFd socket) { files_.close(socket); }

int64_t PollIo::try_read(FileFd file, MutableBytes into, uint64_t position) {
  return PageCache::read(file, into, position);
}
void PollIo::read(FileFd file, uint64_t position, ReadOp& op) {
  start(What::kRead, file, &op, op.done, position);
}
void PollIo::sync(FileFd file, Op& op) { start(What::kSync, file, &op, op.done); }
void PollIo::sync_file_system(FileFd directory, Op& op) {
  start(What::kSyncFileSystem, directory, &op, op.done);
}
void PollIo::unlink(const char* path, Op& op) {
  start(What::kUnlink, -1, &op, op.done, 0, path);
}
void PollIo::remove_directory(const char* path, Op& op) {
  start(What::kRemoveDirectory, -1, &op, op.done, 0, path);
}
bool PollIo::cached(FileFd file, uint64_t position, size_t length) {
  return page_cache_.cached(file, position, length);
}

}  // namespace pelton::test
