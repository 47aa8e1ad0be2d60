// The bytes of records, and what of foreign logs is understood.
#include "broker/group/group_records.h"

#include "broker/group/java_string.h"
#include "proto/messages/offset_records.h"
#include "tests/unit/broker/group/group_fixture.h"

namespace pelton::broker::group {
namespace {

std::string hex(Bytes bytes) {
  std::string text;
  for (uint8_t byte : bytes) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

TEST(JavaString, HashAndLengthAreThoseOfJava) {
  // From a Java virtual machine: "...".hashCode(), length().
  EXPECT_EQ(java_hash(""), 0);
  EXPECT_EQ(java_hash("a"), 97);
  EXPECT_EQ(java_hash("console-consumer-12345"), 158455506);
  EXPECT_EQ(java_hash("\xC3\xA4\xC3\xB6\xC3\xBC"), 226986);  // äöü
  EXPECT_EQ(java_hash("\xF0\x9F\x98\x80"), 1772899);         // U+1F600
  EXPECT_EQ(java_hash("polygenelubricants"), INT32_MIN);
  EXPECT_EQ(utf16_length("\xC3\xA4"
                         "b\xF0\x9F\x98\x80"),
            4u);
  EXPECT_EQ(java_hash("\xFF"), 0xFFFD);
  EXPECT_EQ(utf16_length("\xE2\x82"), 2u);
}

TEST(JavaString, PartitionIsNeverNegative) {
  EXPECT_EQ(coordinator_partition_of("polygenelubricants", 50), 0);
  EXPECT_EQ(coordinator_partition_of("console-consumer-12345", 50), 6);
  EXPECT_EQ(coordinator_partition_of("a", 1), 0);
}

TEST(GroupRecords, OffsetCommitIsAsKafkaWritesIt) {
  RecordBuffer records;
  CommittedOffset offset{.offset = 5,
                         .leader_epoch = 2,
                         .metadata = "m",
                         .commit_timestamp = 0x0102,
                         .expire_timestamp = {},
                         .topic_id = {}};
  add_offset_commit(records, "g", "t", 3, offset);
  EXPECT_EQ(hex(records.key(0)),
            "0001"
            "000167"
            "000174"
            "00000003");
  EXPECT_EQ(hex(*records.value(0)),
            "0004"
            "0000000000000005"
            "00000002"
            "026d"
            "0000000000000102"
            "00");
  records.clear();
  offset.expire_timestamp = 9;
  add_offset_commit(records, "g", "t", 3, offset);
  EXPECT_EQ(hex(*records.value(0)),
            "0001"
            "0000000000000005"
            "00016d"
            "0000000000000102"
            "0000000000000009");
  records.clear();
  add_offset_tombstone(records, "g", "t", 3);
  EXPECT_EQ(hex(records.key(0)),
            "0001"
            "000167"
            "000174"
            "00000003");
  EXPECT_FALSE(records.value(0));
}

TEST_F(GroupTest, GroupMetadataIsAsKafkaWritesIt) {
  stable_group({.instance_id = "i", .protocols = {{"range", "R"}}});
  RecordBuffer records;
  add_group_metadata(records, *groups().find("g"));
  EXPECT_EQ(hex(records.key(0)),
            "0002"
            "000167");
  proto::Arena arena(1 << 16);
  Bytes bytes = *records.value(0);
  EXPECT_EQ(load_be<int16_t>(bytes.data()), 3);
  proto::WireReader in(bytes.subspan(2), arena);
  proto::GroupMetadataValue value;
  value.decode(in, 3);
  ASSERT_TRUE(in.ok());
  EXPECT_EQ(in.left(), 0u);
  EXPECT_EQ(value.protocol_type, "consumer");
  EXPECT_EQ(value.protocol, "range");
  ASSERT_EQ(value.members.size(), 1u);
  EXPECT_EQ(value.members[0].group_instance_id, "i");
  EXPECT_EQ(as_text(value.members[0].subscription), "R");
  EXPECT_EQ(as_text(value.members[0].assignment), "a1");
}

struct BatchKind {
  int64_t producer_id = -1;
  proto::Codec codec = proto::Codec::kNone;
};

// A key of a protocol that is not known here.
struct OtherKey : proto::GroupMetadataKey {
  static constexpr int16_t kRecordType = 3;
};

class ForeignLogTest : public GroupTest {
 protected:
  void add(const RecordBuffer& records, BatchKind how = {}) {
    proto::BatchBuilder builder(
        {.base_offset = disk.next_offset,
         .codec = how.codec,
         .producer_id = how.producer_id,
         .producer_epoch = static_cast<int16_t>(how.producer_id < 0 ? -1 : 0),
         .transactional = how.producer_id >= 0});
    for (size_t i = 0; i < records.count(); ++i)
      builder.append(1, records.key(i), records.value(i));
    add_batch([&](auto& out) { ASSERT_TRUE(builder.build(out)); });
  }
  void end_transaction(int64_t producer_id, bool commit) {
    add_batch([&](auto& out) {
      proto::build_end_transaction_marker(
          {.base_offset = disk.next_offset, .producer_id = producer_id, .producer_epoch = 0}, 1,
          commit ? proto::ControlType::kCommit : proto::ControlType::kAbort, 0, out);
    });
  }
  template <class Build>
  void add_batch(Build&& build) {
    std::vector<uint8_t> bytes;
    build(bytes);
    disk.next_offset = proto::BatchView(bytes).next_offset();
    disk.batches.push_back(std::move(bytes));
  }
  RecordBuffer offset_record(int64_t offset, std::string_view topic = "t") {
    RecordBuffer records;
    add_offset_commit(records, "g", topic, 0, {.offset = offset});
    return records;
  }
  int64_t offset(std::string_view topic = "t") {
    const CommittedOffset* found = coordinator->offsets().find("g", topic, 0);
    return found == nullptr ? -1 : found->offset;
  }
};

TEST_F(ForeignLogTest, OldFormsOfOffsets) {
  RecordBuffer records;
  records.add(proto::LegacyOffsetCommitKey{.group = "g", .topic = "legacy", .partition = 0},
              proto::LegacyOffsetCommitValue{.offset = 11, .metadata = "x", .commit_timestamp = 1},
              0);
  for (int16_t version = 0; version <= 4; ++version) {
    records.add(proto::OffsetCommitKey{.group = "g", .topic = "t", .partition = version},
                proto::OffsetCommitValue{.offset = 100 + version, .metadata = "y"}, version);
  }
  add(records);
  start();
  EXPECT_EQ(offset("legacy"), 11);
  for (int16_t version = 0; version <= 4; ++version) {
    const CommittedOffset* found = coordinator->offsets().find("g", "t", version);
    ASSERT_NE(found, nullptr) << version;
    EXPECT_EQ(found->offset, 100 + version);
  }
}

TEST_F(ForeignLogTest, CompressedBatches) {
  add(offset_record(1), {.codec = proto::Codec::kGzip});
  add(offset_record(2), {.codec = proto::Codec::kZstd});
  start();
  EXPECT_EQ(offset(), 2);
}

TEST_F(ForeignLogTest, RecordsOfOtherProtocolsArePassedOver) {
  RecordBuffer records;
  OtherKey key;
  key.group = "new";
  records.add(key, proto::GroupMetadataValue{}, 0);
  add(records);
  add(offset_record(2));
  start();
  EXPECT_EQ(runtime->state(), CoordinatorPartition::State::kActive);
  EXPECT_EQ(offset(), 2);
  EXPECT_EQ(groups().find("new"), nullptr);
}

TEST_F(ForeignLogTest, TransactionalOffsetsCountWhenTheirTransactionCommits) {
  add(offset_record(1));
  add(offset_record(2), {.producer_id = 7});
  add(offset_record(3, "u"), {.producer_id = 8});
  start();
  EXPECT_EQ(offset(), 1);
  EXPECT_TRUE(coordinator->offsets().has_pending("g", "t", 0));
  end_transaction(7, true);
  end_transaction(8, false);
  start();
  EXPECT_EQ(offset(), 2);
  EXPECT_EQ(offset("u"), -1);
  EXPECT_FALSE(coordinator->offsets().has_pending("g"));
}

TEST_F(ForeignLogTest, PlainCommitAfterATransactionalOneWins) {
  add(offset_record(1), {.producer_id = 7});
  add(offset_record(5));
  end_transaction(7, true);
  start();
  EXPECT_EQ(offset(), 5);
}

TEST_F(ForeignLogTest, GroupsOfOldVersionsHaveOneTimeout) {
  std::vector<proto::GroupMetadataValue::MemberMetadata> members(1);
  members[0].member_id = "m";
  members[0].session_timeout = 9'000;
  proto::GroupMetadataValue value;
  value.protocol_type = "consumer";
  value.generation = 4;
  value.protocol = "range";
  value.leader = "m";
  value.members = members;
  RecordBuffer records;
  records.add(proto::GroupMetadataKey{.group = "g"}, value, 0);
  add(records);
  start();
  EXPECT_EQ(state(), GroupState::kStable);
  EXPECT_EQ(groups().find("g")->generation(), 4);
  EXPECT_EQ(groups().find("g")->rebalance_timeout_ms(), 9'000);
  EXPECT_EQ(heartbeat("m", 4), ErrorCode::kNone);
}

}  // namespace
}  // namespace pelton::broker::group
