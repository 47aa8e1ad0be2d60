// WriteTxnMarkers as a broker sends it: with the door of authorize.h opened, which this program brings itself.
#include "proto/messages/write_txn_markers.h"

#include <deque>

#include "broker/authorize.h"
#include "proto/batch_builder.h"
#include "proto/messages/fetch.h"
#include "tests/unit/broker/served_broker.h"

namespace pelton::broker {
namespace {

bool peer_is_broker = true;

}  // namespace

bool authorize(const Request&, Operation, ResourceType, std::string_view) { return true; }
bool authorize_broker(const Request&) { return peer_is_broker; }

namespace {

using proto::ErrorCode;
using proto::WriteTxnMarkersRequest;
using proto::WriteTxnMarkersResponse;

class WriteTxnMarkersTest : public ::testing::Test {
 protected:
  void SetUp() override {
    peer_is_broker = true;
    broker_.start();
    broker_.create_topic("t", 2);
  }

  // A batch of a transaction, as its coordinator would have allowed it.
  void write(int64_t producer, int32_t partition, int16_t epoch = 0, int32_t sequence = 0) {
    proto::BatchBuilder builder({.producer_id = producer,
                                 .producer_epoch = epoch,
                                 .base_sequence = sequence,
                                 .transactional = true});
    builder.append(1'700'000'000'000, std::nullopt, as_bytes("v"));
    batches_.emplace_back();
    ASSERT_TRUE(builder.build(batches_.back()).has_value());
    Partition& to = broker_.partition("t", partition);
    auto appended = to.append(batches_.back(), storage::AppendOrigin::kClient, 1'700'000'000'000);
    ASSERT_EQ(appended.error, ErrorCode::kNone);
    broker_.turn_until([&] { return to.high_watermark().offset > appended.last_offset; });
  }

  // The errors of partitions 0 and 1 of the topic.
  std::vector<ErrorCode> end(int64_t producer, bool commit, int32_t coordinator_epoch = 1, int16_t epoch = 0,
                             int8_t transaction_version = 0, std::string_view name = "t") {
    int32_t indexes[] = {0, 1};
    WriteTxnMarkersRequest::WritableTxnMarkerTopic topic{.name = name, .partition_indexes = indexes};
    WriteTxnMarkersRequest::WritableTxnMarker marker{.producer_id = proto::ProducerId(producer),
                                                     .producer_epoch = epoch,
                                                     .transaction_result = commit,
                                                     .topics = {&topic, 1},
                                                     .coordinator_epoch = coordinator_epoch,
                                                     .transaction_version = transaction_version};
    WriteTxnMarkersRequest request;
    request.markers = {&marker, 1};
    auto answer = broker_.call<WriteTxnMarkersResponse>(request, transaction_version > 0 ? 2 : 1);
    std::vector<ErrorCode> errors;
    EXPECT_EQ(answer.markers.size(), 1u);
    EXPECT_EQ(answer.markers[0].producer_id.value, producer);
    for (const auto& row : answer.markers[0].topics[0].partitions)
      errors.push_back(static_cast<ErrorCode>(row.error_code));
    return errors;
  }

  int64_t stable(int32_t partition) { return broker_.partition("t", partition).last_stable().offset; }

  test::ServedBroker broker_;
  std::deque<std::vector<uint8_t>> batches_;
};

using Errors = std::vector<ErrorCode>;

TEST_F(WriteTxnMarkersTest, NobodyButABroker) {
  write(7, 0);
  peer_is_broker = false;
  EXPECT_EQ(end(7, true), (Errors{ErrorCode::kClusterAuthorizationFailed, ErrorCode::kClusterAuthorizationFailed}));
  EXPECT_EQ(broker_.partition("t").log().next_offset(), 1) << "nothing was written";
  EXPECT_EQ(stable(0), 0);
}

TEST_F(WriteTxnMarkersTest, EndsTransactions) {
  write(7, 0);
  write(7, 1);
  write(8, 1);
  EXPECT_EQ(stable(0), 0);
  EXPECT_EQ(stable(1), 0);
  EXPECT_EQ(end(7, false), (Errors{ErrorCode::kNone, ErrorCode::kNone}));
  // Answered when they are committed, so the records before them are decided.
  EXPECT_EQ(stable(0), 2);
  EXPECT_EQ(stable(1), 1);
  EXPECT_EQ(end(8, true), (Errors{ErrorCode::kNone, ErrorCode::kNone})) << "partition 0 has nothing of it";
  EXPECT_EQ(stable(0), 3);
  EXPECT_EQ(stable(1), 4);
}

TEST_F(WriteTxnMarkersTest, ReadersAreToldWhatWasAborted) {
  write(7, 0);
  end(7, false);
  proto::FetchRequest::FetchPartition partition{.partition = 0, .fetch_offset = 0, .partition_max_bytes = 1 << 20};
  proto::FetchRequest::FetchTopic topic{.topic = "t", .partitions = {&partition, 1}};
  proto::FetchRequest request;
  request.max_bytes = 1 << 20;
  request.isolation_level = 1;
  request.topics = {&topic, 1};
  auto answer = broker_.call<proto::FetchResponse>(request, 11);
  const auto& row = answer.responses[0].partitions[0];
  EXPECT_EQ(row.last_stable_offset, 2);
  ASSERT_TRUE(row.aborted_transactions.has_value());
  ASSERT_EQ(row.aborted_transactions->size(), 1u);
  EXPECT_EQ((*row.aborted_transactions)[0].producer_id.value, 7);
  EXPECT_EQ((*row.aborted_transactions)[0].first_offset, 0);
}

TEST_F(WriteTxnMarkersTest, LateOnesAreRefused) {
  write(7, 0, 3);
  EXPECT_EQ(end(7, true, 5, 2)[0], ErrorCode::kInvalidProducerEpoch);
  EXPECT_EQ(end(7, true, 5, 3, 2)[0], ErrorCode::kInvalidProducerEpoch) << "transaction.version 2: not raised";
  EXPECT_EQ(stable(0), 0);
  EXPECT_EQ(end(7, true, 5, 4, 2)[0], ErrorCode::kNone);
  EXPECT_EQ(end(7, true, 5, 4, 2)[0], ErrorCode::kNone) << "sent again";
  EXPECT_EQ(end(7, true, 4, 4)[0], ErrorCode::kTransactionCoordinatorFenced);
}

TEST_F(WriteTxnMarkersTest, WhatIsNotThere) {
  EXPECT_EQ(end(7, true, 1, 0, 0, "none"),
            (Errors{ErrorCode::kUnknownTopicOrPartition, ErrorCode::kUnknownTopicOrPartition}));
  EXPECT_EQ(end(-1, true)[0], ErrorCode::kInvalidRequest);
  EXPECT_EQ(end(7, true, 1, -1)[0], ErrorCode::kInvalidRequest);
}

}  // namespace
}  // namespace pelton::broker
