#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "reactor/loop.h"
#include "tests/sim/world/sim_io.h"

namespace pelton::sim {
namespace {

// One shard's Io in a world of its own.
struct Machine {
  explicit Machine(uint64_t seed) : world(seed), disk(world), network(world), io(world, disk, network, {}) {}

  // Turns the world until `done`, or for 10 virtual seconds.
  template <class Done>
  bool run(Done done) {
    uint64_t end = world.now_ns() + 10 * kSecond;
    while (world.now_ns() < end) {
      world.fire_due();
      ReadyList ready;
      io.poll(ready, std::nullopt);
      while (!ready.empty()) {
        Completion& completion = ready.front();
        ready.pop_front();
        completion.run();
      }
      if (done()) return true;
      world.advance_to(std::min(world.next_event_ns(), world.now_ns() + kMilli));
    }
    return false;
  }

  World world;
  SimDisk disk;
  SimNetwork network;
  SimIo io;
};

// Keeps the result of one operation.
struct Ended {
  void on_done(int32_t value) {
    result = value;
    ++times;
  }
  int32_t result = 0;
  int times = 0;
};

// A listener, one client of it, and the descriptor that was accepted.
struct Served {
  explicit Served(Machine& on) : machine(on), accept(Completion::bind<&Served::on_accept>(this)) {
    listener = *machine.io.listen({"127.0.0.1", 9092}, 10);
    machine.io.accept(listener, accept);
    client = machine.network.connect(9092);
    EXPECT_TRUE(machine.run([this] { return socket >= 0; }));
  }
  ~Served() {
    if (socket >= 0) machine.io.close(socket);
    machine.io.stop_accept(accept);
    EXPECT_TRUE(machine.run([this] { return stopped; }));
    machine.io.close(listener);
  }
  void on_accept(int32_t result) {
    if (result >= 0)
      socket = result;
    else
      stopped = true;
  }

  Machine& machine;
  SocketFd listener = -1;
  SocketFd socket = -1;
  bool stopped = false;
  AcceptOp accept;
  SimNetwork::ConnectionPtr client;
};

TEST(SimIo, AcceptsReceivesAndLends) {
  Machine machine(1);
  Served served(machine);
  EXPECT_EQ(machine.io.local_address(served.socket)->port, 9092);
  std::string text = "a request";
  iovec piece{text.data(), text.size()};
  std::string got;
  Ended ended;
  RecvOp op(Completion::bind<&Ended::on_done>(&ended));
  EXPECT_GT(served.client->send(Side::kClient, &piece, 1), 0);
  machine.io.recv(served.socket, op);
  EXPECT_EQ(ended.times, 0) << "never inside the call";
  ASSERT_TRUE(machine.run([&] { return ended.times == 1; }));
  ASSERT_GT(ended.result, 0);
  EXPECT_EQ(text.substr(0, op.lease.size), as_text({op.lease.data, op.lease.size}));
  machine.io.release(op.lease);
  EXPECT_EQ(machine.io.leases_out(), 0u);
}

TEST(SimIo, BytesArriveWholeAndInOrderThroughSmallBuffers) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    Machine machine(seed);
    Served served(machine);
    std::string text;
    for (int i = 0; text.size() < 300'000; ++i) text += std::to_string(i);
    size_t sent = 0;
    std::string got;
    uint8_t buffer[3000];
    bool whole = machine.run([&] {
      iovec piece{text.data() + sent, text.size() - sent};
      int64_t taken = machine.io.try_send(served.socket, &piece, 1, false);
      if (taken > 0) sent += static_cast<size_t>(taken);
      for (int64_t n; (n = served.client->recv(Side::kClient, buffer)) > 0;)
        got.append(reinterpret_cast<char*>(buffer), static_cast<size_t>(n));
      return got.size() == text.size();
    });
    EXPECT_TRUE(whole) << "seed " << seed;
    EXPECT_EQ(got, text) << "seed " << seed;
  }
}

TEST(SimIo, FinishAndResetAreTold) {
  Machine machine(2);
  {
    Served served(machine);
    Ended ended;
    RecvOp op(Completion::bind<&Ended::on_done>(&ended));
    machine.io.recv(served.socket, op);
    served.client->finish(Side::kClient);
    ASSERT_TRUE(machine.run([&] { return ended.times == 1; }));
    EXPECT_EQ(ended.result, 0);
  }
  {
    Served served(machine);
    Ended ended;
    RecvOp op(Completion::bind<&Ended::on_done>(&ended));
    machine.io.recv(served.socket, op);
    served.client->reset(Side::kClient);
    ASSERT_TRUE(machine.run([&] { return ended.times == 1; }));
    EXPECT_EQ(ended.result, -ECONNRESET);
  }
}

TEST(SimIo, ShutdownEndsWhatIsPending) {
  Machine machine(3);
  Served served(machine);
  Ended received;
  RecvOp op(Completion::bind<&Ended::on_done>(&received));
  machine.io.recv(served.socket, op);
  machine.io.shutdown(served.socket);
  ASSERT_TRUE(machine.run([&] { return received.times == 1; }));
  EXPECT_EQ(received.result, 0);
  uint8_t byte[1];
  ASSERT_TRUE(machine.run([&] { return served.client->readable(Side::kClient); }));
  EXPECT_EQ(served.client->recv(Side::kClient, byte), 0);
}

TEST(SimIo, NobodyListens) {
  Machine machine(4);
  auto client = machine.network.connect(1);
  EXPECT_TRUE(machine.run([&] { return client->broken(Side::kClient); }));
}

TEST(SimIo, SyncTakesTimeAndMakesDurable) {
  Machine machine(5);
  ASSERT_TRUE(write_file_atomically(machine.disk, "/a", ""));
  FileFd fd = *machine.disk.open("/a", OpenMode::kReadWrite);
  char text[] = "kept";
  iovec piece{text, 4};
  ASSERT_TRUE(machine.disk.pwritev(fd, &piece, 1, 0));
  Ended ended;
  Op op(Completion::bind<&Ended::on_done>(&ended));
  uint64_t began = machine.world.now_ns();
  machine.io.sync(fd, op);
  ASSERT_TRUE(machine.run([&] { return ended.times == 1; }));
  EXPECT_EQ(ended.result, 0);
  EXPECT_GT(machine.world.now_ns(), began);
  machine.disk.crash(CrashKind::kPowerLoss);
  EXPECT_EQ(*read_file(machine.disk, "/a", 100), "kept");
}

TEST(SimIo, SyncErrorsAreTold) {
  Machine machine(6);
  machine.disk.faults.sync_error = 1.0;
  FileFd fd = *machine.disk.open("/a", OpenMode::kCreate);
  Ended ended;
  Op op(Completion::bind<&Ended::on_done>(&ended));
  machine.io.sync(fd, op);
  ASSERT_TRUE(machine.run([&] { return ended.times == 1; }));
  EXPECT_EQ(ended.result, -EIO);
}

// A process that was killed gets nothing any more; its Io must not be destroyed.
TEST(SimIo, TheDeadAreToldNothing) {
  World world(7);
  SimDisk disk(world);
  SimNetwork network(world);
  static SimIo* dead = nullptr;
  static Ended* ended = nullptr;
  static Op* op = nullptr;
  dead = new SimIo(world, disk, network, {});
  ended = new Ended;
  op = new Op(Completion::bind<&Ended::on_done>(ended));
  dead->sync(*disk.open("/a", OpenMode::kCreate), *op);
  dead->die();
  disk.crash(CrashKind::kProcessKill);
  world.advance_to(world.now_ns() + kSecond);
  world.fire_due();
  EXPECT_FALSE(op->done.is_linked());
  EXPECT_EQ(ended->times, 0);
}

TEST(World, SameSeedSameRun) {
  auto hash = [](uint64_t seed) {
    Machine machine(seed);
    Served served(machine);
    (void)machine.run([&] { return machine.world.now_ns() > 3 * kSecond; });
    return machine.world.trace_hash();
  };
  EXPECT_EQ(hash(8), hash(8));
  EXPECT_NE(hash(8), hash(9));
}

}  // namespace
}  // namespace pelton::sim
