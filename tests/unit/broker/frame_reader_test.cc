// Frames out of a byte stream that arrives in pieces of any size, over real sockets.

#include "broker/net/frame_reader.h"

#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "reactor/loop.h"
#include "tests/support/poll_io.h"

namespace pelton::broker {
namespace {

constexpr uint32_t kMaxFrame = 3 * 1024 * 1024;

struct Sink : FrameSink {
  std::vector<std::string> frames;
  std::vector<const uint8_t*> data;
  std::vector<ReadEnd> ends;
  int parts = 0;
  FrameReader* reader = nullptr;
  bool pause_each = false;

  void on_frame(const FrameHold&, MutableBytes frame) override {
    frames.emplace_back(as_text(frame));
    data.push_back(frame.data());
    if (pause_each) reader->pause();
  }
  void on_part_of_frame() override { ++parts; }
  void on_read_end(ReadEnd end) override { ends.push_back(end); }
};

class FrameReaderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    int pair[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    here_ = pair[0];
    peer_ = pair[1];
    sink_.reader = &reader();
    reader().start();
  }
  void TearDown() override {
    reader().stop();
    ::shutdown(here_, SHUT_RDWR);
    for (int i = 0; i < 100 && !reader().idle(); ++i) loop_.run_turn(false);
    reader_.reset();
    ::close(here_);
    if (peer_ >= 0) ::close(peer_);
  }
  FrameReader& reader() {
    if (!reader_) reader_.emplace(io_, here_, pool_, sink_, kMaxFrame);
    return *reader_;
  }
  // Sends all of it while the loop turns.
  void send(std::string_view bytes) {
    while (!bytes.empty()) {
      ssize_t sent = ::send(peer_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent > 0) bytes.remove_prefix(static_cast<size_t>(sent));
      loop_.run_turn(false);
    }
    turn();
  }
  void turn() {
    for (int i = 0; i < 50; ++i) loop_.run_turn(false);
  }
  static std::string framed(const std::string& body) {
    std::string bytes(4, '\0');
    store_be(reinterpret_cast<uint8_t*>(bytes.data()), static_cast<int32_t>(body.size()));
    return bytes + body;
  }

  test::PollIo io_;
  Loop loop_{io_};
  BufferPool buffers_{loop_, 8 * 1024 * 1024, 1024 * 1024};
  ReceivePool pool_{io_, buffers_};
  Sink sink_;
  std::optional<FrameReader> reader_;
  int here_ = -1, peer_ = -1;
};

TEST_F(FrameReaderTest, FramesOfAnySizeInPiecesOfAnySize) {
  std::mt19937 random(7);
  std::vector<std::string> sent;
  std::string stream;
  for (size_t size : {10, 11, 300, 2'000, 16'380, 16'384, 16'385, 70'000, 500'000, 10, 2'900'000, 12}) {
    std::string body(size, '\0');
    for (char& c : body) c = static_cast<char>(random());
    stream += framed(body);
    sent.push_back(std::move(body));
  }
  for (size_t at = 0; at < stream.size();) {
    size_t piece = std::min<size_t>(1 + random() % 90'000, stream.size() - at);
    if (random() % 3 == 0) piece = std::min<size_t>(piece, 1 + random() % 5);
    send(std::string_view(stream).substr(at, piece));
    at += piece;
  }
  EXPECT_EQ(sink_.frames.size(), sent.size());
  EXPECT_TRUE(sink_.frames == sent);
  EXPECT_TRUE(sink_.ends.empty());
  EXPECT_EQ(reader().bytes_received(), stream.size());
}

TEST_F(FrameReaderTest, PauseKeepsTheRestForLater) {
  sink_.pause_each = true;
  send(framed("0123456789") + framed("abcdefghijk") + framed("ABCDEFGHIJKL"));
  EXPECT_EQ(sink_.frames, std::vector<std::string>({"0123456789"}));
  reader().resume();
  turn();
  EXPECT_EQ(sink_.frames.size(), 2u);
  sink_.pause_each = false;
  reader().resume();
  turn();
  EXPECT_EQ(sink_.frames.back(), "ABCDEFGHIJKL");
}

TEST_F(FrameReaderTest, SizesOutsideTheLimitsEndTheReading) {
  send(framed(std::string(10, 'x')) + std::string("\xff\xff\xff\xff", 4) + framed("0123456789"));
  EXPECT_EQ(sink_.frames.size(), 1u);
  EXPECT_EQ(sink_.ends, std::vector<ReadEnd>({ReadEnd::kBadFrameSize}));
}

TEST_F(FrameReaderTest, TooLargeAndTooSmallAreRefused) {
  std::string size(4, '\0');
  store_be(reinterpret_cast<uint8_t*>(size.data()), static_cast<int32_t>(kMaxFrame + 1));
  send(size);
  EXPECT_EQ(sink_.ends.size(), 1u);
  EXPECT_EQ(buffers_.used_bytes(), 0u);
}

TEST_F(FrameReaderTest, AnAnnouncedSizeCostsOnlyWhatArrives) {
  std::string size(4, '\0');
  store_be(reinterpret_cast<uint8_t*>(size.data()), static_cast<int32_t>(kMaxFrame));
  send(size);
  EXPECT_TRUE(reader().mid_frame());
  EXPECT_EQ(buffers_.used_bytes(), 0u);
}

TEST_F(FrameReaderTest, MemoryGrowsWithWhatArrivesAndLessWhenItIsShort) {
  std::string stream = framed(std::string(kMaxFrame, 'x'));
  size_t quarter = test::PollIo::kBufferSize;
  send(std::string_view(stream).substr(0, quarter));
  EXPECT_LE(buffers_.used_bytes(), 16 * quarter);
  send(std::string_view(stream).substr(quarter, 500'000));
  EXPECT_EQ(buffers_.used_bytes(), 4u * 1024 * 1024) << "the whole frame's";
  send(std::string_view(stream).substr(quarter + 500'000));
  EXPECT_EQ(sink_.frames.size(), 1u);
  EXPECT_EQ(buffers_.used_bytes(), 0u);

  auto half = buffers_.acquire(4 * 1024 * 1024);
  ASSERT_TRUE(half);
  send(std::string_view(stream).substr(0, 300'000));
  EXPECT_LE(buffers_.used_bytes(), 4u * 1024 * 1024 + 4 * 300'000);
  half->reset();
  send(std::string_view(stream).substr(300'000));
  EXPECT_EQ(sink_.frames.size(), 2u);
}

TEST_F(FrameReaderTest, TheRestOfAFrameIsReceivedBehindItsBeginning) {
  std::string stream = framed("0123456789") + framed(std::string(3'000, 'a'));
  send(std::string_view(stream).substr(0, 100));
  const uint8_t* first = sink_.data.at(0);
  for (size_t at = 100; at < stream.size(); at += 100) send(std::string_view(stream).substr(at, 100));
  ASSERT_EQ(sink_.frames.size(), 2u);
  EXPECT_EQ(sink_.data[1], first + 10 + 4);
}

TEST_F(FrameReaderTest, AFrameThatIsNotWholeLeavesScarceLeasesToOthers) {
  std::vector<Lease> taken;
  while (auto lease = io_.lease()) taken.push_back(*lease);
  ASSERT_TRUE(io_.leases_are_scarce());
  size_t free = io_.free_buffers();
  std::string stream = framed(std::string(3'000, 'a'));
  send(std::string_view(stream).substr(0, 100));
  EXPECT_TRUE(reader().mid_frame());
  EXPECT_EQ(io_.free_buffers(), free);
  EXPECT_GT(buffers_.used_bytes(), 0u);
  send(std::string_view(stream).substr(100));
  EXPECT_EQ(sink_.frames.size(), 1u);
  EXPECT_EQ(buffers_.used_bytes(), 0u);
  for (const Lease& lease : taken) io_.release(lease);
}

TEST_F(FrameReaderTest, WithoutMemoryForItTheFrameStaysInItsLease) {
  std::vector<Lease> taken;
  while (auto lease = io_.lease()) taken.push_back(*lease);
  auto all = buffers_.acquire(8 * 1024 * 1024);
  ASSERT_TRUE(all);
  std::string stream = framed(std::string(3'000, 'a'));
  send(std::string_view(stream).substr(0, 100));
  send(std::string_view(stream).substr(100));
  EXPECT_EQ(sink_.frames.size(), 1u);
  for (const Lease& lease : taken) io_.release(lease);
}

TEST_F(FrameReaderTest, AStoppedReaderHoldsNothing) {
  size_t free = io_.free_buffers();
  std::string stream = framed(std::string(3'000, 'a'));
  send(std::string_view(stream).substr(0, 100));
  EXPECT_LT(io_.free_buffers(), free);
  reader().stop();
  ::shutdown(here_, SHUT_RDWR);
  turn();
  EXPECT_EQ(io_.free_buffers(), free);
}

TEST_F(FrameReaderTest, WaitsWhileThePoolIsEmptyAndGoesOn) {
  auto all = buffers_.acquire(8 * 1024 * 1024);
  ASSERT_TRUE(all);
  int other = 0;
  ASSERT_TRUE(pool_.acquire_beyond(100, &other)) << "another one may pass the limit";
  std::string body(100'000, 'b');
  send(framed(body));
  EXPECT_TRUE(sink_.frames.empty());
  EXPECT_TRUE(sink_.ends.empty());
  all->reset();
  turn();
  ASSERT_EQ(sink_.frames.size(), 1u);
  EXPECT_TRUE(sink_.frames[0] == body);
}

// Both hold what the other one needs: one of them passes the limit, then there is room for the other.
TEST_F(FrameReaderTest, TwoThatGrowDoNotBlockEachOther) {
  int pair[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
  Sink other_sink;
  FrameReader other(io_, pair[0], pool_, other_sink, kMaxFrame);
  other.start();
  std::string stream = framed(std::string(2'900'000, 'x'));
  // More than half is in use: blocks grow by what has come.
  auto used = buffers_.acquire(4 * 1024 * 1024);
  ASSERT_TRUE(used);
  size_t sent[2] = {0, 0};
  int sockets[2] = {peer_, pair[1]};
  for (int idle = 0; idle < 200; ++idle) {
    for (int i = 0; i < 2; ++i) {
      ssize_t took = ::send(sockets[i], stream.data() + sent[i], std::min<size_t>(stream.size() - sent[i], 50'000),
                            MSG_NOSIGNAL);
      if (took <= 0) continue;
      sent[i] += static_cast<size_t>(took);
      idle = 0;
    }
    for (int i = 0; i < 5; ++i) loop_.run_turn(false);
    EXPECT_LE(buffers_.used_bytes(), (8u + 4) * 1024 * 1024) << "by one frame at most";
  }
  EXPECT_EQ(sink_.frames.size(), 1u);
  EXPECT_EQ(other_sink.frames.size(), 1u);
  EXPECT_EQ(buffers_.used_bytes(), 4u * 1024 * 1024);
  other.stop();
  ::shutdown(pair[0], SHUT_RDWR);
  turn();
  ::close(pair[0]);
  ::close(pair[1]);
}

TEST_F(FrameReaderTest, OneAtATimePassesTheLimit) {
  constexpr size_t kMiB = 1024 * 1024;
  int one = 0, two = 0;
  FrameHold large = pool_.acquire(4 * kMiB), larger = pool_.acquire(2 * kMiB);
  ASSERT_TRUE(large && larger);
  EXPECT_FALSE(pool_.acquire(2 * kMiB)) << "the last quarter is for small ones";
  FrameHold small = pool_.acquire(kMiB), smaller = pool_.acquire(kMiB);
  EXPECT_TRUE(small && smaller);
  EXPECT_FALSE(pool_.acquire(100'000));
  FrameHold beyond = pool_.acquire_beyond(2 * kMiB, &one);
  EXPECT_TRUE(beyond);
  EXPECT_FALSE(pool_.acquire_beyond(kMiB, &two));
  EXPECT_TRUE(pool_.acquire_beyond(4 * kMiB, &one)) << "again, until its frame is whole";
  pool_.end_growing(&two);
  EXPECT_FALSE(pool_.acquire_beyond(kMiB, &two));
  pool_.end_growing(&one);
  EXPECT_FALSE(pool_.acquire_beyond(kMiB, &two)) << "what the first has passed it by is in use";
  beyond.reset();
  EXPECT_TRUE(pool_.acquire_beyond(kMiB, &two));
}

TEST_F(FrameReaderTest, WhoIsStoppedWhileItWaitsHoldsNothing) {
  auto most = buffers_.acquire(8 * 1024 * 1024);
  ASSERT_TRUE(most);
  int other = 0;
  ASSERT_TRUE(pool_.acquire_beyond(100, &other));
  size_t free = io_.free_buffers();
  send(framed(std::string(100'000, 'b')));
  ASSERT_TRUE(reader().waits_for_buffer());
  EXPECT_LT(io_.free_buffers(), free);
  reader().stop();
  EXPECT_EQ(io_.free_buffers(), free);
  pool_.end_growing(&other);
}

TEST_F(FrameReaderTest, TellsOfFramesThatAreNotWhole) {
  std::string frame = framed("0123456789");
  send(frame);
  EXPECT_EQ(sink_.parts, 0);
  send(frame.substr(0, 2));
  EXPECT_EQ(sink_.parts, 1);
  send(frame.substr(2, 5));
  EXPECT_EQ(sink_.parts, 2);
  send(frame.substr(7));
  EXPECT_EQ(sink_.parts, 2);
  EXPECT_EQ(sink_.frames.size(), 2u);
  // What comes while nobody wants it is not late.
  reader().pause();
  send(frame + frame.substr(0, 3));
  EXPECT_EQ(sink_.parts, 2);
  reader().resume();
  turn();
  EXPECT_EQ(sink_.parts, 3);
  EXPECT_EQ(sink_.frames.size(), 3u);
}

TEST_F(FrameReaderTest, TellsTheEndOfThePeer) {
  send(framed("0123456789"));
  ::close(peer_);
  peer_ = -1;
  turn();
  EXPECT_EQ(sink_.frames.size(), 1u);
  EXPECT_EQ(sink_.ends, std::vector<ReadEnd>({ReadEnd::kPeerFinished}));
}

}  // namespace
}  // namespace pelton::broker
