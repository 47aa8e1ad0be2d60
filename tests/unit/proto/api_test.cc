#include "proto/api.h"

#include <gtest/gtest.h>

#include "proto/any_message.h"
#include "proto/error_code.h"

namespace pelton::proto {
namespace {

TEST(Api, CountsPerListener) {
  int broker = 0, controller_only = 0, both = 0;
  for (const ApiInfo& api : all_apis()) {
    broker += api.on_broker;
    both += api.on_broker && api.on_controller;
    controller_only += api.on_controller && !api.on_broker;
  }
  EXPECT_EQ(broker, 79);
  EXPECT_EQ(both, 30);
  EXPECT_EQ(controller_only, 12);
}

TEST(Api, KeyAndVersionPairsOnTheBrokerListener) {
  int pairs = 0;
  for (const ApiInfo& api : all_apis())
    if (api.on_broker) pairs += api.max_version - api.min_version + 1;
  EXPECT_EQ(pairs, 285);
}

TEST(Api, Lookup) {
  for (int16_t key = -5; key < 200; ++key) {
    const ApiInfo* api = find_api(key);
    bool live = key >= 0 && key <= 94 && !(key >= 4 && key <= 7);
    ASSERT_EQ(api != nullptr, live) << key;
    if (live) {
      EXPECT_EQ(static_cast<int16_t>(api->key), key);
    }
  }
  const ApiInfo* fetch = find_api(1);
  EXPECT_EQ(fetch->name, "Fetch");
  EXPECT_EQ(fetch->min_version, 4);
  EXPECT_EQ(fetch->max_version, 18);
  EXPECT_EQ(fetch->flexible_from, 12);
}

TEST(Api, OnlyInitProducerIdHasAnUnstableLatestVersion) {
  for (const ApiInfo& api : all_apis())
    EXPECT_EQ(api.latest_unstable, api.key == ApiKey::kInitProducerId) << api.name;
}

TEST(Api, HeaderVersions) {
  EXPECT_EQ(request_header_version(0, 8), 1);
  EXPECT_EQ(request_header_version(0, 9), 2);
  EXPECT_EQ(request_header_version(17, 1), 1);
  EXPECT_EQ(request_header_version(18, 3), 2);
  EXPECT_EQ(request_header_version(5, 0), kNoHeaderVersion);
  EXPECT_EQ(response_header_version(0, 9), 1);
  EXPECT_EQ(response_header_version(18, 3), 0);
  EXPECT_EQ(response_header_version(47, 0), 0);
  EXPECT_EQ(response_header_version(200, 0), kNoHeaderVersion);
}

TEST(Api, EveryApiHasItsMessages) {
  for (const ApiInfo& api : all_apis()) {
    auto key = static_cast<int16_t>(api.key);
    const MessageType* request = request_type(key);
    const MessageType* response = response_type(key);
    ASSERT_NE(request, nullptr) << api.name;
    ASSERT_NE(response, nullptr) << api.name;
    EXPECT_EQ(request->name, std::string(api.name) + "Request");
    EXPECT_EQ(response->name, std::string(api.name) + "Response");
    EXPECT_EQ(request->min_version, api.min_version);
    EXPECT_EQ(response->max_version, api.max_version);
    EXPECT_EQ(request->flexible_from, api.flexible_from);
  }
  EXPECT_EQ(request_type(4), nullptr);
}

TEST(Api, RecordsByFamilyAndNumber) {
  auto named = [](std::string_view family, MessageKind kind, int16_t number) {
    const MessageType* type = record_type(family, kind, number);
    return type != nullptr ? type->name : "";
  };
  EXPECT_EQ(named("cluster_metadata", MessageKind::kRecord, 2), "TopicRecord");
  EXPECT_EQ(named("group", MessageKind::kKey, 1), "OffsetCommitKey");
  EXPECT_EQ(named("group", MessageKind::kValue, 2), "GroupMetadataValue");
  EXPECT_EQ(named("transaction", MessageKind::kValue, 0), "TransactionLogValue");
  EXPECT_EQ(named("cluster_metadata", MessageKind::kRecord, 6), "");
  int metadata = 0;
  for (const MessageType* type : all_message_types()) metadata += type->family == "cluster_metadata";
  EXPECT_EQ(metadata, 27);
}

TEST(ErrorCode, Table) {
  EXPECT_EQ(name(ErrorCode::kNone), "NONE");
  EXPECT_EQ(name(ErrorCode::kUnknownServerError), "UNKNOWN_SERVER_ERROR");
  EXPECT_EQ(name(ErrorCode::kOffsetOutOfRange), "OFFSET_OUT_OF_RANGE");
  EXPECT_EQ(wire(ErrorCode::kOffsetOutOfRange), 1);
  EXPECT_EQ(wire(ErrorCode::kUnknownTopicId), 100);
  EXPECT_EQ(name(static_cast<ErrorCode>(136)), "CONTROLLER_ID_NOT_REGISTERED");
  EXPECT_EQ(name(static_cast<ErrorCode>(137)), "UNKNOWN_SERVER_ERROR");
  EXPECT_EQ(find_error_code(-2), nullptr);
  EXPECT_EQ(find_error_code(137), nullptr);
  int known = 0;
  for (int16_t code = -200; code < 500; ++code) known += find_error_code(code) != nullptr;
  EXPECT_EQ(known, 138);
}

TEST(ErrorCode, Retriable) {
  EXPECT_TRUE(retriable(ErrorCode::kNotLeaderOrFollower));
  EXPECT_TRUE(find_error_code(wire(ErrorCode::kNotLeaderOrFollower))->refresh);
  EXPECT_TRUE(retriable(ErrorCode::kCoordinatorLoadInProgress));
  EXPECT_FALSE(find_error_code(wire(ErrorCode::kCoordinatorLoadInProgress))->refresh);
  EXPECT_FALSE(retriable(ErrorCode::kNone));
  EXPECT_FALSE(retriable(ErrorCode::kUnknownServerError));
  EXPECT_FALSE(retriable(ErrorCode::kTopicAlreadyExists));
}

}  // namespace
}  // namespace pelton::proto
