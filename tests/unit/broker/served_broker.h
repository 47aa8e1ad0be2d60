// A whole broker in the test's process, on the poll backend and real files, and a client that speaks to it over
// a socket. The test's thread turns all loops, so everything may be looked at between requests.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "broker/partition_set.h"
#include "broker/server.h"
#include "proto/frame.h"
#include "proto/messages/create_topics.h"
#include "tests/support/poll_io.h"
#include "tests/unit/reactor/temp_dir.h"

namespace pelton::broker::test {

class ServedBroker {
 public:
  explicit ServedBroker(int shards = 2) : shards_(shards) { config.log_dir = data(); }
  virtual ~ServedBroker() {
    if (server != nullptr) stop();
  }

  std::string data() const { return directory_.path() + "/data"; }

  void start() {
    port_ = free_port();
    config.listeners = {{.name = "PLAINTEXT", .bind = {"127.0.0.1", port_}}};
    std::vector<Io*> ios;
    for (int i = 0; i < shards_; ++i) {
      ios_.push_back(make_io());
      ios.push_back(ios_.back().get());
    }
    auto opened = Server::open(config, ios, {.load_in_threads = false, .shuffle = true});
    ASSERT_TRUE(opened.has_value()) << opened.error();
    server = std::move(*opened);
    auto listening = server->listen();
    ASSERT_TRUE(listening.has_value()) << listening.error();
    connect();
  }
  // True: it stopped in order.
  bool stop() {
    disconnect();
    server->request_stop();
    turn_until([&] {
      for (Shard* shard : server->shards())
        if (!shard->loop().stopped()) return false;
      return true;
    });
    bool clean = server->stopped_clean();
    end();
    return clean;
  }
  // As if the process had ended without a word: the next start finds the files as they are now.
  void crash() {
    std::string now = directory_.path() + "/now";
    std::filesystem::copy(data(), now, std::filesystem::copy_options::recursive);
    stop();
    std::filesystem::remove_all(data());
    std::filesystem::rename(now, data());
  }

  template <class Done>
  void turn_until(Done&& done) {
    for (int turn = 0; turn < 200'000; ++turn) {
      if (done()) return;
      for (Shard* shard : server->shards())
        if (!shard->loop().stopped()) shard->loop().run_turn(false);
    }
    FAIL() << "nothing more happens";
  }

  // Sends a request and waits for its answer, whose views live until the next call.
  template <class Response, class Request>
  Response call(const Request& request, int16_t version) {
    Response response;
    send(request, version);
    receive(response, version);
    return response;
  }

  template <class Request>
  void send(const Request& request, int16_t version) {
    auto key = static_cast<int16_t>(Request::kApiKey);
    constexpr std::string_view kClient = "test";
    size_t head = proto::request_header_size(key, version, kClient);
    std::vector<uint8_t> frame(proto::kFrameSizeBytes + head + request.size(version));
    proto::WireWriter out(frame);
    out.write_i32(static_cast<int32_t>(frame.size() - proto::kFrameSizeBytes));
    proto::write_request_header(out, key, version, ++correlation_, kClient);
    request.encode(out, version);
    ASSERT_EQ(::send(socket_, frame.data(), frame.size(), 0), static_cast<ssize_t>(frame.size()));
  }

  template <class Response>
  void receive(Response& response, int16_t version) {
    received_.clear();
    turn_until([&] {
      std::array<uint8_t, 65536> piece;
      ssize_t got = ::recv(socket_, piece.data(), piece.size(), MSG_DONTWAIT);
      if (got > 0) received_.insert(received_.end(), piece.begin(), piece.begin() + got);
      return received_.size() >= 4 && received_.size() >= 4 + load_be<uint32_t>(received_.data());
    });
    arena_.reset(64 << 20);
    size_t head = proto::response_header_size(static_cast<int16_t>(Response::kApiKey), version);
    proto::WireReader in(Bytes(received_).subspan(proto::kFrameSizeBytes + head), arena_);
    response.decode(in, version);
    ASSERT_TRUE(in.ok());
  }

  void create_topic(std::string_view name, int32_t partitions = 1,
                    std::vector<std::pair<std::string_view, std::string_view>> configs = {}) {
    std::vector<proto::CreateTopicsRequest::CreatableTopicConfig> rows;
    for (auto [key, value] : configs) rows.push_back({.name = key, .value = value});
    proto::CreateTopicsRequest::CreatableTopic topic{
        .name = name, .num_partitions = partitions, .replication_factor = 1, .configs = rows};
    proto::CreateTopicsRequest request;
    request.topics = {&topic, 1};
    request.timeout_ms = 10'000;
    auto answer = call<proto::CreateTopicsResponse>(request, 7);
    ASSERT_EQ(answer.topics.size(), 1u);
    ASSERT_EQ(answer.topics[0].error_code, 0);
  }

  Partition& partition(std::string_view topic, int32_t index = 0) {
    const PartitionInfo* info = server->shard(0).catalog->find_partition(topic, index);
    return *server->shard(info->shard).partitions->find(server->shard(0).catalog->find(topic)->id, index);
  }

  uint16_t port() const { return port_; }

  BrokerConfig config;
  std::unique_ptr<Server> server;

 protected:
  virtual std::unique_ptr<pelton::test::PollIo> make_io() {
    return std::make_unique<pelton::test::PollIo>();
  }

 private:
  static uint16_t free_port() {
    int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    socklen_t size = sizeof address;
    EXPECT_EQ(::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size), 0);
    ::close(socket);
    return ntohs(address.sin_port);
  }
  void connect() {
    socket_ = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port_);
    ASSERT_EQ(::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  void disconnect() {
    if (socket_ >= 0) ::close(socket_);
    socket_ = -1;
  }
  void end() {
    server.reset();
    ios_.clear();
  }

  int shards_;
  pelton::test::TempDir directory_;
  std::vector<std::unique_ptr<pelton::test::PollIo>> ios_;
  uint16_t port_ = 0;
  int socket_ = -1;
  int32_t correlation_ = 0;
  std::vector<uint8_t> received_;
  proto::Arena arena_{64 << 20};
};

}  // namespace pelton::broker::test
