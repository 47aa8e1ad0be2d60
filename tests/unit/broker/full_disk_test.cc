// A whole broker on a disk that gets full and has room again: everything that writes is refused meanwhile, and
// goes on by itself; catalog, groups and logs are then what they were told they are.
#include <thread>

#include "broker/catalog/writer.h"
#include "proto/batch_builder.h"
#include "proto/messages/delete_records.h"
#include "proto/messages/fetch.h"
#include "proto/messages/find_coordinator.h"
#include "proto/messages/offset_commit.h"
#include "proto/messages/offset_fetch.h"
#include "proto/messages/produce.h"
#include "tests/unit/broker/served_broker.h"
#include "tests/unit/storage/harness.h"

namespace pelton::broker {
namespace {

using proto::ErrorCode;

class SmallDiskIo final : public pelton::test::PollIo {
 public:
  explicit SmallDiskIo(storage::test::FaultyFiles& files) : files_(files) {}
  FileSystem& files() override { return files_; }

 private:
  storage::test::FaultyFiles& files_;
};

class SmallDiskBroker final : public test::ServedBroker {
 public:
  ~SmallDiskBroker() override {
    if (server != nullptr) stop();
  }
  storage::test::FaultyFiles disk;

 private:
  std::unique_ptr<pelton::test::PollIo> make_io() override { return std::make_unique<SmallDiskIo>(disk); }
};

class FullDiskTest : public ::testing::Test {
 protected:
  void SetUp() override {
    broker_.config.offsets_topic_num_partitions = 1;
    broker_.start();
    broker_.create_topic("t", 2);
    // Makes the coordinator's topic.
    std::string_view groups[] = {"g"};
    proto::FindCoordinatorRequest find;
    find.coordinator_keys = groups;
    (void)broker_.call<proto::FindCoordinatorResponse>(find, 4);
    within_seconds(5, [&] { return commit(1) == 0; });
    ASSERT_EQ(committed(), 1);
  }

  ErrorCode create(std::string_view name) {
    proto::CreateTopicsRequest::CreatableTopic topic{.name = name, .num_partitions = 1, .replication_factor = 1};
    proto::CreateTopicsRequest request;
    request.topics = {&topic, 1};
    request.timeout_ms = 10'000;
    auto answer = broker_.call<proto::CreateTopicsResponse>(request, 7);
    return static_cast<ErrorCode>(answer.topics[0].error_code);
  }

  ErrorCode produce(std::string_view name) {
    proto::BatchBuilder builder;
    builder.append(broker_.server->shards()[0]->loop().wall_ms(), std::nullopt, as_bytes("v"));
    std::vector<uint8_t> batch;
    EXPECT_TRUE(builder.build(batch).has_value());
    proto::ProduceRequest::PartitionProduceData partition{.index = 0, .records = proto::Records::of(batch)};
    proto::ProduceRequest::TopicProduceData topic{.name = name, .partition_data = {&partition, 1}};
    proto::ProduceRequest request;
    request.acks = -1;
    request.timeout_ms = 10'000;
    request.topic_data = {&topic, 1};
    auto answer = broker_.call<proto::ProduceResponse>(request, 9);
    return static_cast<ErrorCode>(answer.responses[0].partition_responses[0].error_code);
  }

  int64_t high_watermark(std::string_view name) {
    proto::FetchRequest::FetchPartition partition{.partition = 0, .fetch_offset = 0, .partition_max_bytes = 1 << 20};
    proto::FetchRequest::FetchTopic topic{.topic = name, .partitions = {&partition, 1}};
    proto::FetchRequest request;
    request.max_bytes = 1 << 20;
    request.topics = {&topic, 1};
    auto answer = broker_.call<proto::FetchResponse>(request, 11);
    EXPECT_EQ(answer.responses[0].partitions[0].error_code, 0);
    return answer.responses[0].partitions[0].high_watermark;
  }

  // 0 when it was taken. Asked again while the coordinator is not there.
  int16_t commit(int64_t offset) {
    proto::OffsetCommitRequest::OffsetCommitRequestPartition partition{.partition_index = 0,
                                                                       .committed_offset = offset};
    proto::OffsetCommitRequest::OffsetCommitRequestTopic topic{.name = "t", .partitions = {&partition, 1}};
    proto::OffsetCommitRequest request;
    request.group_id = "g";
    request.generation_id_or_member_epoch = -1;
    request.topics = {&topic, 1};
    auto answer = broker_.call<proto::OffsetCommitResponse>(request, 7);
    return answer.topics[0].partitions[0].error_code;
  }

  int64_t committed() {
    int32_t indexes[] = {0};
    proto::OffsetFetchRequest::OffsetFetchRequestTopic topic{.name = "t", .partition_indexes = indexes};
    proto::OffsetFetchRequest request;
    request.group_id = "g";
    request.topics = std::span(&topic, 1);
    auto answer = broker_.call<proto::OffsetFetchResponse>(request, 7);
    return answer.error_code != 0 ? -answer.error_code : answer.topics[0].partitions[0].committed_offset;
  }

  template <class Done>
  void within_seconds(int seconds, Done&& done) {
    auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
    while (!done()) {
      ASSERT_LT(std::chrono::steady_clock::now(), end) << "it does not come back";
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }

  SmallDiskBroker broker_;
};

TEST_F(FullDiskTest, EverythingThatWritesComesBack) {
  ASSERT_EQ(produce("t"), ErrorCode::kNone);
  for (int round = 0; round < 2; ++round) {
    broker_.disk.room = 0;
    EXPECT_EQ(produce("t"), ErrorCode::kKafkaStorageError);
    EXPECT_NE(create("full"), ErrorCode::kNone);
    EXPECT_NE(commit(50), 0);
    EXPECT_EQ(high_watermark("t"), 1 + round) << "reading goes on";
    EXPECT_EQ(create("full"), ErrorCode::kKafkaStorageError) << "and again, not as a topic that is there";
    broker_.disk.room.reset();
    within_seconds(5, [&] { return produce("t") == ErrorCode::kNone; });
    std::string name = "new-" + std::to_string(round);
    within_seconds(5, [&] { return create(name) == ErrorCode::kNone; });
    within_seconds(5, [&] { return commit(10 + round) == 0; });
    EXPECT_EQ(committed(), 10 + round);
    EXPECT_EQ(produce(name), ErrorCode::kNone);
  }
  auto look = [&] {
    EXPECT_EQ(high_watermark("t"), 3);
    EXPECT_EQ(high_watermark("new-0"), 1);
    EXPECT_EQ(high_watermark("new-1"), 1);
    within_seconds(5, [&] { return committed() == 11; });
    EXPECT_EQ(broker_.server->shard(0).catalog->find("full"), nullptr);
  };
  look();
  EXPECT_TRUE(broker_.stop());
  broker_.start();
  look();
  broker_.crash();
  broker_.start();
  look();
}

// The catalog has the topic, and there was no room for its log: nothing else has to be changed for it to come.
TEST_F(FullDiskTest, APartitionThatCouldNotBeCreatedComesByItself) {
  int missed = 0;
  for (int room = 1; room < 8; ++room) {
    std::string name = "late-" + std::to_string(room);
    broker_.disk.room = room;
    ErrorCode created = create(name);
    bool in_catalog = broker_.server->shard(0).catalog->find(name) != nullptr;
    broker_.disk.room.reset();
    if (!in_catalog) continue;
    if (created == ErrorCode::kKafkaStorageError) ++missed;
    within_seconds(10, [&] { return produce(name) == ErrorCode::kNone; });
    EXPECT_EQ(high_watermark(name), 1);
  }
  EXPECT_GT(missed, 0);
}

TEST_F(FullDiskTest, RecordsCanBeDeleted) {
  ASSERT_EQ(produce("t"), ErrorCode::kNone);
  auto remove = [&] {
    proto::DeleteRecordsRequest::DeleteRecordsPartition partition{.partition_index = 0, .offset = 1};
    proto::DeleteRecordsRequest::DeleteRecordsTopic topic{.name = "t", .partitions = {&partition, 1}};
    proto::DeleteRecordsRequest request;
    request.topics = {&topic, 1};
    request.timeout_ms = 10'000;
    auto answer = broker_.call<proto::DeleteRecordsResponse>(request, 2);
    return static_cast<ErrorCode>(answer.topics[0].partitions[0].error_code);
  };
  broker_.disk.room = 0;
  EXPECT_EQ(remove(), ErrorCode::kKafkaStorageError) << "it could not be written down";
  EXPECT_EQ(broker_.partition("t").log().log_start_offset(), 1) << "but readers see it, and segments go";
  broker_.disk.room.reset();
  EXPECT_EQ(remove(), ErrorCode::kNone) << "asked again: not before it is written down";
  broker_.crash();
  broker_.start();
  EXPECT_EQ(broker_.partition("t").log().log_start_offset(), 1);
}

}  // namespace
}  // namespace pelton::broker
