#include "reactor/uring_acceptors.h"

#include <algorithm>
#include <utility>

#include <unistd.h>

#include "reactor/base/check.h"
#include "reactor/posix_sockets.h"
#include "reactor/uring_entry.h"

namespace pelton {
namespace {

// After an error that lasts (no descriptor, no memory) accepting starts again this much later.
constexpr uint64_t kPauseNs = 50'000'000;

bool lasts(int32_t error) {
  return error == -EMFILE || error == -ENFILE || error == -ENOBUFS || error == -ENOMEM;
}

}  // namespace

// One listening socket. The kernel may accept several connections between two polls; they wait in
// `results` and reach the op one after the other.
struct UringAcceptors::Acceptor {
  Acceptor(UringAcceptors* its_all, SocketFd listening, AcceptOp* to)
      : all(its_all), listener(listening), op(to), delivered(Completion::bind<&Acceptor::run>(this)) {}

  void run(int32_t) { all->deliver(*this); }

  UringAcceptors* all;
  SocketFd listener;
  AcceptOp* op;
  Completion delivered;
  std::vector<int32_t> results;
  uint64_t not_before_ns = 0;
  bool armed = false;
  bool stopping = false;
  bool delivering = false;
};

UringAcceptors::UringAcceptors(UringRing& ring, ReadyList& ended) : ring_(ring), ended_(ended) {}
UringAcceptors::~UringAcceptors() = default;

void UringAcceptors::accept(SocketFd listener, AcceptOp& op) {
  op.done.mark_started();
  acceptors_.push_back(std::make_unique<Acceptor>(this, listener, &op));
}

void UringAcceptors::arm_all() {
  for (const auto& acceptor : acceptors_) {
    if (acceptor->armed || acceptor->stopping) continue;
    if (acceptor->not_before_ns == 0 || acceptor->not_before_ns <= posix::monotonic_ns()) arm(*acceptor);
  }
}

std::optional<uint64_t> UringAcceptors::next_ns() const {
  std::optional<uint64_t> next;
  for (const auto& acceptor : acceptors_)
    if (!acceptor->armed && !acceptor->stopping)
      next = std::min(next.value_or(UINT64_MAX), acceptor->not_before_ns);
  return next;
}

void UringAcceptors::arm(Acceptor& acceptor) {
  io_uring_sqe& sqe = ring_.next();
  io_uring_prep_multishot_accept(&sqe, acceptor.listener, nullptr, nullptr,
                                 SOCK_NONBLOCK | SOCK_CLOEXEC);
  io_uring_sqe_set_data64(&sqe, uring_data(&acceptor, UringKind::kAccept));
  acceptor.armed = true;
  acceptor.not_before_ns = 0;
}

void UringAcceptors::on_ended(const io_uring_cqe& entry) {
  auto& acceptor = uring_target<Acceptor>(entry.user_data);
  if ((entry.flags & IORING_CQE_F_MORE) == 0) {
    acceptor.armed = false;
    if (lasts(entry.res)) acceptor.not_before_ns = posix::monotonic_ns() + kPauseNs;
  }
  acceptor.results.push_back(entry.res);
  if (!acceptor.delivered.pending()) deliver_later(acceptor);
}

void UringAcceptors::deliver_later(Acceptor& acceptor) {
  acceptor.delivered.mark_started();
  acceptor.delivered.set_result(0);
  ended_.push_back(acceptor.delivered);
}

void UringAcceptors::deliver(Acceptor& acceptor) {
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
  if (acceptor.stopping && !acceptor.armed && !acceptor.delivered.pending()) finish(acceptor);
}

void UringAcceptors::stop(AcceptOp& op) {
  auto found = std::find_if(acceptors_.begin(), acceptors_.end(),
                            [&](const auto& one) { return one->op == &op; });
  CHECK(found != acceptors_.end(), "stopped an accept that does not run");
  Acceptor& acceptor = **found;
  if (acceptor.stopping) return;
  acceptor.stopping = true;
  if (acceptor.armed) {
    io_uring_sqe& sqe = ring_.next();
    io_uring_prep_cancel64(&sqe, uring_data(&acceptor, UringKind::kAccept), 0);
    io_uring_sqe_set_data64(&sqe, static_cast<uint64_t>(UringKind::kIgnored));
  } else if (!acceptor.delivering && !acceptor.delivered.pending()) {
    deliver_later(acceptor);
  }
}

void UringAcceptors::finish(Acceptor& acceptor) {
  auto found = std::find_if(acceptors_.begin(), acceptors_.end(),
                            [&](const auto& one) { return one.get() == &acceptor; });
  std::unique_ptr<Acceptor> last = std::move(*found);  // it runs: it lives until the end of this call
  acceptors_.erase(found);
  last->op->done.set_result(-ECANCELED);
  last->op->done.run();
}

}  // namespace pelton
