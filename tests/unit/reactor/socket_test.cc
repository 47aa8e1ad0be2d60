#include "reactor/socket.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/reactor/backends.h"
#include "tests/unit/reactor/temp_dir.h"

namespace pelton {
namespace {

using test::Client;
using testing::ElementsAre;

constexpr uint64_t kSecond = 1'000'000'000;

std::string pattern(size_t size, uint32_t seed) {
  std::string text(size, '\0');
  for (char& c : text) c = static_cast<char>((seed = seed * 1664525 + 1013904223) >> 24);
  return text;
}

// A reply of the test's own: keeps its bytes, and what its end was.
struct Answer {
  explicit Answer(std::string text) : bytes(std::move(text)) {}
  void on_end(SendEnd how) {
    ends.push_back(how);
    if (then != nullptr) then(*this);
  }
  std::string bytes;
  std::vector<SendEnd> ends;
  SendReply reply = SendReply::bind<&Answer::on_end>(this);
  void (*then)(Answer&) = nullptr;
  SendQueue* queue = nullptr;
};

// One connection of a loop over any Io.
class Harness {
 public:
  explicit Harness(std::unique_ptr<Io> io) : io_(std::move(io)), loop_(*io_) {
    SocketFd listener = io_->listen({"127.0.0.1", 0}, 16).value();
    test::Results accepted;
    AcceptOp op(accepted.completion());
    io_->accept(listener, op);
    client_ = std::make_unique<Client>(io_->local_address(listener)->port);
    turn_until([&] { return !accepted.empty(); });
    socket_ = accepted.last();
    io_->set_buffer_sizes(socket_, 64 * 1024, 0);  // full soon
    io_->stop_accept(op);
    turn_until([&] { return accepted.last() == -ECANCELED; });
    io_->close(listener);
  }
  ~Harness() {
    queue_.reset();
    io_->close(socket_);
    for (FileFd file : files_) io_->close(file);
  }

  SendQueue& open(SendPath path, size_t buffer_limit = 1 << 20) {
    pool_ = std::make_unique<BufferPool>(loop_, buffer_limit, 1 << 20);
    SendOptions options;
    options.path = path;
    options.buffers = pool_.get();
    queue_ = std::make_unique<SendQueue>(loop_, socket_, options);
    return *queue_;
  }

  FileFd make_file(const std::string& text) {
    FileFd fd = io_->files().open(dir_ / std::to_string(files_.size()), OpenMode::kCreate).value();
    iovec piece{const_cast<char*>(text.data()), text.size()};
    CHECK(io_->files().pwritev(fd, &piece, 1, 0).has_value());
    files_.push_back(fd);
    return fd;
  }

  template <class Done>
  void turn_until(Done done) {
    uint64_t limit = io_->now_ns() + 20 * kSecond;
    struct Tick {
      void fire() {}
      Timer timer = Timer::bind<&Tick::fire>(this);
    } tick;
    while (!done()) {
      CHECK(io_->now_ns() < limit, "nothing more happens");
      loop_.timers().start(tick.timer, io_->now_ns() + 5'000'000);
      loop_.run_turn(true);
    }
  }

  // Turns the loop while the client reads `count` bytes.
  std::string collect(size_t count) {
    std::string got;
    turn_until([&] {
      got += client_->take(count - got.size());
      return got.size() == count;
    });
    return got;
  }

  Io& io() { return *io_; }
  Loop& loop() { return loop_; }
  Client& client() { return *client_; }
  SendQueue& queue() { return *queue_; }
  BufferPool& pool() { return *pool_; }
  SocketFd socket() const { return socket_; }

 private:
  test::TempDir dir_;
  std::unique_ptr<Io> io_;
  Loop loop_;
  std::unique_ptr<Client> client_;
  SocketFd socket_ = -1;
  std::unique_ptr<BufferPool> pool_;
  std::unique_ptr<SendQueue> queue_;
  std::vector<FileFd> files_;
};

class SocketTest : public testing::TestWithParam<test::Backend> {
 protected:
  Harness here_{GetParam().make()};
};

INSTANTIATE_TEST_SUITE_P(Every, SocketTest, testing::ValuesIn(test::kBackends), test::name_of);

TEST_P(SocketTest, RepliesOfOneTurnGoOutInOrder) {
  SendQueue& queue = here_.open(SendPath::kAuto);
  std::deque<Answer> answers;
  std::string all;
  for (uint32_t i = 0; i < 100; ++i) {
    Answer& answer = answers.emplace_back(pattern(1 + i * 13 % 50, i));
    all += answer.bytes;
    queue.push(as_bytes(answer.bytes));
    queue.end_reply(answer.reply);
    EXPECT_TRUE(answer.ends.empty());
  }
  EXPECT_EQ(queue.queued_bytes(), all.size());
  queue.flush();
  EXPECT_EQ(here_.collect(all.size()), all);
  here_.turn_until([&] { return queue.idle(); });
  for (Answer& answer : answers) EXPECT_THAT(answer.ends, ElementsAre(SendEnd::kSent));
  EXPECT_EQ(queue.queued_bytes(), 0u);
}

TEST_P(SocketTest, MixedPiecesArriveAsTheyAreByEveryWay) {
  for (SendPath path : {SendPath::kAuto, SendPath::kSendfile, SendPath::kCopy}) {
    SendQueue& queue = here_.open(path);
    std::string data = pattern(1'000'000, 77);
    FileFd file = here_.make_file(data);
    std::deque<Answer> answers;
    std::string all;
    for (uint32_t i = 0; i < 8; ++i) {
      Answer& answer = answers.emplace_back(pattern(40, i));
      uint64_t position = i * 1001, length = i == 3 ? 900'000 : i * 4099;
      std::string_view bytes = answer.bytes;
      queue.push(as_bytes(bytes.substr(0, 30)));
      queue.push(file, position, length);
      queue.push(file, 5, i % 2);
      queue.push(as_bytes(bytes.substr(30)));
      queue.end_reply(answer.reply);
      all += answer.bytes.substr(0, 30) + data.substr(position, length) + data.substr(5, i % 2) +
             answer.bytes.substr(30);
    }
    queue.flush();
    EXPECT_TRUE(here_.collect(all.size()) == all) << "way " << static_cast<int>(path);
    here_.turn_until([&] { return queue.idle(); });
    for (Answer& answer : answers) EXPECT_THAT(answer.ends, ElementsAre(SendEnd::kSent));
    EXPECT_EQ(here_.pool().used_bytes(), 0u);
    // Which way kAuto goes depends on the page cache: the scripted tests below look at that.
    if (path == SendPath::kCopy) {
      EXPECT_EQ(queue.counters().sendfile_bytes, 0u);
    }
    if (path == SendPath::kSendfile) {
      EXPECT_EQ(queue.counters().read_bytes, 0u);
    }
  }
}

TEST_P(SocketTest, ASlowReaderGetsEverything) {
  SendQueue& queue = here_.open(SendPath::kAuto);
  std::string data = pattern(3'000'000, 5);
  FileFd file = here_.make_file(data);
  Answer answer("header");
  queue.push(as_bytes(answer.bytes));
  queue.push(file, 0, data.size());
  queue.end_reply(answer.reply);
  queue.flush();
  for (int i = 0; i < 20; ++i) here_.loop().run_turn(false);
  EXPECT_TRUE(answer.ends.empty()) << "3 MB cannot fit the socket";
  EXPECT_GT(queue.queued_bytes(), 0u);
  std::string got;
  std::thread reader([&] { got = here_.client().receive(data.size() + 6); });
  here_.turn_until([&] { return queue.idle(); });
  reader.join();
  EXPECT_TRUE(got == "header" + data);
  EXPECT_THAT(answer.ends, ElementsAre(SendEnd::kSent));
}

TEST_P(SocketTest, AnEmptyReplyEndsInOrder) {
  SendQueue& queue = here_.open(SendPath::kAuto);
  Answer first("first"), empty(""), last("last");
  queue.push(as_bytes(first.bytes));
  queue.end_reply(first.reply);
  queue.push(as_bytes(empty.bytes));
  queue.end_reply(empty.reply);
  queue.flush();
  EXPECT_EQ(here_.collect(5), "first");
  here_.turn_until([&] { return queue.idle(); });
  EXPECT_THAT(empty.ends, ElementsAre(SendEnd::kSent));
  queue.end_reply(last.reply);
  queue.flush();
  EXPECT_THAT(last.ends, ElementsAre(SendEnd::kSent));
}

TEST_P(SocketTest, AnEndMayPushAndFlush) {
  SendQueue& queue = here_.open(SendPath::kAuto);
  Answer first("first"), second("second");
  static Answer* next;
  next = &second;
  first.queue = &queue;
  first.then = [](Answer& self) {
    self.queue->push(as_bytes(next->bytes));
    self.queue->end_reply(next->reply);
    self.queue->flush();
  };
  queue.push(as_bytes(first.bytes));
  queue.end_reply(first.reply);
  queue.flush();
  EXPECT_EQ(here_.collect(11), "firstsecond");
  here_.turn_until([&] { return queue.idle(); });
  EXPECT_THAT(second.ends, ElementsAre(SendEnd::kSent));
}

TEST_P(SocketTest, APeerThatResetsIsThePeersFault) {
  for (bool with_file : {false, true}) {
    Harness here(GetParam().make());
    SendQueue& queue = here.open(SendPath::kSendfile);
    std::string data = pattern(2'000'000, 5);
    FileFd file = here.make_file(data);
    Answer first("a"), second("b"), third("c");
    if (with_file)
      queue.push(file, 0, data.size());
    else
      queue.push(as_bytes(data));
    queue.end_reply(first.reply);
    queue.push(as_bytes(second.bytes));
    queue.end_reply(second.reply);
    queue.flush();
    for (int i = 0; i < 5; ++i) here.loop().run_turn(false);
    here.client().reset();
    here.turn_until([&] { return queue.idle(); });
    EXPECT_THAT(first.ends, ElementsAre(SendEnd::kPeerFailed));
    EXPECT_THAT(second.ends, ElementsAre(SendEnd::kDropped));
    EXPECT_TRUE(queue.failed());
    queue.push(as_bytes(third.bytes));
    queue.end_reply(third.reply);
    EXPECT_THAT(third.ends, ElementsAre(SendEnd::kDropped));
    EXPECT_EQ(here.pool().used_bytes(), 0u);
  }
}

TEST_P(SocketTest, AFileThatEndsTooSoonIsTheDisksFault) {
  for (SendPath path : {SendPath::kAuto, SendPath::kSendfile, SendPath::kCopy}) {
    Harness here(GetParam().make());
    SendQueue& queue = here.open(path);
    FileFd file = here.make_file("0123456789");
    Answer answer("head");
    queue.push(as_bytes(answer.bytes));
    queue.push(file, 5, 10);
    queue.end_reply(answer.reply);
    queue.flush();
    here.turn_until([&] { return queue.idle(); });
    EXPECT_THAT(answer.ends, ElementsAre(SendEnd::kDiskFailed));
  }
}

TEST_P(SocketTest, AbortEndsEverythingOnceTheKernelLetsGo) {
  SendQueue& queue = here_.open(SendPath::kAuto);
  std::string data = pattern(2'000'000, 5);
  Answer first("a"), second("b");
  queue.push(as_bytes(data));
  queue.end_reply(first.reply);
  queue.push(as_bytes(second.bytes));
  queue.end_reply(second.reply);
  queue.flush();
  here_.loop().run_turn(false);
  for (int i = 0; i < 5; ++i) here_.loop().run_turn(false);
  here_.io().shutdown(here_.socket());
  queue.abort();
  here_.turn_until([&] { return queue.idle(); });
  EXPECT_EQ(first.ends.size(), 1u);
  EXPECT_NE(first.ends[0], SendEnd::kSent);
  EXPECT_THAT(second.ends, ElementsAre(SendEnd::kDropped));
}

TEST_P(SocketTest, AbortOfAnIdleQueueTellsAtOnce) {
  SendQueue& queue = here_.open(SendPath::kAuto);
  Answer answer("a");
  queue.push(as_bytes(answer.bytes));
  queue.end_reply(answer.reply);
  queue.abort();
  EXPECT_THAT(answer.ends, ElementsAre(SendEnd::kDropped));
  EXPECT_TRUE(queue.idle());
}

TEST_P(SocketTest, AbortInsideAnEnd) {
  SendQueue& queue = here_.open(SendPath::kAuto);
  Answer first("first"), second(std::string(2'000'000, 'x'));  // more than the kernel takes at once
  first.queue = &queue;
  first.then = [](Answer& self) { self.queue->abort(); };
  for (Answer* answer : {&first, &second}) {
    queue.push(as_bytes(answer->bytes));
    queue.end_reply(answer->reply);
  }
  queue.flush();
  here_.turn_until([&] { return queue.idle(); });
  EXPECT_THAT(first.ends, ElementsAre(SendEnd::kSent));
  EXPECT_THAT(second.ends, ElementsAre(SendEnd::kDropped));
}

// ---------------------------------------------------------------- chosen answers of the kernel

class ScriptedIo final : public test::PollIo {
 public:
  bool cached(FileFd, uint64_t, size_t) override { return is_cached; }
  int64_t try_sendfile(SocketFd socket, FileFd file, uint64_t position, size_t length) override {
    ++sendfiles;
    if (sendfile_error != 0) return sendfile_error;
    return PollIo::try_sendfile(socket, file, position, std::min(length, sendfile_most));
  }
  int64_t try_send(SocketFd socket, const iovec* pieces, int count, bool more) override {
    more_flags.push_back(more);
    return PollIo::try_send(socket, pieces, count, more);
  }
  int64_t try_read(FileFd file, MutableBytes into, uint64_t position) override {
    ++inline_reads;
    return is_cached ? PollIo::try_read(file, into, position) : -EAGAIN;
  }
  void read(FileFd file, uint64_t position, ReadOp& op) override {
    ++reads;
    PollIo::read(break_reads ? -1 : file, position, op);
  }
  bool is_cached = true;
  bool break_reads = false;
  int64_t sendfile_error = 0;
  size_t sendfile_most = SIZE_MAX;
  int sendfiles = 0, inline_reads = 0, reads = 0;
  std::vector<bool> more_flags;
};

struct ScriptedSocketTest : testing::Test {
  ScriptedSocketTest() : script(new ScriptedIo), here(std::unique_ptr<Io>(script)) {}

  // One reply: "head", then 300,000 bytes of a file.
  void send_one(SendPath path, size_t buffer_limit = 1 << 20) {
    SendQueue& queue = here.open(path, buffer_limit);
    data = pattern(300'000, 3);
    file = here.make_file(data);
    queue.push(as_bytes(answer.bytes));
    queue.push(file, 0, data.size());
    queue.end_reply(answer.reply);
    queue.flush();
  }

  ScriptedIo* script;
  Harness here;
  std::string data;
  FileFd file = -1;
  Answer answer{"head"};
};

TEST_F(ScriptedSocketTest, CachedGoesBySendfileBehindAHeldBackHeader) {
  send_one(SendPath::kAuto);
  EXPECT_EQ(here.collect(300'004), "head" + data);
  EXPECT_EQ(script->reads, 0);
  EXPECT_GT(script->sendfiles, 0);
  EXPECT_THAT(script->more_flags, ElementsAre(true));
}

TEST_F(ScriptedSocketTest, SmallRangesGoOutWithTheBytesAroundThem) {
  SendQueue& queue = here.open(SendPath::kAuto);
  data = pattern(40'000, 3);
  file = here.make_file(data);
  queue.push(as_bytes(answer.bytes));
  queue.push(file, 100, 5'000);
  queue.push(as_bytes(answer.bytes));
  queue.push(file, 9'000, 16'384);
  queue.push(file, 0, 1);
  queue.push(as_bytes(answer.bytes));
  queue.end_reply(answer.reply);
  queue.flush();
  EXPECT_THAT(answer.ends, ElementsAre(SendEnd::kSent)) << "in one turn";
  EXPECT_THAT(script->more_flags, ElementsAre(false));
  EXPECT_EQ(script->sendfiles, 0);
  EXPECT_EQ(script->inline_reads, 3);
  EXPECT_EQ(queue.counters().copied_bytes, 5'000u + 16'384 + 1);
  EXPECT_EQ(here.pool().used_bytes(), 0u);
  std::string all = "head" + data.substr(100, 5'000) + "head" + data.substr(9'000, 16'384) +
                    data.substr(0, 1) + "head";
  EXPECT_EQ(here.collect(all.size()), all);
}

TEST_F(ScriptedSocketTest, MoreThanTheScratchHoldsGoesInSeveralSends) {
  SendQueue& queue = here.open(SendPath::kAuto);
  data = pattern(16'384, 3);
  file = here.make_file(data);
  std::string all;
  for (int i = 0; i < 6; ++i) {
    queue.push(as_bytes(answer.bytes));
    queue.push(file, 0, data.size());
    all += "head" + data;
  }
  queue.end_reply(answer.reply);
  queue.flush();
  EXPECT_EQ(here.collect(all.size()), all);
  here.turn_until([&] { return queue.idle(); });
  EXPECT_EQ(queue.counters().copied_bytes, 6 * data.size());
}

TEST_F(ScriptedSocketTest, ASmallRangeThatIsNotCachedIsReadOffTheShardsPath) {
  script->is_cached = false;
  SendQueue& queue = here.open(SendPath::kAuto);
  data = pattern(5'000, 3);
  queue.push(as_bytes(answer.bytes));
  queue.push(here.make_file(data), 0, data.size());
  queue.end_reply(answer.reply);
  queue.flush();
  EXPECT_EQ(here.collect(5'004), "head" + data);
  here.turn_until([&] { return queue.idle(); });
  EXPECT_EQ(script->reads, 1);
  EXPECT_EQ(queue.counters().copied_bytes, 0u);
}

TEST_F(ScriptedSocketTest, NotCachedIsReadOffTheShardsPath) {
  script->is_cached = false;
  send_one(SendPath::kAuto);
  EXPECT_EQ(here.collect(300'004), "head" + data);
  here.turn_until([&] { return here.queue().idle(); });
  EXPECT_EQ(script->sendfiles, 0);
  EXPECT_EQ(script->reads, 3);
  EXPECT_EQ(here.pool().used_bytes(), 0u);
}

TEST_F(ScriptedSocketTest, SendfileOnlyDoesNotAsk) {
  script->is_cached = false;
  send_one(SendPath::kSendfile);
  EXPECT_EQ(here.collect(300'004), "head" + data);
  EXPECT_EQ(script->reads, 0);
}

TEST_F(ScriptedSocketTest, AReadErrorIsTheDisksFault) {
  script->is_cached = false;
  script->break_reads = true;
  send_one(SendPath::kAuto);
  here.turn_until([&] { return here.queue().idle(); });
  EXPECT_THAT(answer.ends, ElementsAre(SendEnd::kDiskFailed));
}

TEST_F(ScriptedSocketTest, ASendfileErrorIsTheDisksWhenTheRangeCannotBeRead) {
  script->sendfile_error = -EIO;
  script->break_reads = true;
  send_one(SendPath::kAuto);
  here.turn_until([&] { return here.queue().idle(); });
  EXPECT_THAT(answer.ends, ElementsAre(SendEnd::kDiskFailed));
  EXPECT_EQ(script->reads, 1);
}

TEST_F(ScriptedSocketTest, ASendfileErrorIsThePeersWhenTheRangeCanBeRead) {
  script->sendfile_error = -ECONNRESET;
  send_one(SendPath::kAuto);
  here.turn_until([&] { return here.queue().idle(); });
  EXPECT_THAT(answer.ends, ElementsAre(SendEnd::kPeerFailed));
  EXPECT_EQ(script->reads, 1);
  EXPECT_EQ(here.pool().used_bytes(), 0u);
}

TEST_F(ScriptedSocketTest, ShortSendfilesGoOn) {
  script->sendfile_most = 7'777;
  send_one(SendPath::kAuto);
  EXPECT_EQ(here.collect(300'004), "head" + data);
}

TEST_F(ScriptedSocketTest, ATurnSendsAtMostItsQuota) {
  BufferPool pool(here.loop(), 1 << 20, 0);
  SendOptions options;
  options.buffers = &pool;
  options.turn_quota = 10'000;
  SendQueue queue(here.loop(), here.socket(), options);
  data = pattern(50'000, 3);
  queue.push(here.make_file(data), 0, data.size());
  queue.end_reply(answer.reply);
  queue.flush();
  EXPECT_EQ(queue.queued_bytes(), 40'000u);
  EXPECT_FALSE(queue.idle());
  here.loop().run_turn(false);
  EXPECT_EQ(queue.queued_bytes(), 30'000u);
  EXPECT_EQ(here.collect(50'000), data);
  here.turn_until([&] { return queue.idle(); });
}

TEST_F(ScriptedSocketTest, WaitsForABufferWhenThePoolIsExhausted) {
  script->is_cached = false;
  SendQueue& queue = here.open(SendPath::kAuto, 128 * 1024);
  auto taken = here.pool().acquire(128 * 1024);
  ASSERT_TRUE(taken);
  data = pattern(300'000, 3);
  queue.push(here.make_file(data), 0, data.size());
  queue.end_reply(answer.reply);
  queue.flush();
  for (int i = 0; i < 5; ++i) here.loop().run_turn(false);
  EXPECT_EQ(script->reads, 0);
  EXPECT_FALSE(queue.idle());
  taken->reset();
  EXPECT_EQ(here.collect(300'000), data);
  here.turn_until([&] { return queue.idle(); });
}

TEST_F(ScriptedSocketTest, AbortLeavesTheLineForABuffer) {
  script->is_cached = false;
  SendQueue& queue = here.open(SendPath::kAuto, 128 * 1024);
  auto taken = here.pool().acquire(128 * 1024);
  queue.push(here.make_file("0123456789"), 0, 10);
  queue.end_reply(answer.reply);
  queue.flush();
  queue.abort();
  EXPECT_TRUE(queue.idle());
  EXPECT_THAT(answer.ends, ElementsAre(SendEnd::kDropped));
}

TEST_F(ScriptedSocketTest, SmallRepliesShareASend) {
  SendQueue& queue = here.open(SendPath::kAuto);
  Answer second("second");
  for (Answer* one : {&answer, &second}) {
    queue.push(as_bytes(one->bytes));
    queue.end_reply(one->reply);
  }
  queue.flush();
  EXPECT_EQ(here.collect(10), "headsecond");
  EXPECT_THAT(script->more_flags, ElementsAre(false));
}

}  // namespace
}  // namespace pelton
