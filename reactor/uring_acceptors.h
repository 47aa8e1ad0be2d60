// UringAcceptors: the listening sockets of one UringIo, each with a multishot accept.
//
// Owner shard: its Io's. Lifetime: a part of its Io, destroyed before the ring, from which nothing is
// taken any more.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "reactor/io.h"
#include "reactor/uring_ring.h"

namespace pelton {

class UringAcceptors {
 public:
  // `ended`: where completions go that the next poll hands out.
  UringAcceptors(UringRing& ring, ReadyList& ended);
  ~UringAcceptors();

  void accept(SocketFd listener, AcceptOp& op);
  // `op.done` runs once more with -ECANCELED.
  void stop(AcceptOp& op);

  // Before each poll: starts what is to be started.
  void arm_all();
  // When arm_all() has something to do again; nullopt = nothing waits for a time.
  std::optional<uint64_t> next_ns() const;
  // An entry of kind kAccept.
  void on_ended(const io_uring_cqe& entry);

 private:
  struct Acceptor;

  void arm(Acceptor& acceptor);
  void deliver(Acceptor& acceptor);
  void deliver_later(Acceptor& acceptor);
  void finish(Acceptor& acceptor);

  UringRing& ring_;
  ReadyList& ended_;
  std::vector<std::unique_ptr<Acceptor>> acceptors_;
};

}  // namespace pelton
