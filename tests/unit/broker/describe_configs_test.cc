// Requests about configuration, on a whole broker: how much of a turn one of them takes.
#include <span>
#include <string>
#include <vector>

#include "proto/messages/describe_configs.h"
#include "proto/messages/incremental_alter_configs.h"
#include "tests/unit/broker/served_broker.h"

namespace pelton::broker {
namespace {

using proto::DescribeConfigsRequest;
using proto::DescribeConfigsResponse;
using proto::ErrorCode;
using Resource = DescribeConfigsRequest::DescribeConfigsResource;
constexpr int8_t kBrokerType = static_cast<int8_t>(ConfigResourceType::kBroker);
constexpr int16_t kVersion = 4;

class DescribeConfigsTest : public ::testing::Test {
 protected:
  void SetUp() override { broker_.start(); }

  DescribeConfigsRequest request(std::span<const Resource> resources) {
    DescribeConfigsRequest request;
    request.resources = {const_cast<Resource*>(resources.data()), resources.size()};
    return request;
  }
  // Turns of the loops from the request to its answer.
  int turns(const DescribeConfigsRequest& request, DescribeConfigsResponse& response) {
    uint64_t before = answered();
    broker_.send(request, kVersion);
    int turns = 0;
    broker_.turn_until([&] { return ++turns, answered() > before; });
    broker_.receive(response, kVersion);
    return turns;
  }

  test::ServedBroker broker_{1};

 private:
  // Answers that have been made.
  uint64_t answered() const {
    const BrokerShard& shard = broker_.server->shard(0);
    return shard.counters.requests - shard.requests_in_flight;
  }
};

TEST_F(DescribeConfigsTest, ManyResourcesAreDescribedOverManyTurns) {
  DescribeConfigsResponse response;
  std::vector<std::string_view> keys(1'000, "k");
  std::vector<Resource> one(1, {.resource_type = kBrokerType, .resource_name = "1"});
  one[0].configuration_keys = std::span(keys);
  int few = turns(request(one), response);
  ASSERT_EQ(response.results.size(), 1u);
  // A turn has time for two; the bytes come in a few.
  std::vector<Resource> many(30, one[0]);
  many.back().configuration_keys.reset();
  EXPECT_GT(turns(request(many), response), few + 10);
  ASSERT_EQ(response.results.size(), 30u);
  for (size_t i = 0; i + 1 < many.size(); ++i) EXPECT_TRUE(response.results[i].configs.empty());
  EXPECT_GT(response.results.back().configs.size(), 300u);
}

TEST_F(DescribeConfigsTest, OneOfAnUnknownTypeSpoilsTheRequest) {
  DescribeConfigsResponse response;
  std::vector<Resource> two(2, {.resource_type = kBrokerType, .resource_name = "1"});
  two[0].resource_type = 99;
  turns(request(two), response);
  ASSERT_EQ(response.results.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(response.results[i].error_code, proto::wire(ErrorCode::kInvalidRequest));
    EXPECT_EQ(response.results[i].resource_type, two[i].resource_type);
    EXPECT_TRUE(response.results[i].configs.empty());
  }
}

TEST_F(DescribeConfigsTest, AKeyOfManyResourcesTakesFewTurns) {
  DescribeConfigsResponse response;
  std::string_view key = "node.id", none = "no.such.key";
  std::vector<Resource> many(4'000, {.resource_type = kBrokerType, .resource_name = "1"});
  for (Resource& resource : many) resource.configuration_keys = std::span(&none, 1);
  many.back().configuration_keys = std::span(&key, 1);
  EXPECT_LT(turns(request(many), response), 40);
  ASSERT_EQ(response.results.size(), 4'000u);
  EXPECT_TRUE(response.results.front().configs.empty());
  ASSERT_EQ(response.results.back().configs.size(), 1u);
  EXPECT_EQ(response.results.back().configs[0].name, key);
}

TEST_F(DescribeConfigsTest, TheKeysOfAResourceAreBounded) {
  DescribeConfigsResponse response;
  std::vector<std::string_view> keys(10'001, "node.id");
  std::vector<Resource> two(2, {.resource_type = kBrokerType, .resource_name = "1"});
  two[0].configuration_keys = std::span(keys);
  two[1].configuration_keys = std::span(keys).first(10'000);
  turns(request(two), response);
  ASSERT_EQ(response.results.size(), 2u);
  EXPECT_EQ(response.results[0].error_code, proto::wire(ErrorCode::kInvalidRequest));
  EXPECT_EQ(response.results[1].error_code, 0);
  EXPECT_EQ(response.results[1].configs.size(), 1u);
}

TEST_F(DescribeConfigsTest, TheChangesOfARequestAreBounded) {
  using Change = proto::IncrementalAlterConfigsRequest::AlterConfigsResource;
  proto::IncrementalAlterConfigsRequest::AlterableConfig config{
      .name = "consumer.session.timeout.ms", .config_operation = 0, .value = "50000"};
  std::vector<std::string> names;
  for (int i = 0; i < 5'001; ++i) names.push_back("g" + std::to_string(i));
  std::vector<Change> changes;
  for (const std::string& name : names) {
    changes.push_back({.resource_type = static_cast<int8_t>(ConfigResourceType::kGroup),
                       .resource_name = name, .configs = {&config, 1}});
  }
  proto::IncrementalAlterConfigsRequest request;
  request.validate_only = true;
  for (size_t count : {5'000, 5'001}) {
    request.resources = std::span(changes).first(count);
    auto answer = broker_.call<proto::IncrementalAlterConfigsResponse>(request, 1);
    ASSERT_EQ(answer.responses.size(), count);
    ErrorCode expected = count == 5'000 ? ErrorCode::kNone : ErrorCode::kPolicyViolation;
    for (const auto& one : answer.responses) ASSERT_EQ(one.error_code, proto::wire(expected));
  }
}

TEST_F(DescribeConfigsTest, TheBytesThatARequestLooksAtAreBounded) {
  using Change = proto::IncrementalAlterConfigsRequest::AlterConfigsResource;
  using Config = proto::IncrementalAlterConfigsRequest::AlterableConfig;
  const std::string most(32'000, 'x');
  Config large{.name = "metrics", .config_operation = 0, .value = most};
  Config small{.name = "interval.ms", .config_operation = 0, .value = "60000"};
  std::vector<std::string> names;
  for (int i = 0; i < 70; ++i) names.push_back("c" + std::to_string(i));
  proto::IncrementalAlterConfigsRequest request;
  std::vector<Change> changes;
  for (const std::string& name : names) {
    Change change{.resource_type = static_cast<int8_t>(ConfigResourceType::kClientMetrics),
                  .resource_name = name, .configs = {&large, 1}};
    request.resources = {&change, 1};
    auto answer = broker_.call<proto::IncrementalAlterConfigsResponse>(request, 1);
    ASSERT_EQ(answer.responses[0].error_code, 0);
    change.configs = {&small, 1};
    changes.push_back(change);
  }
  request.resources = changes;
  auto answer = broker_.call<proto::IncrementalAlterConfigsResponse>(request, 1);
  ASSERT_EQ(answer.responses.size(), 70u);
  EXPECT_EQ(answer.responses[60].error_code, 0);
  EXPECT_EQ(answer.responses[69].error_code, proto::wire(ErrorCode::kPolicyViolation));
}

}  // namespace
}  // namespace pelton::broker
