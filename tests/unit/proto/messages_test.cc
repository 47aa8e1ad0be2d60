#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>
#include <vector>

#include "proto/any_message.h"
#include "proto/messages/consumer_group_heartbeat.h"
#include "proto/messages/consumer_group_records.h"
#include "proto/messages/create_topics.h"
#include "proto/messages/fetch.h"
#include "proto/messages/init_producer_id.h"
#include "proto/messages/metadata.h"
#include "proto/messages/metadata_records.h"
#include "proto/messages/offset_records.h"
#include "proto/messages/produce.h"
#include "proto/wire.h"

namespace pelton::proto {
namespace {

using std::string_view_literals::operator""sv;
using Frame = std::vector<uint8_t>;

template <class Message>
Frame encoded(const Message& message, int16_t version) {
  Frame bytes(message.size(version));
  WireWriter out(bytes);
  message.encode(out, version);
  EXPECT_EQ(out.written(), bytes.size());
  return bytes;
}

template <class Message>
struct Decoded {
  Decoded(Frame from, int16_t version, size_t limit = 1 << 20)
      : frame(std::move(from)), arena(limit) {
    WireReader in(frame, arena);
    message.decode(in, version);
    error = in.error();
    left = in.left();
  }
  Frame frame;
  Arena arena;
  Message message;
  DecodeError error;
  size_t left;
};

template <class Message>
std::string dumped(const Message& message, int16_t version) {
  std::string text;
  message.dump(text, version);
  return text;
}

TEST(Messages, ClassicFormByHand) {
  // MetadataRequest v4: two topics, no auto-creation
  Frame bytes = {0, 0, 0, 2, 0, 1, 'a', 0, 2, 'b', 'c', 0};
  Decoded<MetadataRequest> decoded(bytes, 4);
  ASSERT_EQ(decoded.error, DecodeError::kNone);
  EXPECT_EQ(decoded.left, 0u);
  ASSERT_TRUE(decoded.message.topics.has_value());
  ASSERT_EQ(decoded.message.topics->size(), 2u);
  EXPECT_EQ((*decoded.message.topics)[1].name, "bc");
  EXPECT_FALSE(decoded.message.allow_auto_topic_creation);
  EXPECT_EQ(encoded(decoded.message, 4), bytes);
}

TEST(Messages, FlexibleFormByHand) {
  // MetadataRequest v9: null topics, flags, no tags
  Frame bytes = {0, 1, 0, 0, 0};
  Decoded<MetadataRequest> decoded(bytes, 9);
  ASSERT_EQ(decoded.error, DecodeError::kNone);
  EXPECT_FALSE(decoded.message.topics.has_value());
  EXPECT_TRUE(decoded.message.allow_auto_topic_creation);
  EXPECT_EQ(encoded(decoded.message, 9), bytes);
}

TEST(Messages, NullOnlyInVersionsThatHaveIt) {
  Frame null_topics = {0xff, 0xff, 0xff, 0xff};
  EXPECT_EQ(Decoded<MetadataRequest>(null_topics, 1).error, DecodeError::kNone);
  EXPECT_EQ(Decoded<MetadataRequest>(null_topics, 0).error, DecodeError::kBadLength);
  MetadataRequest all;
  all.topics.reset();
  EXPECT_EQ(encoded(all, 0), Frame({0, 0, 0, 0})) << "null is written as empty in version 0";
}

TEST(Messages, AbsentFieldsTakeTheirDefaults) {
  InitProducerIdRequest filled;
  filled.transactional_id = "t";
  filled.transaction_timeout_ms = 5;
  filled.producer_id = ProducerId(9);
  filled.producer_epoch = 3;
  Decoded<InitProducerIdRequest> old(encoded(filled, 2), 2);
  ASSERT_EQ(old.error, DecodeError::kNone);
  EXPECT_EQ(old.message.transaction_timeout_ms, 5);
  EXPECT_EQ(old.message.producer_id, ProducerId(-1));
  EXPECT_EQ(old.message.producer_epoch, -1);
  Decoded<InitProducerIdRequest> recent(encoded(filled, 3), 3);
  EXPECT_EQ(recent.message.producer_id, ProducerId(9));
  EXPECT_EQ(recent.message.producer_epoch, 3);
}

TEST(Messages, DecodeOverwritesTheWholeObject) {
  Frame frame = encoded(InitProducerIdRequest(), 2);
  Arena arena(1000);
  WireReader in(frame, arena);
  InitProducerIdRequest message;
  message.producer_id = ProducerId(77);
  message.decode(in, 2);
  EXPECT_EQ(message.producer_id, ProducerId(-1));
}

TEST(Messages, TaggedFieldsAreWrittenOnlyWhenTheyDiffer) {
  FetchRequest request;
  size_t plain = request.size(18);
  request.cluster_id = "c";
  EXPECT_EQ(request.size(18), plain + 1 + 1 + 2) << "tag, size, compact string";
  request.replica_state.replica_epoch = 4;
  EXPECT_EQ(request.size(18), plain + 4 + 1 + 1 + 13) << "tag, size, struct with its own tags";
  Decoded<FetchRequest> decoded(encoded(request, 18), 18);
  ASSERT_EQ(decoded.error, DecodeError::kNone);
  EXPECT_EQ(decoded.message.cluster_id, "c");
  EXPECT_EQ(decoded.message.replica_state.replica_epoch, 4);
  EXPECT_EQ(decoded.message.replica_state.replica_id, BrokerId(-1));
  EXPECT_EQ(Decoded<FetchRequest>(encoded(request, 14), 14).message.replica_state.replica_epoch, -1);
}

TEST(Messages, ATagOfALaterVersionIsUnknownInAnEarlierOne) {
  FetchRequest request;
  request.replica_state.replica_epoch = 4;
  Frame bytes = encoded(request, 15);
  // version 14 has the classic replica id in front of what version 15 has
  bytes.insert(bytes.begin(), {0, 0, 0, 7});
  Decoded<FetchRequest> decoded(bytes, 14);
  ASSERT_EQ(decoded.error, DecodeError::kNone);
  EXPECT_EQ(decoded.left, 0u);
  EXPECT_EQ(decoded.message.replica_id, BrokerId(7));
  EXPECT_EQ(decoded.message.replica_state.replica_epoch, -1) << "skipped";
}

TEST(Messages, UnknownTagsAreSkippedAndNotWrittenAgain) {
  // CreateTopicsRequest v5: no topics, timeout, not validate-only, tag 9 of three bytes
  Frame bytes = {1, 0, 0, 0, 8, 0, 1, 9, 3, 1, 2, 3};
  Decoded<CreateTopicsRequest> decoded(bytes, 5);
  ASSERT_EQ(decoded.error, DecodeError::kNone);
  EXPECT_EQ(decoded.left, 0u);
  EXPECT_EQ(decoded.message.timeout_ms, 8);
  EXPECT_EQ(encoded(decoded.message, 5), Frame({1, 0, 0, 0, 8, 0, 0}));
}

TEST(Messages, NullableStructs) {
  ConsumerGroupHeartbeatResponse response;
  Frame without = encoded(response, 0);
  EXPECT_EQ(without[without.size() - 2], 0xff) << "marker of null before the tag count";
  Arena arena(1000);
  response.assignment = arena.make<ConsumerGroupHeartbeatResponse::Assignment>();
  Frame with = encoded(response, 0);
  Frame tail(with.end() - 4, with.end());
  EXPECT_EQ(tail, Frame({1, 1, 0, 0})) << "marker, empty array, its tags, outer tags";
  EXPECT_NE(Decoded<ConsumerGroupHeartbeatResponse>(with, 0).message.assignment, nullptr);
  EXPECT_EQ(Decoded<ConsumerGroupHeartbeatResponse>(without, 0).message.assignment, nullptr);
}

// Its default is an empty struct, not null: so null is written, marked by a varint.
TEST(Messages, ANullableStructInATag) {
  ConsumerGroupMemberMetadataValue value;
  Frame null_one = encoded(value, 0);
  EXPECT_EQ(Frame(null_one.end() - 4, null_one.end()), Frame({1, 0, 1, 0}));
  EXPECT_EQ(Decoded<ConsumerGroupMemberMetadataValue>(null_one, 0).message.classic_member_metadata,
            nullptr);

  Arena arena(1000);
  value.classic_member_metadata =
      arena.make<ConsumerGroupMemberMetadataValue::ClassicMemberMetadata>();
  Frame default_one = encoded(value, 0);
  EXPECT_EQ(default_one.back(), 0) << "no tags";
  EXPECT_NE(Decoded<ConsumerGroupMemberMetadataValue>(default_one, 0).message.classic_member_metadata,
            nullptr);

  value.classic_member_metadata->session_timeout_ms = 6;
  Frame bytes = encoded(value, 0);
  EXPECT_EQ(Frame(bytes.end() - 10, bytes.end()), Frame({1, 0, 7, 1, 0, 0, 0, 6, 1, 0}));
  Decoded<ConsumerGroupMemberMetadataValue> decoded(bytes, 0);
  ASSERT_EQ(decoded.error, DecodeError::kNone);
  ASSERT_NE(decoded.message.classic_member_metadata, nullptr);
  EXPECT_EQ(decoded.message.classic_member_metadata->session_timeout_ms, 6);
}

TEST(Messages, RecordsKeepTheirHoles) {
  Arena arena(10'000);
  FetchResponse response;
  response.responses = arena.array<FetchResponse::FetchableTopicResponse>(1);
  response.responses[0].partitions = arena.array<FetchResponse::PartitionData>(2);
  std::span<FetchResponse::PartitionData> partitions = response.responses[0].partitions;
  partitions[0].records = Records::external(100'000, 1);
  partitions[1].records = Records::of(as_bytes("inline"));
  for (int16_t version = 4; version <= 18; ++version) {
    Frame bytes(response.size(version) - 100'000);
    WireWriter out(bytes);
    response.encode(out, version);
    EXPECT_EQ(out.written(), bytes.size()) << version;
    ASSERT_EQ(out.holes().size(), 1u);
    WireWriter::Hole hole = out.holes()[0];
    EXPECT_EQ(hole.token, 1u);
    bytes.insert(bytes.begin() + hole.at, hole.size, 'r');
    Decoded<FetchResponse> decoded(bytes, version);
    ASSERT_EQ(decoded.error, DecodeError::kNone) << version;
    EXPECT_EQ(decoded.left, 0u);
    const FetchResponse::PartitionData& first = decoded.message.responses[0].partitions[0];
    EXPECT_EQ(as_text(first.records.bytes), std::string(100'000, 'r'));
    EXPECT_EQ(as_text(decoded.message.responses[0].partitions[1].records.bytes), "inline");
  }
}

TEST(Messages, ViewsPointIntoTheFrame) {
  Arena arena(10'000);
  ProduceRequest request;
  request.topic_data = arena.array<ProduceRequest::TopicProduceData>(1);
  request.topic_data[0].name = "topic";
  request.topic_data[0].partition_data = arena.array<ProduceRequest::PartitionProduceData>(1);
  request.topic_data[0].partition_data[0].records = Records::of(as_bytes("batch"));
  Decoded<ProduceRequest> decoded(encoded(request, 9), 9);
  ASSERT_EQ(decoded.error, DecodeError::kNone);
  Bytes records = decoded.message.topic_data[0].partition_data[0].records.bytes;
  EXPECT_EQ(as_text(records), "batch");
  EXPECT_GE(records.data(), decoded.frame.data());
  EXPECT_LE(records.data() + records.size(), decoded.frame.data() + decoded.frame.size());
}

TEST(Messages, RecordTypes) {
  EXPECT_EQ(TopicRecord::kRecordType, 2);
  EXPECT_EQ(PartitionRecord::kRecordType, 3);
  EXPECT_EQ(OffsetCommitKey::kRecordType, 1);
  OffsetCommitValue value;
  value.offset = 5;
  value.metadata = "m";
  EXPECT_EQ(encoded(value, 0), Frame({0, 0, 0, 0, 0, 0, 0, 5, 0, 1, 'm', 0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(value.leader_epoch, -1);
  EXPECT_EQ(value.expire_timestamp, -1);
}

TEST(Messages, UnknownVersionsDoNotDecode) {
  EXPECT_EQ(Decoded<FetchRequest>(Frame(100), 3).error, DecodeError::kUnsupportedVersion);
  EXPECT_EQ(Decoded<FetchRequest>(Frame(100), 19).error, DecodeError::kUnsupportedVersion);
}

TEST(MessagesDeathTest, UnknownVersionsDoNotEncode) {
  uint8_t room[100];
  WireWriter out(room);
  EXPECT_DEATH(FetchRequest().encode(out, 19), "kMaxVersion");
}

TEST(Messages, NothingIsAllocatedFromAWireNumber) {
  // MetadataRequest v4 that announces 2^31-1 topics in 20 bytes
  Frame bytes(20);
  bytes[0] = 0x7f;
  bytes[1] = bytes[2] = bytes[3] = 0xff;
  Decoded<MetadataRequest> decoded(bytes, 4);
  EXPECT_EQ(decoded.error, DecodeError::kTruncated);
  EXPECT_EQ(decoded.arena.reserved(), 0u);
}

TEST(Messages, ManyElementsRunIntoTheArenasLimit) {
  // 100,000 empty topic names, two bytes each
  Frame bytes = {0, 1, 0x86, 0xa0};
  bytes.resize(bytes.size() + 200'000 + 1);
  EXPECT_EQ(Decoded<MetadataRequest>(bytes, 4, 1 << 30).error, DecodeError::kNone);
  Decoded<MetadataRequest> limited(bytes, 4, 1 << 20);
  EXPECT_EQ(limited.error, DecodeError::kTooLarge);
  EXPECT_LE(limited.arena.reserved(), size_t{2} << 20);
}

TEST(Messages, DumpIsJson) {
  Arena arena(10'000);
  MetadataRequest request;
  request.topics = arena.array<MetadataRequest::MetadataRequestTopic>(2);
  (*request.topics)[0].name = "quote\" and \n";
  EXPECT_EQ(dumped(request, 10),
            "{\"topics\":[{\"topicId\":\"AAAAAAAAAAAAAAAAAAAAAA\",\"name\":\"quote\\\" and \\u000a\"},"
            "{\"topicId\":\"AAAAAAAAAAAAAAAAAAAAAA\",\"name\":\"\"}],"
            "\"allowAutoTopicCreation\":true,\"includeClusterAuthorizedOperations\":false,"
            "\"includeTopicAuthorizedOperations\":false}");
  EXPECT_EQ(dumped(MetadataRequest(), 0), "{\"topics\":[]}");
  PartitionChangeRecord change;
  EXPECT_EQ(dumped(change, 0), "{\"partitionId\":-1,\"topicId\":\"AAAAAAAAAAAAAAAAAAAAAA\"}");
  GroupMetadataValue group;
  group.members = arena.array<GroupMetadataValue::MemberMetadata>(1);
  group.members[0].subscription = as_bytes("abcd");
  EXPECT_NE(dumped(group, 0).find("\"subscription\":\"YWJjZA==\""), std::string::npos);
}

// Bytes that decode: what they decode to encodes to its announced size and decodes to the same.
void check_round_trip(const MessageType& type, int16_t version, const void* message) {
  std::string first;
  type.dump(message, first, version);
  Frame bytes(type.size(message, version));
  WireWriter out(bytes);
  type.encode(message, out, version);
  ASSERT_EQ(out.written(), bytes.size()) << type.name << " v" << version;
  Arena arena(1 << 20);
  WireReader in(bytes, arena);
  const void* again = type.decode(in, version);
  ASSERT_TRUE(in.ok()) << type.name << " v" << version << " " << name(in.error());
  ASSERT_EQ(in.left(), 0u) << type.name << " v" << version;
  std::string second;
  type.dump(again, second, version);
  ASSERT_EQ(first, second) << type.name << " v" << version;
}

TEST(Messages, RandomBytesOfEveryTypeAndVersion) {
  std::mt19937 random(20261130);
  size_t tried = 0, reached = 0;
  std::set<std::string_view> never;
  for (const MessageType* type : all_message_types()) {
    never.insert(type->name);
    for (int16_t version = type->min_version; version <= type->max_version; ++version, ++tried) {
      int good = 0;
      for (int round = 0; round < 300 && good < 20; ++round) {
        // mostly small numbers: short strings, short arrays, few tags
        Frame bytes(1 + random() % 200);
        for (uint8_t& byte : bytes) {
          uint32_t dice = random() % 32;
          byte = dice == 0 ? static_cast<uint8_t>(random()) : dice < 12 ? 0 : dice < 28 ? 1 : 2;
        }
        Arena arena(1 << 20);
        WireReader in(bytes, arena);
        const void* message = type->decode(in, version);
        if (!in.ok()) {
          ASSERT_EQ(in.left(), 0u);
          continue;
        }
        ++good;
        check_round_trip(*type, version, message);
        if (HasFatalFailure()) return;
      }
      reached += good > 0;
      if (good > 0) never.erase(type->name);
    }
  }
  std::string missed;
  for (std::string_view name : never) missed += std::string(name) + " ";
  EXPECT_GE(reached * 100, tried * 90) << reached << " of " << tried << "; never: " << missed;
}

}  // namespace
}  // namespace pelton::proto
