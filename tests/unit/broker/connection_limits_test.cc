// A whole broker whose limits are asked by real connections; what a client cannot see is looked at between turns.

#include "broker/net/connection_limits.h"

#include <sys/resource.h>

#include "broker/net/connection_set.h"
#include "broker/net/request_memory.h"
#include "tests/unit/broker/served_broker.h"

namespace pelton::broker {
namespace {

class ConnectionLimitsTest : public ::testing::Test, protected test::ServedBroker {
 protected:
  ~ConnectionLimitsTest() override {
    for (int socket : sockets_) ::close(socket);
  }
  int connect_one_more() {
    int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port());
    EXPECT_EQ(::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    sockets_.push_back(socket);
    return socket;
  }
  void drop(int socket) {
    std::erase(sockets_, socket);
    ::close(socket);
  }
  bool closed_by_broker(int socket) {
    char byte;
    return ::recv(socket, &byte, 1, MSG_DONTWAIT) == 0;
  }
  ConnectionLimits& limits() { return *server->shard(kCatalogShard).connection_limits; }
  ConnectionLimits::ListenerCount count() { return limits().listener_counts().front(); }
  size_t open() {
    return server->shard(0).connections->open_connections() + server->shard(1).connections->open_connections();
  }
  uint64_t closed_because(CloseReason reason) {
    uint64_t closed = 0;
    for (ShardId id = 0; id < 2; ++id)
      closed += server->shard(id).counters.connections_closed[static_cast<size_t>(reason)];
    return closed;
  }

  std::vector<int> sockets_;
};

TEST_F(ConnectionLimitsTest, CountsAreThoseOfAllShards) {
  start();
  turn_until([&] { return count().connections == 1; });
  for (int i = 0; i < 40; ++i) connect_one_more();
  turn_until([&] { return open() == 41; });
  EXPECT_EQ(count().connections, 41u);
  for (int i = 0; i < 40; ++i) drop(sockets_.back());
  turn_until([&] { return count().connections == 1; });
  EXPECT_EQ(open(), 1u);
  EXPECT_EQ(closed_because(CloseReason::kClient), 40u);
}

TEST_F(ConnectionLimitsTest, WhoWaitsGetsThePlaceInHisTurn) {
  config.connection_limits.all.max_connections = 2;
  start();
  connect_one_more();
  turn_until([&] { return open() == 2; });
  connect_one_more();
  turn_until([&] { return count().waiting == 1; });
  connect_one_more();
  turn_until([&] { return count().waiting == 2; });
  EXPECT_EQ(limits().waited(), 2u);
  drop(sockets_.front());
  turn_until([&] { return count().waiting == 1; });
  turn_until([&] { return open() == 2; });
  EXPECT_EQ(count().connections, 2u);
}

TEST_F(ConnectionLimitsTest, AStopDoesNotWaitForThoseInLine) {
  config.connection_limits.all.max_connections = 1;
  start();
  turn_until([&] { return open() == 1; });
  int waiting = connect_one_more();
  turn_until([&] { return count().waiting == 1; });
  EXPECT_TRUE(stop());
  EXPECT_TRUE(closed_by_broker(waiting));
}

TEST_F(ConnectionLimitsTest, ConnectionsBeyondTheDescriptorsWait) {
  start();
  EXPECT_GT(limits().most(), 0u);
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_LT(limits().most(), limit.rlim_cur * 3 / 4);
}

TEST(RequestMemory, TellsWhoWaitsWhenThereIsRoomAgain) {
  pelton::test::PollIo io;
  Loop loop(io);
  RequestMemory memory(loop, 100'000);
  size_t one = 0, two = 0;
  memory.charge(one, 60'000);
  EXPECT_EQ(memory.left(), RequestMemory::kLeast);
  EXPECT_FALSE(memory.is_short());
  memory.charge(two, 40'000);
  EXPECT_TRUE(memory.is_short());
  struct Waiter {
    void told(int32_t) { ++times; }
    int times = 0;
    BufferWaiter waiter{Completion::bind<&Waiter::told>(this)};
  } waits;
  memory.wait(waits.waiter);
  memory.charge(two, 40'001);
  loop.run_turn(false);
  EXPECT_EQ(waits.times, 0);
  memory.charge(two, 39'999);
  loop.run_turn(false);
  loop.run_turn(false);
  EXPECT_EQ(waits.times, 1);
  memory.charge(one, 0);
  memory.charge(two, 0);
  EXPECT_EQ(memory.used_bytes(), 0u);
}

}  // namespace
}  // namespace pelton::broker
