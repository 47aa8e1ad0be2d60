#include "reactor/uring_io.h"

#include <algorithm>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "reactor/base/check.h"
#include "reactor/posix_sockets.h"
#include "reactor/uring_setup.h"

namespace pelton {
namespace {

// The low bits of an entry's user data say what its pointer is.
enum Kind : uint64_t {
  kResult = 0,    // Completion: the result as it is
  kReadiness = 1, // Completion: 0 for any event
  kLease = 2,     // RecvOp: a buffer comes with the result
  kAccept = 3,    // Acceptor
  kWake = 4,      // no pointer
  kIgnored = 5,   // no pointer: the answer to a cancel
};
constexpr uint64_t kKindMask = 7;
static_assert(alignof(Completion) > kKindMask && alignof(RecvOp) > kKindMask);

template <class T>
uint64_t tagged(T* pointer, Kind kind) {
  return reinterpret_cast<uint64_t>(pointer) | kind;
}
template <class T>
T& target(uint64_t data) {
  return *reinterpret_cast<T*>(data & ~kKindMask);
}

// Entries handled in one poll, so that a flood of completions cannot hold a turn.
constexpr unsigned kDrainBudget = 2048;
// Kernels from 6.13 hand out at most 20 deferred completions in one call and do not flag the rest.
constexpr unsigned kKernelBatch = 16;
// After an error that lasts (no descriptor, no memory) accepting starts again this much later.
constexpr uint64_t kAcceptPauseNs = 50'000'000;

bool lasts(int32_t error) {
  return error == -EMFILE || error == -ENFILE || error == -ENOBUFS || error == -ENOMEM;
}

}  // namespace

// One listening socket. The kernel may accept several connections between two polls; they wait in
// `results` and reach the op one after the other.
struct UringIo::Acceptor {
  Acceptor(UringIo* io, SocketFd listening, AcceptOp* to)
      : owner(io), listener(listening), op(to), deliver(Completion::bind<&Acceptor::run>(this)) {}

  void run(int32_t) { owner->deliver_accepted(*this); }

  UringIo* owner;
  SocketFd listener;
  AcceptOp* op;
  Completion deliver;
  std::vector<int32_t> results;
  uint64_t not_before_ns = 0;
  bool armed = false;
  bool stopping = false;
  bool delivering = false;
};

// ---------------------------------------------------------------- life

Result<std::unique_ptr<UringIo>, std::string> UringIo::create(const UringOptions& options) {
  posix::ignore_sigpipe();
  std::unique_ptr<UringIo> io(new UringIo(options));
  if (auto ready = io->set_up(); !ready) return std::unexpected(ready.error());
  return io;
}

UringIo::UringIo(const UringOptions& options)
    : options_(options), page_cache_(options.force_cache_probe), random_state_(posix::entropy()) {
  if (!options_.syncer) options_.syncer = std::make_shared<FileSystemSyncer>();
}

Result<void, std::string> UringIo::set_up() {
  HostFacts facts = read_host_facts();
  kernel_release_ = facts.kernel_release;
  if (auto made = set_up_ring(ring_, options_.sq_entries, options_.cq_entries, facts); !made)
    return made;
  has_ring_ = true;
  if (Status given = buffers_.register_with(ring_, options_.receive_buffers,
                                            options_.receive_buffer_size);
      !given)
    return std::unexpected(explain_ring_error(given.error().code, facts));
  wake_fd_ = ::eventfd(0, EFD_CLOEXEC);
  if (wake_fd_ < 0) return std::unexpected("eventfd: " + to_string(SysError{errno}));
  return {};
}

UringIo::~UringIo() {
  options_.syncer->forget(*this);
  if (has_ring_) {
    // When another thread used the ring this is refused; that thread's end has cancelled everything.
    io_uring_sync_cancel_reg all{};
    all.flags = IORING_ASYNC_CANCEL_ANY | IORING_ASYNC_CANCEL_ALL;
    all.timeout = {-1, -1};
    if (enabled_) io_uring_register_sync_cancel(&ring_, &all);
    io_uring_queue_exit(&ring_);
  }
  if (wake_fd_ >= 0) ::close(wake_fd_);
}

std::string UringIo::features() const {
  return fmt::format(
      "Linux {}, io_uring: single issuer, deferred task run, multishot accept, {} receive buffers of "
      "{} KiB, queues {}/{}, at most {}+{} kernel workers; page cache asked by {}",
      kernel_release_, options_.receive_buffers, options_.receive_buffer_size / 1024,
      ring_.sq.ring_entries, ring_.cq.ring_entries, options_.max_file_workers,
      options_.max_other_workers, page_cache_.uses_cachestat() ? "cachestat" : "RWF_NOWAIT reads");
}

// On the thread that owns the ring from now on: single issuer and worker limits belong to a thread.
void UringIo::enable() {
  // liburing 2.3 declares io_uring_enable_rings but does not export it.
  int result = io_uring_register(static_cast<unsigned>(ring_.ring_fd), IORING_REGISTER_ENABLE_RINGS,
                                 nullptr, 0);
  CHECK(result == 0, "a ring that could be made can be enabled");
  unsigned workers[2] = {options_.max_file_workers, options_.max_other_workers};
  io_uring_register_iowq_max_workers(&ring_, workers);
  enabled_ = true;
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
  if (!enabled_) enable();
  if (!wake_armed_) arm_wake();
  arm_acceptors();
  enter(earliest(deadline_ns));
  drain();
  ready.splice(ready.end(), ended_);
}

std::optional<uint64_t> UringIo::earliest(std::optional<uint64_t> deadline_ns) const {
  if (!ended_.empty()) return 0;
  for (const auto& acceptor : acceptors_)
    if (!acceptor->armed && !acceptor->stopping)
      deadline_ns = std::min(deadline_ns.value_or(UINT64_MAX), acceptor->not_before_ns);
  return deadline_ns;
}

bool UringIo::kernel_has_more() const {
  unsigned flags = IO_URING_READ_ONCE(*ring_.sq.kflags);
  return (flags & (IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW)) != 0;
}

void UringIo::enter(std::optional<uint64_t> deadline_ns) {
  uint64_t now = deadline_ns && *deadline_ns > 0 ? now_ns() : 0;
  int result = 0;
  if (deadline_ns && *deadline_ns <= now) {
    // A turn with work at hand and nothing to say costs no system call.
    if (io_uring_sq_ready(&ring_) > 0 || maybe_more_ || kernel_has_more())
      result = io_uring_submit_and_get_events(&ring_);
  } else {
    io_uring_cqe* first = nullptr;
    __kernel_timespec wait{};
    if (deadline_ns) {
      wait.tv_sec = static_cast<int64_t>((*deadline_ns - now) / 1'000'000'000);
      wait.tv_nsec = static_cast<int64_t>((*deadline_ns - now) % 1'000'000'000);
    }
    result = io_uring_submit_and_wait_timeout(&ring_, &first, 1, deadline_ns ? &wait : nullptr,
                                              nullptr);
  }
  // Busy or short of memory: what was not submitted stays queued for the next turn.
  CHECK(result >= 0 || result == -ETIME || result == -EINTR || result == -EBUSY || result == -EAGAIN,
        "io_uring_enter");
}

// Ends when asking again gave nothing, whatever the flags say: the kernel queues deferred work first
// and raises IORING_SQ_TASKRUN after that, so the flag of work that was just taken may be raised late,
// and then stays up until there is new work.
void UringIo::drain() {
  bool asked = false;
  for (unsigned handled = 0; handled < kDrainBudget;) {
    unsigned head;
    unsigned count = 0;
    io_uring_cqe* cqe;
    io_uring_for_each_cqe(&ring_, head, cqe) {
      on_cqe(*cqe);
      ++count;
    }
    io_uring_cq_advance(&ring_, count);
    handled += count;
    maybe_more_ = count >= kKernelBatch;
    if (!maybe_more_ && !kernel_has_more()) return;
    if (asked && count == 0) return;
    asked = true;
    io_uring_get_events(&ring_);
  }
}

void UringIo::on_cqe(const io_uring_cqe& cqe) {
  switch (static_cast<Kind>(cqe.user_data & kKindMask)) {
    case kResult: return end(target<Completion>(cqe.user_data), cqe.res);
    case kReadiness: return end(target<Completion>(cqe.user_data), std::min(cqe.res, 0));
    case kLease: return on_lease(target<RecvOp>(cqe.user_data), cqe);
    case kAccept: return on_accept(target<Acceptor>(cqe.user_data), cqe);
    case kWake:
      wake_armed_ = false;
      return take_synced();
    case kIgnored: return;
  }
  CHECK(false, "an entry of unknown kind");
}

void UringIo::end(Completion& completion, int32_t result) {
  completion.set_result(result);
  ended_.push_back(completion);
}

// ---------------------------------------------------------------- submission queue

io_uring_sqe& UringIo::next_sqe() {
  io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
  if (sqe != nullptr) return *sqe;
  CHECK(enabled_, "more operations before the first poll than the queue holds");
  io_uring_submit(&ring_);
  sqe = io_uring_get_sqe(&ring_);
  if (sqe == nullptr) {
    // The kernel refuses entries while completions overflow: take those, then try once more.
    drain();
    io_uring_submit(&ring_);
    sqe = io_uring_get_sqe(&ring_);
  }
  CHECK(sqe != nullptr, "the submission queue does not empty");
  return *sqe;
}

// ---------------------------------------------------------------- wake and syncfs

void UringIo::wake() {
  uint64_t one = 1;
  ssize_t wrote = ::write(wake_fd_, &one, sizeof one);
  CHECK(wrote == sizeof one, "an eventfd takes a wake");
}

void UringIo::arm_wake() {
  io_uring_sqe& sqe = next_sqe();
  io_uring_prep_read(&sqe, wake_fd_, &wake_count_, sizeof wake_count_, 0);
  io_uring_sqe_set_data64(&sqe, kWake);
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

// ---------------------------------------------------------------- accept

void UringIo::accept(SocketFd listener, AcceptOp& op) {
  op.done.mark_started();
  acceptors_.push_back(std::make_unique<Acceptor>(this, listener, &op));
}

void UringIo::arm_acceptors() {
  for (const auto& acceptor : acceptors_) {
    if (acceptor->armed || acceptor->stopping) continue;
    if (acceptor->not_before_ns == 0 || acceptor->not_before_ns <= now_ns()) arm(*acceptor);
  }
}

void UringIo::arm(Acceptor& acceptor) {
  io_uring_sqe& sqe = next_sqe();
  io_uring_prep_multishot_accept(&sqe, acceptor.listener, nullptr, nullptr,
                                 SOCK_NONBLOCK | SOCK_CLOEXEC);
  io_uring_sqe_set_data64(&sqe, tagged(&acceptor, kAccept));
  acceptor.armed = true;
  acceptor.not_before_ns = 0;
}

void UringIo::on_accept(Acceptor& acceptor, const io_uring_cqe& cqe) {
  if ((cqe.flags & IORING_CQE_F_MORE) == 0) {
    acceptor.armed = false;
    if (lasts(cqe.res)) acceptor.not_before_ns = now_ns() + kAcceptPauseNs;
  }
  acceptor.results.push_back(cqe.res);
  if (acceptor.deliver.pending()) return;
  acceptor.deliver.mark_started();
  end(acceptor.deliver, 0);
}

void UringIo::deliver_accepted(Acceptor& acceptor) {
  std::vector<int32_t> results = std::exchange(acceptor.results, {});
  acceptor.delivering = true;
  for (int32_t result : results) {
    if (acceptor.stopping) {
      if (result >= 0) ::close(result);  // came too late
      continue;
    }
    acceptor.op->done.set_result(result);
    acceptor.op->done.run();
    acceptor.op->done.mark_started();
  }
  acceptor.delivering = false;
  if (acceptor.stopping && !acceptor.armed && !acceptor.deliver.pending()) finish_accept(acceptor);
}

void UringIo::stop_accept(AcceptOp& op) {
  auto found = std::find_if(acceptors_.begin(), acceptors_.end(),
                            [&](const auto& one) { return one->op == &op; });
  CHECK(found != acceptors_.end(), "stopped an accept that does not run");
  Acceptor& acceptor = **found;
  if (acceptor.stopping) return;
  acceptor.stopping = true;
  if (acceptor.armed) {
    io_uring_sqe& sqe = next_sqe();
    io_uring_prep_cancel64(&sqe, tagged(&acceptor, kAccept), 0);
    io_uring_sqe_set_data64(&sqe, kIgnored);
  } else if (!acceptor.delivering && !acceptor.deliver.pending()) {
    acceptor.deliver.mark_started();
    end(acceptor.deliver, 0);
  }
}

void UringIo::finish_accept(Acceptor& acceptor) {
  auto found = std::find_if(acceptors_.begin(), acceptors_.end(),
                            [&](const auto& one) { return one.get() == &acceptor; });
  std::unique_ptr<Acceptor> last = std::move(*found);  // it runs: it lives until the end of this call
  acceptors_.erase(found);
  last->op->done.set_result(-ECANCELED);
  last->op->done.run();
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

void UringIo::recv(SocketFd socket, RecvOp& op) {
  op.done.mark_started();
  io_uring_sqe& sqe = next_sqe();
  if (!op.into.empty()) {
    io_uring_prep_recv(&sqe, socket, op.into.data(), op.into.size(), 0);
    io_uring_sqe_set_data64(&sqe, tagged(&op.done, kResult));
    return;
  }
  io_uring_prep_recv(&sqe, socket, nullptr, buffers_.buffer_size(), 0);
  sqe.flags |= IOSQE_BUFFER_SELECT;
  sqe.buf_group = UringBuffers::kGroup;
  io_uring_sqe_set_data64(&sqe, tagged(&op, kLease));
}

void UringIo::on_lease(RecvOp& op, const io_uring_cqe& cqe) {
  op.lease = {};
  if ((cqe.flags & IORING_CQE_F_BUFFER) != 0) {
    Lease lease = buffers_.lend(cqe.flags >> IORING_CQE_BUFFER_SHIFT,
                                static_cast<uint32_t>(std::max(cqe.res, 0)));
    // The end of a stream may come with a buffer, which nobody would give back.
    if (cqe.res > 0)
      op.lease = lease;
    else
      buffers_.release(lease);
  }
  end(op.done, cqe.res);
}

void UringIo::release(const Lease& lease) { buffers_.release(lease); }

void UringIo::send(SocketFd socket, SendOp& op) {
  op.done.mark_started();
  io_uring_sqe& sqe = next_sqe();
  int flags = MSG_NOSIGNAL | (op.more ? MSG_MORE : 0);
  if (op.count == 1) {
    io_uring_prep_send(&sqe, socket, op.pieces->iov_base, op.pieces->iov_len, flags);
  } else {
    op.message = {};
    op.message.msg_iov = op.pieces;
    op.message.msg_iovlen = static_cast<size_t>(op.count);
    io_uring_prep_sendmsg(&sqe, socket, &op.message, static_cast<unsigned>(flags));
  }
  io_uring_sqe_set_data64(&sqe, tagged(&op.done, kResult));
}

int64_t UringIo::try_send(SocketFd socket, const iovec* pieces, int count, bool more) {
  return posix::try_send(socket, pieces, count, more);
}
int64_t UringIo::try_sendfile(SocketFd socket, FileFd file, uint64_t position, size_t length) {
  return posix::try_sendfile(socket, file, position, length);
}

void UringIo::poll_writable(SocketFd socket, Op& op) {
  op.done.mark_started();
  io_uring_sqe& sqe = next_sqe();
  io_uring_prep_poll_add(&sqe, socket, POLLOUT);
  io_uring_sqe_set_data64(&sqe, tagged(&op.done, kReadiness));
}

void UringIo::shutdown(SocketFd socket) { (void)::shutdown(socket, SHUT_RDWR); }
void UringIo::close(SocketFd socket) { files_.close(socket); }

// ---------------------------------------------------------------- files

void UringIo::read(FileFd file, uint64_t position, ReadOp& op) {
  op.done.mark_started();
  io_uring_sqe& sqe = next_sqe();
  io_uring_prep_read(&sqe, file, op.into.data(), static_cast<unsigned>(op.into.size()), position);
  io_uring_sqe_set_data64(&sqe, tagged(&op.done, kResult));
}

void UringIo::sync(FileFd file, Op& op) {
  op.done.mark_started();
  io_uring_sqe& sqe = next_sqe();
  io_uring_prep_fsync(&sqe, file, IORING_FSYNC_DATASYNC);
  io_uring_sqe_set_data64(&sqe, tagged(&op.done, kResult));
}

void UringIo::unlink(const char* path, Op& op) {
  op.done.mark_started();
  io_uring_sqe& sqe = next_sqe();
  io_uring_prep_unlinkat(&sqe, AT_FDCWD, path, 0);
  io_uring_sqe_set_data64(&sqe, tagged(&op.done, kResult));
}

bool UringIo::cached(FileFd file, uint64_t position, size_t length) {
  return page_cache_.cached(file, position, length);
}

}  // namespace pelton
