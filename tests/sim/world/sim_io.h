// SimIo: the Io of one shard of a simulated broker, over the world's clock, disk and network.
//
// Owner: the simulated process. Lifetime: after die() nothing is delivered any more; the object stays for
// as long as the dead shard, whose operations point here, is kept.
// Invariants: operations end in poll() alone; a poll does not wait: wants() says until when
// it would have.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "reactor/io.h"
#include "tests/sim/world/sim_disk.h"
#include "tests/sim/world/sim_network.h"
#include "tests/sim/world/world.h"

namespace pelton::sim {

class SimIo : public Io {
 public:
  struct Shape {
    uint32_t leases = 32;          // receive buffers
    uint32_t lease_bytes = 4096;
    double cached = 0.7;           // chance that a range is said to be in the page cache
    uint64_t sync_low_ns = 200 * kMicro;
    uint64_t sync_high_ns = 60 * kMilli;
  };

  SimIo(World& world, SimDisk& disk, SimNetwork& network, const Shape& shape);
  ~SimIo() override;

  void die() { dead_ = true; }
  // Polls really wait, with the world going on meanwhile: for what drains its operations at its end.
  void wait_in_poll(bool wait) { waits_ = wait; }
  // Until when the loop would sleep now: 0 = it would not, UINT64_MAX = for good.
  uint64_t wants() const;
  uint32_t leases_out() const { return static_cast<uint32_t>(lent_.size()); }

  // --- Io ---
  uint64_t now_ns() override { return world_.now_ns(); }
  int64_t wall_ms() override { return world_.wall_ms(); }
  uint64_t random() override { return world_.random(); }
  FileSystem& files() override { return disk_; }
  void poll(ReadyList& ready, std::optional<uint64_t> deadline_ns) override;
  void wake() override { woken_ = true; }
  Result<SocketFd> listen(const SocketAddress& address, int backlog) override;
  Result<SocketAddress> local_address(SocketFd socket) override;
  Result<SocketAddress> peer_address(SocketFd socket) override;
  void set_buffer_sizes(SocketFd, int, int) override {}
  void accept(SocketFd listener, AcceptOp& op) override;
  void stop_accept(AcceptOp& op) override;
  void recv(SocketFd socket, RecvOp& op) override;
  uint32_t lease_bytes() const override { return shape_.lease_bytes; }
  std::optional<Lease> lease() override;
  bool leases_are_scarce() const override { return lent_.size() + shape_.leases / 4 >= shape_.leases; }
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
  struct Acceptor;
  struct Socket {
    SimNetwork::ConnectionPtr connection;
    RecvOp* recv = nullptr;
    SendOp* send = nullptr;
    Op* writable = nullptr;
    bool shut_down = false;
    bool touched = false;  // in touched_
  };

  Socket& socket(SocketFd fd);
  // Another shard works with the socket from now on.
  void leave(SocketFd fd);
  void touch(SocketFd fd);
  void attempt(Socket& at);
  void attempt_recv(Socket& at);
  void attempt_send(Socket& at);
  Lease lend();
  void poll_acceptors();
  void deliver_accepted(Acceptor& acceptor);
  void finish_accept(Acceptor& acceptor);
  void start_sync(SimDisk::Sync sync, Op& op, uint64_t id);
  void end(Completion& completion, int64_t result);
  // Ends `completion` later with what `act` says then, unless the process has died.
  template <class Act>
  void end_later(Completion& completion, uint64_t delay_ns, Act act);

  World& world_;
  SimDisk& disk_;
  SimNetwork& network_;
  Shape shape_;
  bool dead_ = false;
  bool woken_ = false;
  bool waits_ = false;
  std::optional<uint64_t> deadline_ns_;
  ReadyList ended_;
  std::map<SocketFd, Socket> sockets_;
  std::vector<SocketFd> touched_;
  std::vector<std::unique_ptr<Acceptor>> acceptors_;
  // A buffer of its own for each lease, so that a use after its release is found.
  std::map<uint32_t, std::unique_ptr<uint8_t[]>> lent_;
  uint32_t next_lease_ = 0;
};

}  // namespace pelton::sim
