// A shard's storage on real files, with a clock, syncs and faults in the hands of the test.
#pragma once

#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "proto/batch_builder.h"
#include "reactor/loop.h"
#include "reactor/posix_files.h"
#include "storage/durable_marks.h"
#include "storage/log_dir.h"
#include "storage/shard_storage.h"
#include "storage/timestamp_search.h"
#include "tests/unit/reactor/temp_dir.h"

namespace pelton::storage::test {

// Real files that fail when told to, and count the calls.
class FaultyFiles final : public FileSystem {
 public:
  Result<FileFd> open(const std::string& path, OpenMode mode) override {
    ++calls;
    if ((mode == OpenMode::kCreate || mode == OpenMode::kCreateNew) && no_space()) return sys_error(ENOSPC);
    Result<FileFd> fd = files_.open(path, mode);
    if (fd) {
      paths[*fd] = path;
      ++open_files;
    }
    return fd;
  }
  void close(FileFd fd) override {
    ++calls;
    --open_files;
    files_.close(fd);
  }
  Result<size_t> pread(FileFd fd, MutableBytes into, uint64_t position) override {
    ++calls;
    return files_.pread(fd, into, position);
  }
  // Fails with write_error after write_budget bytes, as a full disk does: what fits is written.
  Status pwritev(FileFd fd, const iovec* pieces, int count, uint64_t position) override {
    ++calls;
    if (paths[fd].ends_with(".log")) log_writes.push_back(position);
    if (no_space()) {
      iovec part{pieces[0].iov_base, pieces[0].iov_len / 2};
      (void)files_.pwritev(fd, &part, 1, position);
      return sys_error(ENOSPC);
    }
    if (write_error == 0 || !paths[fd].ends_with(fail_suffix)) {
      return files_.pwritev(fd, pieces, count, position);
    }
    for (int i = 0; i < count && write_budget > 0; ++i) {
      iovec part{pieces[i].iov_base, std::min(pieces[i].iov_len, write_budget)};
      if (Status wrote = files_.pwritev(fd, &part, 1, position); !wrote) return wrote;
      position += part.iov_len;
      write_budget -= part.iov_len;
    }
    return sys_error(write_error);
  }
  Result<uint64_t> size(FileFd fd) override {
    ++calls;
    return files_.size(fd);
  }
  Status truncate(FileFd fd, uint64_t size) override { return files_.truncate(fd, size); }
  Status reserve(FileFd fd, uint64_t position, uint64_t length) override {
    return files_.reserve(fd, position, length);
  }
  Status sync(FileFd) override {
    ++syncs;
    return sync_error == 0 ? Status() : sys_error(sync_error);
  }
  void start_writeback(FileFd, uint64_t, uint64_t) override { ++writebacks; }
  Status rename(const std::string& from, const std::string& to) override {
    if (no_space()) return sys_error(ENOSPC);
    return files_.rename(from, to);
  }
  Status unlink(const std::string& path) override { return files_.unlink(path); }
  Status make_directory(const std::string& path) override { return files_.make_directory(path); }
  Status remove_directory(const std::string& path) override { return files_.remove_directory(path); }
  Status sync_directory(const std::string& path) override {
    synced_directories.push_back(path);
    return {};
  }
  Status sync_file_system(FileFd) override {
    ++file_system_syncs;
    return sync_error == 0 ? Status() : sys_error(sync_error);
  }
  bool exists(const std::string& path) override { return files_.exists(path); }
  Result<std::vector<DirectoryEntry>> list(const std::string& path) override {
    ++calls;
    return files_.list(path);
  }
  Result<int64_t> modified_ms(const std::string& path) override { return files_.modified_ms(path); }
  Result<FileSystemSpace> space(const std::string& path) override { return files_.space(path); }
  Result<FileFd> lock(const std::string& path) override {
    Result<FileFd> fd = files_.lock(path);
    if (fd) ++open_files;
    return fd;
  }

  // That many calls that need room work, and then none until it is set again.
  std::optional<int> room;
  int refused = 0;  // for want of room
  int write_error = 0;
  size_t write_budget = 0;
  std::string fail_suffix = ".log";
  int sync_error = 0;
  std::vector<uint64_t> log_writes;  // their positions
  int calls = 0;
  int open_files = 0;
  int syncs = 0;
  int file_system_syncs = 0;
  int writebacks = 0;
  std::vector<std::string> synced_directories;
  std::map<FileFd, std::string> paths;

 private:
  bool no_space() {
    if (!room || (*room)-- > 0) return false;
    room = 0;
    ++refused;
    return true;
  }
  PosixFiles files_;
};

// A sync or unlink that was started and waits for the test to end it.
struct Started {
  Op* op = nullptr;
  FileFd file = -1;
  bool file_system = false;
};

class TestIo final : public Io {
 public:
  uint64_t now_ns() override { return time_ns; }
  int64_t wall_ms() override { return static_cast<int64_t>(time_ns / 1'000'000); }
  uint64_t random() override { return random_state = random_state * 6364136223846793005u + 1442695040888963407u; }
  FileSystem& files() override { return fs; }
  void poll(ReadyList& ready, std::optional<uint64_t>) override {
    if (auto_complete) {
      while (!started.empty()) end(0);
    }
    for (Completion* done : ended_) ready.push_back(*done);
    ended_.clear();
  }
  void wake() override {}

  void sync(FileFd file, Op& op) override { start({&op, file, false}); }
  void sync_file_system(FileFd directory, Op& op) override { start({&op, directory, true}); }
  void unlink(const char* path, Op& op) override {
    op.done.mark_started();
    op.done.set_result(fs.unlink(path) ? 0 : -ENOENT);
    ended_.push_back(&op.done);
  }
  void remove_directory(const char* path, Op& op) override {
    op.done.mark_started();
    Status removed = fs.remove_directory(path);
    op.done.set_result(removed ? 0 : -removed.error().code);
    ended_.push_back(&op.done);
  }
  // Ends the oldest sync that was started.
  void end(int32_t result) {
    Started first = started.front();
    started.pop_front();
    first.op->done.set_result(result);
    ended_.push_back(&first.op->done);
  }

  // Storage knows no sockets.
  Result<SocketFd> listen(const SocketAddress&, int) override { return sys_error(ENOSYS); }
  Result<SocketAddress> local_address(SocketFd) override { return sys_error(ENOSYS); }
  Result<SocketAddress> peer_address(SocketFd) override { return sys_error(ENOSYS); }
  void set_buffer_sizes(SocketFd, int, int) override {}
  void accept(SocketFd, AcceptOp&) override { FAIL(); }
  void stop_accept(AcceptOp&) override { FAIL(); }
  void recv(SocketFd, RecvOp&) override { FAIL(); }
  void release(const Lease&) override { FAIL(); }
  void send(SocketFd, SendOp&) override { FAIL(); }
  uint32_t lease_bytes() const override { return 0; }
  std::optional<Lease> lease() override { return std::nullopt; }
  bool leases_are_scarce() const override { return true; }
  int64_t try_read(FileFd, MutableBytes, uint64_t) override { return -ENOSYS; }
  int64_t try_send(SocketFd, const iovec*, int, bool) override { return -ENOSYS; }
  int64_t try_sendfile(SocketFd, FileFd, uint64_t, size_t) override { return -ENOSYS; }
  void poll_writable(SocketFd, Op&) override { FAIL(); }
  void shutdown(SocketFd) override {}
  void close(SocketFd) override {}
  void read(FileFd, uint64_t, ReadOp&) override { FAIL(); }
  bool cached(FileFd, uint64_t, size_t) override { return true; }

  FaultyFiles fs;
  bool auto_complete = true;
  std::deque<Started> started;
  uint64_t time_ns = 1'700'000'000'000'000'000;
  uint64_t random_state = 1;

 private:
  void start(Started what) {
    what.op->done.mark_started();
    started.push_back(what);
  }
  std::vector<Completion*> ended_;
};

struct Observer final : LogObserver {
  void on_written() override {
    ++written;
    if (when_written) when_written();
  }
  void on_synced() override { ++synced; }
  void on_suspended(SysError error) override {
    ++suspensions;
    last_error = error;
  }
  void on_log_failed(SysError error) override {
    ++failures;
    last_error = error;
  }
  int written = 0;
  int synced = 0;
  int suspensions = 0;
  int failures = 0;
  SysError last_error;
  std::function<void()> when_written;
};

struct BatchSpec {
  int records = 1;
  size_t value_bytes = 10;
  int64_t timestamp = 1'700'000'000'000;
  int64_t timestamp_step = 0;
  int64_t producer_id = -1;
  int16_t producer_epoch = -1;
  int32_t sequence = -1;
  bool transactional = false;
  proto::Codec codec = proto::Codec::kNone;
  uint8_t fill = 'v';
};

inline std::vector<uint8_t> make_batch(const BatchSpec& spec) {
  proto::BatchOptions options;
  options.producer_id = spec.producer_id;
  options.producer_epoch = spec.producer_epoch;
  options.base_sequence = spec.sequence;
  options.transactional = spec.transactional;
  options.codec = spec.codec;
  proto::BatchBuilder builder(options);
  std::vector<uint8_t> value(spec.value_bytes, spec.fill);
  for (int i = 0; i < spec.records; ++i) {
    builder.append(spec.timestamp + i * spec.timestamp_step, std::nullopt, Bytes(value));
  }
  std::vector<uint8_t> bytes;
  EXPECT_TRUE(builder.build(bytes).has_value());
  return bytes;
}

inline std::vector<uint8_t> make_marker(int64_t producer_id, int16_t epoch, proto::ControlType type,
                                        int32_t coordinator_epoch) {
  proto::BatchOptions options;
  options.producer_id = producer_id;
  options.producer_epoch = epoch;
  options.transactional = true;
  options.control = true;
  std::vector<uint8_t> bytes;
  proto::build_end_transaction_marker(options, 1'700'000'000'000, type, coordinator_epoch, bytes);
  return bytes;
}

inline std::string read_all(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}
inline void write_all(const std::string& path, const std::string& content) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << content;
}

// Whole lookups by time, without limits.
inline Result<TimestampOffset, proto::ErrorCode> offset_for_timestamp(Log& log, int64_t timestamp,
                                                                      const LogPosition& upper) {
  int64_t segment = -1;
  while (true) {
    auto search = log.search_timestamp(timestamp, upper, segment);
    if (!search) return std::unexpected(search.error());
    if (!*search) return TimestampOffset{};
    auto found = (*search)->run(TimestampSearch::kNoLimits, nullptr);
    if (!found) return std::unexpected(found.error());
    if ((*found)->offset >= 0) return **found;
    segment = (*search)->segment_base;
  }
}
inline Result<TimestampOffset, proto::ErrorCode> max_timestamp(Log& log, const LogPosition& upper) {
  auto search = log.search_max_timestamp(upper);
  if (!search) return std::unexpected(search.error());
  if (!*search) return TimestampOffset{};
  auto found = (*search)->run(TimestampSearch::kNoLimits, nullptr);
  if (!found) return std::unexpected(found.error());
  return **found;
}

// One data directory with the partition "t-0". stop() and start() play a restart.
class Harness {
 public:
  explicit Harness(LogConfig config_ = {}) : config(config_) { start(); }
  ~Harness() {
    log.reset();
    storage.reset();
  }

  void start() {
    loop = std::make_unique<Loop>(io);
    storage = std::make_unique<ShardStorage>(*loop, 100);
    auto opened = LogDir::open(io, {.path = dir / "data"});
    ASSERT_TRUE(opened.has_value()) << opened.error();
    log_dir = std::move(*opened);
    if (log_dir->partitions().empty()) {
      auto created = log_dir->create_log(*storage, observer, id, topic_id, config);
      ASSERT_TRUE(created.has_value()) << to_string(created.error());
      log = std::move(*created);
      return;
    }
    auto loaded = log_dir->load_log(*storage, observer, id, config);
    load_error = loaded ? "" : loaded.error();
    if (loaded) log = std::move(*loaded);
  }
  // The process dies: what is in the files stays, nothing more is written.
  void crash() {
    log.reset();
    storage.reset();
    log_dir.reset();
    batches.clear();
  }
  // The machine goes down: nobody knows what was synced since the last checkpoint.
  void lose_power() {
    crash();
    for (const auto& entry : std::filesystem::directory_iterator(dir / "data")) {
      if (entry.path().filename().string().starts_with(kDurableMarks)) std::filesystem::remove(entry.path());
    }
  }
  void stop() {
    ASSERT_TRUE(log->close().has_value());
    save_checkpoints();
    ASSERT_TRUE(log_dir->mark_clean_shutdown().has_value());
    crash();
  }
  void save_checkpoints() {
    ASSERT_TRUE(log_dir
                    ->write_checkpoints({{id, log->recovery_point(), log->log_start_offset(),
                                          log->written_end().offset}})
                    .has_value());
    write_all(dir / "data/log-start-offset-checkpoint", log_dir->log_starts().text);
  }
  void restart() {
    stop();
    start();
  }

  AppendResult append(const BatchSpec& spec, int32_t epoch = 0) {
    return append_bytes(make_batch(spec), epoch);
  }
  // The bytes stay until the harness ends, as the log asks.
  AppendResult append_bytes(std::vector<uint8_t> bytes, int32_t epoch = 0,
                            AppendOrigin origin = AppendOrigin::kClient) {
    batches.push_back(std::move(bytes));
    return log->append(batches.back(), epoch, origin, io.wall_ms());
  }
  void turn() { loop->run_turn(false); }
  // Until nothing happens: syncs end by themselves.
  void settle() {
    for (int i = 0; i < 6; ++i) turn();
  }
  std::string partition(const std::string& name) const { return dir / ("data/t-0/" + name); }

  std::string read_bytes(int64_t offset, uint32_t max_bytes, bool whole = true) {
    auto slice = log->read(offset, max_bytes, log->written_end(), whole);
    if (!slice || slice->length == 0) return {};
    std::string bytes(slice->length, '\0');
    auto got = io.fs.pread(slice->file, MutableBytes(reinterpret_cast<uint8_t*>(bytes.data()), bytes.size()),
                           slice->position);
    EXPECT_EQ(*got, bytes.size());
    return bytes;
  }

  pelton::test::TempDir dir;
  LogConfig config;
  TestIo io;
  std::unique_ptr<Loop> loop;
  std::unique_ptr<ShardStorage> storage;
  std::unique_ptr<LogDir> log_dir;
  std::unique_ptr<Log> log;
  Observer observer;
  TopicPartition id{"t", 0};
  Uuid topic_id{{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}};
  std::string load_error;
  std::deque<std::vector<uint8_t>> batches;
};

}  // namespace pelton::storage::test
