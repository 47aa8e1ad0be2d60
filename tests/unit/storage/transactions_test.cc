// Transactions in one log: the last stable offset, what readers of committed records are told, and both after
// restarts and losses of derived files.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "storage/transaction_index.h"
#include "tests/unit/storage/harness.h"

namespace pelton::storage {
namespace {

namespace fs = std::filesystem;
using proto::ErrorCode;
using test::Harness;

constexpr int64_t kNone = -1;

// Where readers of committed records end when everything written is committed.
int64_t stable_end(Harness& h) {
  auto unstable = h.log->first_unstable(h.log->written_end().offset);
  return unstable ? unstable->offset : kNone;
}

AppendResult write(Harness& h, int64_t producer, int32_t sequence, int records = 1) {
  return h.append({.records = records,
                   .producer_id = producer,
                   .producer_epoch = 0,
                   .sequence = sequence,
                   .transactional = true});
}

void end(Harness& h, int64_t producer, proto::ControlType type) {
  auto ended = h.append_bytes(test::make_marker(producer, 0, type, 1), 0, AppendOrigin::kCoordinator);
  ASSERT_EQ(ended.error, ErrorCode::kNone);
}

TEST(Transactions, TheFirstOpenOneBoundsReaders) {
  Harness h;
  h.append({});
  write(h, 5, 0, 2);  // 1 and 2
  write(h, 6, 0);     // 3
  h.settle();
  auto unstable = h.log->first_unstable(4);
  ASSERT_TRUE(unstable.has_value());
  EXPECT_EQ(unstable->offset, 1);
  EXPECT_EQ(unstable->position, test::make_batch({}).size()) << "a place, so that reads end there";
  auto slice = h.log->read(0, 1 << 20, *unstable, true);
  EXPECT_EQ(slice->length, test::make_batch({}).size());
  end(h, 5, proto::ControlType::kCommit);  // 4
  h.settle();
  EXPECT_EQ(h.log->first_unstable(4)->offset, 1) << "its marker is not below the high watermark";
  EXPECT_EQ(h.log->first_unstable(5)->offset, 3);
  end(h, 6, proto::ControlType::kAbort);
  h.settle();
  EXPECT_FALSE(h.log->first_unstable(6).has_value());
}

TEST(Transactions, TheFirstOpenOneIsKnownAfterARestart) {
  for (bool clean : {true, false}) {
    Harness h;
    h.append({});
    write(h, 5, 0, 2);
    h.append({});
    h.settle();
    clean ? h.stop() : h.crash();
    h.start();
    auto unstable = h.log->first_unstable(4);
    ASSERT_TRUE(unstable.has_value());
    EXPECT_EQ(unstable->offset, 1);
    EXPECT_EQ(unstable->segment_base, 0);
    EXPECT_EQ(unstable->position, test::make_batch({}).size());
    EXPECT_EQ(write(h, 5, 2).base_offset, 4) << "and goes on";
    h.settle();
    EXPECT_EQ(stable_end(h), 1);
  }
}

TEST(Transactions, DeletedRecordsAreNotWaitedFor) {
  Harness h;
  write(h, 5, 0, 2);
  h.append({.records = 3});
  h.settle();
  h.log->set_log_start_offset(3);
  EXPECT_EQ(stable_end(h), 3);
  h.log->set_log_start_offset(5);
  EXPECT_EQ(stable_end(h), 5);
  h.restart();
  EXPECT_EQ(stable_end(h), 5);
}

TEST(Transactions, Standing) {
  Harness h;
  auto standing = [&](int64_t producer, int16_t epoch) { return h.log->transaction_standing(producer, epoch); };
  EXPECT_EQ(standing(5, 0), TransactionStanding::kUnknown);
  write(h, 5, 0);
  EXPECT_EQ(standing(5, 0), TransactionStanding::kOngoing);
  EXPECT_EQ(standing(5, 1), TransactionStanding::kUnknown);
  EXPECT_EQ(standing(6, 0), TransactionStanding::kUnknown);
  h.append_bytes(test::make_marker(5, 2, proto::ControlType::kAbort, 1), 0, AppendOrigin::kCoordinator);
  EXPECT_EQ(standing(5, 0), TransactionStanding::kStaleEpoch);
  EXPECT_EQ(standing(5, 2), TransactionStanding::kUnknown);
  auto producers = h.log->active_producers();
  ASSERT_EQ(producers.size(), 1u);
  EXPECT_EQ(producers[0].epoch, 2);
  EXPECT_EQ(producers[0].last_sequence, -1) << "batches of the old epoch are forgotten";
  EXPECT_EQ(producers[0].coordinator_epoch, 1);
  EXPECT_EQ(producers[0].transaction_first_offset, -1);
}

// A marker of an older coordinator, or of an older epoch of the producer, is refused and changes nothing.
TEST(Transactions, LateMarkers) {
  Harness h;
  write(h, 5, 0);
  end(h, 5, proto::ControlType::kCommit);
  write(h, 5, 1);
  auto late = [&](int16_t epoch, int32_t coordinator, int16_t version) {
    std::vector<uint8_t> batch = test::make_marker(5, epoch, proto::ControlType::kAbort, coordinator);
    return h.log->append(batch, 0, AppendOrigin::kCoordinator, 0, version).error;
  };
  EXPECT_EQ(late(0, 0, 0), ErrorCode::kTransactionCoordinatorFenced);
  EXPECT_EQ(late(-1, 1, 0), ErrorCode::kInvalidProducerEpoch);
  EXPECT_EQ(late(0, 1, 2), ErrorCode::kInvalidProducerEpoch);
  h.settle();
  EXPECT_EQ(stable_end(h), 2);
  EXPECT_EQ(h.log->next_offset(), 3);
}

struct Batch {
  int64_t base_offset = 0;
  int64_t last_offset = 0;
  int64_t producer = kNone;
  bool control = false;
  std::optional<bool> aborted;  // of a transaction that has ended
};

// Random transactions over small segments; readers of committed records get exactly the committed ones.
class TransactionModel {
 public:
  explicit TransactionModel(uint64_t seed) : random_(seed), h_(make_config(random_)) {}

  void run(int steps) {
    for (int i = 0; i < steps && !testing::Test::HasFatalFailure(); ++i) step();
    read_everything();
  }

 private:
  static LogConfig make_config(std::mt19937_64& random) {
    LogConfig config;
    config.segment_bytes = static_cast<int32_t>(800 + random() % 3000);
    config.index_interval_bytes = static_cast<int32_t>(random() % 900);
    return config;
  }
  uint64_t below(uint64_t bound) { return random_() % bound; }

  void step() {
    int64_t producer = static_cast<int64_t>(below(5));
    switch (below(16)) {
      case 0: return restart();
      case 1:
      case 2: return read_everything();
      case 3:
      case 4:
      case 5: return end_transaction(producer);
      case 6: return append(kNone);
      default: return append(producer);
    }
  }

  void append(int64_t producer) {
    int records = 1 + static_cast<int>(below(4));
    test::BatchSpec spec{.records = records, .value_bytes = below(80)};
    if (producer != kNone) {
      spec.producer_id = producer;
      spec.producer_epoch = 0;
      spec.sequence = sequences_[producer];
      spec.transactional = true;
      sequences_[producer] += records;
    }
    add(h_.append(spec), producer, false);
    if (producer != kNone) open_[producer].push_back(batches_.size() - 1);
  }

  void end_transaction(int64_t producer) {
    bool abort = below(2) == 0;
    auto type = abort ? proto::ControlType::kAbort : proto::ControlType::kCommit;
    add(h_.append_bytes(test::make_marker(producer, 0, type, 1), 0, AppendOrigin::kCoordinator), producer, true);
    for (size_t at : open_[producer]) batches_[at].aborted = abort;
    open_.erase(producer);
  }

  void add(const AppendResult& result, int64_t producer, bool control) {
    ASSERT_EQ(result.error, ErrorCode::kNone);
    batches_.push_back({result.base_offset, result.last_offset, producer, control, std::nullopt});
    h_.settle();
  }

  void restart() {
    switch (below(4)) {
      case 0: h_.stop(); break;
      case 1: h_.crash(); break;
      case 2:  // Nothing but the records is left, whatever the stop was.
        below(2) == 0 ? h_.stop() : h_.crash();
        remove_derived({".index", ".timeindex", ".txnindex", ".snapshot"});
        break;
      default:
        h_.stop();
        remove_derived({".txnindex", ".snapshot"});
        break;
    }
    h_.start();
    ASSERT_EQ(h_.load_error, "");
    ASSERT_EQ(h_.log->next_offset(), next());
  }

  void remove_derived(const std::set<std::string>& suffixes) {
    for (const auto& entry : fs::directory_iterator(h_.dir / "data/t-0")) {
      if (suffixes.contains(entry.path().extension())) fs::remove(entry.path());
    }
  }

  int64_t next() const { return batches_.empty() ? 0 : batches_.back().last_offset + 1; }

  int64_t expected_stable() const {
    int64_t first = next();
    for (const auto& [producer, batches] : open_) first = std::min(first, batches_[batches.front()].base_offset);
    return first;
  }

  void read_everything() {
    LogPosition end = h_.log->written_end();
    if (auto unstable = h_.log->first_unstable(end.offset)) end = *unstable;
    ASSERT_EQ(end.offset, expected_stable());
    int64_t offset = 0;
    while (offset < end.offset) {
      auto slice = h_.log->read(offset, static_cast<uint32_t>(below(2000)), end, true);
      ASSERT_TRUE(slice.has_value());
      ASSERT_GT(slice->length, 0u);
      auto aborted = h_.log->aborted_transactions(offset, *slice);
      ASSERT_TRUE(aborted.has_value());
      std::string bytes = h_.read_bytes(offset, slice->length);
      int64_t before = offset;
      check_slice(as_bytes(bytes).first(slice->length), *aborted, offset);
      if (::testing::Test::HasFatalFailure()) return;
      ASSERT_GT(offset, before);
    }
  }

  // Does what a consumer does with the answer.
  void check_slice(Bytes bytes, std::vector<AbortedTransaction> aborted, int64_t& offset) {
    std::sort(aborted.begin(), aborted.end(),
              [](const auto& a, const auto& b) { return a.first_offset < b.first_offset; });
    std::set<int64_t> dropped;
    size_t told = 0;
    proto::BatchIterator iterator(bytes);
    while (auto view = iterator.next()) {
      const Batch& batch = *find(view->base_offset());
      for (; told < aborted.size() && aborted[told].first_offset <= view->last_offset(); ++told)
        dropped.insert(aborted[told].producer_id);
      if (batch.control) {
        dropped.erase(batch.producer);
      } else if (batch.producer != kNone) {
        ASSERT_TRUE(batch.aborted.has_value()) << "an open transaction is shown";
        ASSERT_EQ(dropped.contains(batch.producer), *batch.aborted) << view->base_offset();
      }
      offset = view->next_offset();
    }
  }

  const Batch* find(int64_t base_offset) const {
    for (const Batch& batch : batches_) {
      if (batch.base_offset == base_offset) return &batch;
    }
    return nullptr;
  }

  std::mt19937_64 random_;
  Harness h_;
  std::vector<Batch> batches_;
  std::map<int64_t, int32_t> sequences_;
  std::map<int64_t, std::vector<size_t>> open_;  // batches of each open transaction
};

class TransactionModelTest : public testing::TestWithParam<int> {};
TEST_P(TransactionModelTest, ReadersGetTheCommittedRecords) {
  TransactionModel(static_cast<uint64_t>(GetParam())).run(150);
}
INSTANTIATE_TEST_SUITE_P(Seeds, TransactionModelTest, testing::Range(0, 12));

}  // namespace
}  // namespace pelton::storage
