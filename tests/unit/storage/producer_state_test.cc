#include "storage/producer_state.h"

#include <limits>

#include <gtest/gtest.h>

#include "proto/crc32c.h"
#include "storage/producer_snapshot.h"
#include "tests/unit/storage/harness.h"

namespace pelton::storage {
namespace {

using proto::ErrorCode;
using test::BatchSpec;

constexpr int32_t kMaxSequence = std::numeric_limits<int32_t>::max();

class ProducerStateTest : public testing::Test {
 protected:
  ProducerVerdict check(int16_t epoch, int32_t sequence, int records = 1, bool transactional = false) {
    std::vector<uint8_t> batch = make(epoch, sequence, records, transactional);
    return state_.check(proto::BatchView(batch), AppendOrigin::kClient);
  }
  ErrorCode append(int16_t epoch, int32_t sequence, int records = 1, bool transactional = false) {
    std::vector<uint8_t> batch = make(epoch, sequence, records, transactional);
    ProducerVerdict verdict = state_.check(proto::BatchView(batch), AppendOrigin::kClient);
    if (verdict.error != ErrorCode::kNone) return verdict.error;
    EXPECT_FALSE(verdict.duplicate.has_value());
    proto::set_base_offset(batch, state_.end_offset());
    state_.apply(proto::BatchView(batch), {state_.end_offset(), 0, 100});
    return ErrorCode::kNone;
  }
  std::optional<CompletedTransaction> mark(int16_t epoch, proto::ControlType type, int32_t coordinator) {
    std::vector<uint8_t> batch = test::make_marker(kProducer, epoch, type, coordinator);
    EXPECT_EQ(state_.check(proto::BatchView(batch), AppendOrigin::kCoordinator).error, ErrorCode::kNone);
    proto::set_base_offset(batch, state_.end_offset());
    return state_.apply(proto::BatchView(batch), {state_.end_offset(), 0, 100});
  }
  static std::vector<uint8_t> make(int16_t epoch, int32_t sequence, int records, bool transactional) {
    return test::make_batch({.records = records,
                             .producer_id = kProducer,
                             .producer_epoch = epoch,
                             .sequence = sequence,
                             .transactional = transactional});
  }
  static constexpr int64_t kProducer = 42;
  ProducerState state_;
};

TEST_F(ProducerStateTest, SequencesFollow) {
  EXPECT_EQ(append(0, 0, 3), ErrorCode::kNone);
  EXPECT_EQ(append(0, 3, 2), ErrorCode::kNone);
  EXPECT_EQ(append(0, 6), ErrorCode::kOutOfOrderSequenceNumber);
  EXPECT_EQ(append(0, 4), ErrorCode::kOutOfOrderSequenceNumber);
  EXPECT_EQ(append(0, 5), ErrorCode::kNone);
}

TEST_F(ProducerStateTest, UnknownProducerMayStartAnywhere) {
  EXPECT_EQ(append(3, 17), ErrorCode::kNone);
  EXPECT_EQ(append(3, 18), ErrorCode::kNone);
}

TEST_F(ProducerStateTest, SequenceWrapsToZero) {
  EXPECT_EQ(append(0, kMaxSequence - 1, 2), ErrorCode::kNone);
  EXPECT_EQ(append(0, 0), ErrorCode::kNone);
  // A batch that spans the wrap: 2^31-1, 0, 1.
  state_ = ProducerState();
  EXPECT_EQ(append(0, kMaxSequence, 3), ErrorCode::kNone);
  EXPECT_EQ(state_.find(kProducer)->last().last_sequence, 1);
  EXPECT_EQ(state_.find(kProducer)->last().first_sequence(), kMaxSequence);
  EXPECT_TRUE(check(0, kMaxSequence, 3).duplicate.has_value());
  EXPECT_EQ(append(0, 2), ErrorCode::kNone);
}

TEST_F(ProducerStateTest, FiveBatchesAreRemembered) {
  for (int i = 0; i < 6; ++i) EXPECT_EQ(append(0, i * 2, 2), ErrorCode::kNone);
  for (int i = 1; i < 6; ++i) {
    ProducerVerdict verdict = check(0, i * 2, 2);
    ASSERT_TRUE(verdict.duplicate.has_value()) << i;
    EXPECT_EQ(verdict.duplicate->first_offset(), i * 2);
    EXPECT_EQ(verdict.duplicate->last_offset, i * 2 + 1);
  }
  // What Apache Kafka says to a batch older than those.
  EXPECT_EQ(check(0, 0, 2).error, ErrorCode::kOutOfOrderSequenceNumber);
  EXPECT_EQ(check(0, 8, 1).error, ErrorCode::kOutOfOrderSequenceNumber) << "not the same range";
}

TEST_F(ProducerStateTest, Epochs) {
  EXPECT_EQ(append(1, 0), ErrorCode::kNone);
  EXPECT_EQ(append(0, 1), ErrorCode::kInvalidProducerEpoch);
  EXPECT_EQ(append(2, 1), ErrorCode::kOutOfOrderSequenceNumber) << "a new epoch starts at 0";
  EXPECT_EQ(append(2, 0), ErrorCode::kNone);
  EXPECT_FALSE(check(1, 0).duplicate.has_value()) << "batches of the old epoch are forgotten";
  EXPECT_EQ(check(1, 0).error, ErrorCode::kInvalidProducerEpoch);
}

TEST_F(ProducerStateTest, CoordinatorsHaveNoSequences) {
  EXPECT_EQ(append(1, 5), ErrorCode::kNone);
  std::vector<uint8_t> batch = make(1, -1, 1, true);
  EXPECT_EQ(state_.check(proto::BatchView(batch), AppendOrigin::kCoordinator).error, ErrorCode::kNone);
  batch = make(0, -1, 1, true);
  EXPECT_EQ(state_.check(proto::BatchView(batch), AppendOrigin::kCoordinator).error,
            ErrorCode::kInvalidProducerEpoch);
}

TEST_F(ProducerStateTest, Transactions) {
  EXPECT_EQ(append(0, 0, 2, true), ErrorCode::kNone);
  EXPECT_EQ(append(0, 2, 1, true), ErrorCode::kNone);
  EXPECT_EQ(state_.first_open_transaction()->offset, 0);
  EXPECT_EQ(append(0, 3, 1, false), ErrorCode::kInvalidTxnState);
  auto completed = mark(0, proto::ControlType::kAbort, 7);
  ASSERT_TRUE(completed.has_value());
  EXPECT_EQ(completed->first.offset, 0);
  EXPECT_EQ(completed->last_offset, 3);
  EXPECT_TRUE(completed->aborted);
  EXPECT_FALSE(state_.first_open_transaction());
  EXPECT_FALSE(mark(0, proto::ControlType::kCommit, 7).has_value()) << "nothing was open";
  std::vector<uint8_t> zombie = test::make_marker(kProducer, 0, proto::ControlType::kCommit, 6);
  EXPECT_EQ(state_.check(proto::BatchView(zombie), AppendOrigin::kCoordinator).error,
            ErrorCode::kTransactionCoordinatorFenced);
  // A marker of a higher epoch fences: the next batch of that epoch starts at 0.
  mark(1, proto::ControlType::kCommit, 7);
  EXPECT_EQ(append(0, 3, 1, true), ErrorCode::kInvalidProducerEpoch);
  EXPECT_EQ(append(1, 3, 1, true), ErrorCode::kOutOfOrderSequenceNumber);
  EXPECT_EQ(append(1, 0, 1, true), ErrorCode::kNone);
}

// transaction.version 2: the epoch rises before each marker, so one that does not rise is late.
TEST_F(ProducerStateTest, MarkersWithAnEpochOfTheirOwn) {
  auto check_marker = [&](int16_t epoch, int16_t version) {
    std::vector<uint8_t> batch = test::make_marker(kProducer, epoch, proto::ControlType::kAbort, 1);
    return state_.check(proto::BatchView(batch), AppendOrigin::kCoordinator, version).error;
  };
  EXPECT_EQ(append(3, 0, 1, true), ErrorCode::kNone);
  EXPECT_EQ(check_marker(3, 1), ErrorCode::kNone);
  EXPECT_EQ(check_marker(2, 1), ErrorCode::kInvalidProducerEpoch);
  EXPECT_EQ(check_marker(3, 2), ErrorCode::kInvalidProducerEpoch);
  EXPECT_EQ(check_marker(4, 2), ErrorCode::kNone);
  mark(4, proto::ControlType::kAbort, 1);
  EXPECT_EQ(check_marker(4, 2), ErrorCode::kNone) << "sent again: nothing is open";
  EXPECT_EQ(check_marker(3, 2), ErrorCode::kInvalidProducerEpoch);
  EXPECT_EQ(append(4, 0, 1, true), ErrorCode::kNone);
  EXPECT_EQ(check_marker(4, 2), ErrorCode::kInvalidProducerEpoch);
}

TEST_F(ProducerStateTest, UnstableUntilTheMarkerIsCommitted) {
  EXPECT_FALSE(state_.first_unstable(0));
  EXPECT_EQ(append(0, 0, 2, true), ErrorCode::kNone);  // offsets 0 and 1
  EXPECT_EQ(state_.first_unstable(2)->offset, 0);
  EXPECT_EQ(state_.first_unstable(2)->position, 100u);
  state_.await_commit(*mark(0, proto::ControlType::kCommit, 1));  // 2
  EXPECT_EQ(append(0, 2, 1, true), ErrorCode::kNone);  // 3
  EXPECT_EQ(state_.first_unstable(2)->offset, 0) << "the marker at 2 is not below the high watermark";
  EXPECT_EQ(state_.first_unstable(3)->offset, 3);
  state_.await_commit(*mark(0, proto::ControlType::kCommit, 1));  // 4
  EXPECT_EQ(state_.first_unstable(4)->offset, 3);
  EXPECT_FALSE(state_.first_unstable(5));
}

TEST_F(ProducerStateTest, Expiry) {
  EXPECT_EQ(append(0, 0), ErrorCode::kNone);
  int64_t written = state_.find(kProducer)->last_timestamp;
  state_.expire(written + 999, 1000);
  EXPECT_EQ(state_.size(), 1u);
  state_.expire(written + 1000, 1000);
  EXPECT_EQ(state_.size(), 0u);
  EXPECT_EQ(append(0, 77, 1, true), ErrorCode::kNone);
  state_.expire(written + 100'000, 1000);
  EXPECT_EQ(state_.size(), 1u) << "its transaction is open";
}

TEST_F(ProducerStateTest, ExpiryWithTheTimestampsOfAHostileClient) {
  for (int64_t timestamp : {INT64_MIN, INT64_MAX}) {
    ProducerEntry entry;
    entry.last_timestamp = timestamp;
    state_.put(timestamp, entry);
  }
  state_.expire(1'700'000'000'000, 1000);
  EXPECT_EQ(state_.find(INT64_MIN), nullptr);
  EXPECT_NE(state_.find(INT64_MAX), nullptr);
}

TEST_F(ProducerStateTest, SnapshotBytes) {
  EXPECT_EQ(append(3, 5, 2, true), ErrorCode::kNone);
  std::vector<uint8_t> bytes = encode_producer_snapshot(state_);
  ASSERT_EQ(bytes.size(), 10u + 46u);
  EXPECT_EQ(load_be<int16_t>(bytes.data()), 1);
  EXPECT_EQ(load_be<uint32_t>(bytes.data() + 2), proto::crc32c(Bytes(bytes).subspan(6)));
  EXPECT_EQ(load_be<int32_t>(bytes.data() + 6), 1);
  const uint8_t* entry = bytes.data() + 10;
  EXPECT_EQ(load_be<int64_t>(entry), kProducer);
  EXPECT_EQ(load_be<int16_t>(entry + 8), 3);
  EXPECT_EQ(load_be<int32_t>(entry + 10), 6);
  EXPECT_EQ(load_be<int64_t>(entry + 14), 1);
  EXPECT_EQ(load_be<int32_t>(entry + 22), 1);
  EXPECT_EQ(load_be<int64_t>(entry + 26), 1'700'000'000'000);
  EXPECT_EQ(load_be<int32_t>(entry + 34), -1);
  EXPECT_EQ(load_be<int64_t>(entry + 38), 0);

  auto loaded = decode_producer_snapshot(bytes);
  ASSERT_TRUE(loaded.has_value());
  EXPECT_EQ(loaded->find(kProducer)->last().first_sequence(), 5);
  EXPECT_EQ(loaded->first_open_transaction()->offset, 0);
  EXPECT_EQ(loaded->first_open_transaction()->segment_base, kUnknownSegment);
}

TEST_F(ProducerStateTest, EveryDamagedSnapshotIsRefused) {
  EXPECT_EQ(append(0, 0), ErrorCode::kNone);
  std::vector<uint8_t> bytes = encode_producer_snapshot(state_);
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::vector<uint8_t> damaged = bytes;
    damaged[i] ^= 0x40;
    EXPECT_FALSE(decode_producer_snapshot(damaged).has_value()) << i;
    EXPECT_FALSE(decode_producer_snapshot(Bytes(bytes).first(i)).has_value()) << i;
  }
}

}  // namespace
}  // namespace pelton::storage
