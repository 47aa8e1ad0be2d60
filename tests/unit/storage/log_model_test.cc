// Random operations on a log against a list of batches in memory.
#include <gtest/gtest.h>

#include <random>

#include "tests/unit/storage/harness.h"

namespace pelton::storage {
namespace {

using test::Harness;

struct Record {
  int64_t base_offset = 0;
  int64_t last_offset = 0;
  int64_t timestamp = 0;
  std::vector<uint8_t> bytes;  // as stamped
};

class Model {
 public:
  explicit Model(uint64_t seed) : random_(seed), h_(make_config(random_)) {}

  void run(int steps) {
    for (int i = 0; i < steps && !testing::Test::HasFatalFailure(); ++i) step();
    check_all();
  }

 private:
  static LogConfig make_config(std::mt19937_64& random) {
    LogConfig config;
    config.segment_bytes = static_cast<int32_t>(600 + random() % 4000);
    config.index_interval_bytes = static_cast<int32_t>(random() % 600);
    config.segment_index_bytes = static_cast<int32_t>(60 + random() % 400);
    config.retention_ms = -1;
    config.flush_messages = random() % 3 == 0 ? kFlushNever : 1 + static_cast<int64_t>(random() % 2) * 6;
    config.file_delete_delay_ms = 0;
    return config;
  }
  uint64_t below(uint64_t bound) { return random_() % bound; }

  void step() {
    switch (below(20)) {
      case 0: return restart();
      case 1: return crash();
      case 2: return retain();
      case 3: return check_timestamp();
      case 4:
      case 5:
      case 6:
      case 7: return read();
      default: return append();
    }
  }

  void append() {
    int count = 1 + static_cast<int>(below(4));
    for (int i = 0; i < count; ++i) {
      int64_t timestamp = 1'700'000'000'000 + static_cast<int64_t>(below(1000));
      test::BatchSpec spec{.records = 1 + static_cast<int>(below(5)),
                           .value_bytes = below(80),
                           .timestamp = timestamp,
                           .fill = static_cast<uint8_t>(below(256))};
      AppendResult result = h_.append(spec, epoch_);
      ASSERT_EQ(result.error, proto::ErrorCode::kNone);
      ASSERT_EQ(result.base_offset, next());
      batches_.push_back({result.base_offset, result.last_offset, timestamp, h_.batches.back()});
    }
    h_.settle();
    if (below(10) == 0) ++epoch_;
  }

  void read() {
    if (next() == start_) return;
    int64_t offset = start_ + static_cast<int64_t>(below(static_cast<uint64_t>(next() - start_)));
    uint32_t max_bytes = static_cast<uint32_t>(below(2000));
    auto slice = h_.log->read(offset, max_bytes, h_.log->written_end(), true);
    ASSERT_TRUE(slice.has_value());
    ASSERT_GT(slice->length, 0u);
    std::vector<uint8_t> bytes(slice->length);
    ASSERT_EQ(*h_.io.fs.pread(slice->file, bytes, slice->position), bytes.size());
    size_t at = find(offset);
    size_t first = batches_[at].bytes.size();
    ASSERT_LE(bytes.size(), std::max<size_t>(first, max_bytes));
    ASSERT_GE(bytes.size(), first);
    // Batch after batch the same bytes, the last one perhaps cut.
    for (size_t done = 0; done < bytes.size(); ++at) {
      ASSERT_LT(at, batches_.size());
      size_t part = std::min(batches_[at].bytes.size(), bytes.size() - done);
      ASSERT_TRUE(std::equal(bytes.begin() + static_cast<ptrdiff_t>(done),
                             bytes.begin() + static_cast<ptrdiff_t>(done + part),
                             batches_[at].bytes.begin()));
      done += part;
    }
  }

  void check_timestamp() {
    int64_t timestamp = 1'700'000'000'000 + static_cast<int64_t>(below(1010));
    int64_t expected = -1;
    for (const Record& batch : batches_) {
      if (batch.timestamp < timestamp || batch.last_offset < start_) continue;
      expected = std::max(batch.base_offset, start_);
      break;
    }
    auto found = test::offset_for_timestamp(*h_.log, timestamp, h_.log->written_end());
    ASSERT_TRUE(found.has_value());
    ASSERT_EQ(found->offset, expected) << timestamp;
    const Record* largest = nullptr;
    for (const Record& batch : batches_) {
      if (batch.last_offset < start_) continue;
      if (largest == nullptr || batch.timestamp > largest->timestamp) largest = &batch;
    }
    auto max = test::max_timestamp(*h_.log, h_.log->written_end());
    ASSERT_TRUE(max.has_value());
    if (largest != nullptr && largest->base_offset >= start_) {
      ASSERT_EQ(max->timestamp, largest->timestamp);
      ASSERT_EQ(max->offset, largest->base_offset);
    }
  }

  void retain() {
    LogConfig config = h_.config;
    config.retention_bytes = static_cast<int64_t>(below(6000));
    h_.log->set_config(config);
    uint64_t before = h_.log->size_bytes();
    int deleted = h_.log->apply_retention(0, next());
    h_.log->set_config(h_.config);
    start_ = h_.log->log_start_offset();
    std::erase_if(batches_, [this](const Record& batch) { return batch.last_offset < start_; });
    uint64_t left = 0;
    for (const Record& batch : batches_) left += batch.bytes.size();
    ASSERT_EQ(h_.log->size_bytes(), left);
    ASSERT_GE(left, std::min(before, static_cast<uint64_t>(config.retention_bytes)));
    ASSERT_EQ(deleted == 0, left == before);
  }

  void restart() {
    h_.restart();
    ASSERT_EQ(h_.load_error, "");
    ASSERT_EQ(h_.log->next_offset(), next());
  }

  // The process dies and the last batch may be torn, on topics that had not synced it.
  void crash() {
    if (below(2) == 0) h_.save_checkpoints();
    int64_t synced = h_.log->synced_end().offset;
    std::string path = h_.log->directory();
    int64_t last_base = h_.log->written_end().segment_base;
    uint64_t in_last = h_.log->written_end().position;
    h_.crash();
    if (!batches_.empty() && batches_.back().base_offset >= synced && in_last > 0) {
      size_t size = batches_.back().bytes.size();
      size_t lost = 1 + below(size);
      std::filesystem::resize_file(path + "/" + segment_name(last_base), in_last - lost);
      batches_.pop_back();
    }
    h_.start();
    ASSERT_EQ(h_.load_error, "");
    ASSERT_EQ(h_.log->next_offset(), next());
    ASSERT_EQ(h_.log->log_start_offset(), start_);
  }

  static std::string segment_name(int64_t base) {
    std::string digits = std::to_string(base);
    return std::string(20 - digits.size(), '0') + digits + ".log";
  }

  void check_all() {
    size_t at = 0;
    ASSERT_TRUE(h_.log->for_each_batch(0, [&](Bytes batch) {
      EXPECT_LT(at, batches_.size());
      if (at >= batches_.size()) return false;
      EXPECT_TRUE(std::equal(batch.begin(), batch.end(), batches_[at].bytes.begin(), batches_[at].bytes.end()));
      EXPECT_EQ(h_.log->epoch_of(proto::BatchView(batch).base_offset()),
                proto::BatchView(batch).partition_leader_epoch());
      ++at;
      return true;
    }));
    ASSERT_EQ(at, batches_.size());
    // Positions add up.
    for (const Record& batch : batches_) {
      auto position = h_.log->position_of(batch.last_offset);
      ASSERT_TRUE(position.has_value());
      uint64_t rest = 0;
      for (size_t i = find(batch.base_offset); i < batches_.size(); ++i) rest += batches_[i].bytes.size();
      ASSERT_EQ(h_.log->bytes_between(*position, h_.log->written_end()), rest);
    }
  }

  int64_t next() const { return batches_.empty() ? start_ : batches_.back().last_offset + 1; }
  size_t find(int64_t offset) const {
    size_t at = 0;
    while (batches_[at].last_offset < offset) ++at;
    return at;
  }

  std::mt19937_64 random_;
  Harness h_;
  std::vector<Record> batches_;
  int64_t start_ = 0;
  int32_t epoch_ = 0;
};

class LogModel : public testing::TestWithParam<int> {};

TEST_P(LogModel, BehavesLikeAList) { Model(static_cast<uint64_t>(GetParam())).run(150); }

INSTANTIATE_TEST_SUITE_P(Seeds, LogModel, testing::Range(1, 41));

}  // namespace
}  // namespace pelton::storage
