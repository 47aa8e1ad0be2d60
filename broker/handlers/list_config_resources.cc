// ListConfigResources: the names of resources that have configuration. Version 0 knows client metrics only.

#include "proto/messages/list_config_resources.h"

#include <algorithm>
#include <string>
#include <vector>

#include "broker/authorize.h"
#include "broker/broker_shard.h"
#include "broker/handlers/authorized_operations.h"
#include "broker/handlers/handlers.h"
#include "broker/request.h"

namespace pelton::broker {
namespace {

using proto::ErrorCode;
using proto::ListConfigResourcesRequest;
using proto::ListConfigResourcesResponse;
using Row = ListConfigResourcesResponse::ConfigResource;
using enum ConfigResourceType;

constexpr ConfigResourceType kAll[] = {kTopic, kBroker, kBrokerLogger, kClientMetrics, kGroup};
constexpr int16_t kTypesFrom = 1;

class Answer {
 public:
  Answer(BrokerShard& here, Request& request, const ListConfigResourcesRequest& asked)
      : here_(here), request_(request), asked_(asked), node_(std::to_string(here.config.node_id)) {}

  void respond() {
    ListConfigResourcesResponse response;
    if (!authorize(request_, Operation::kDescribeConfigs, ResourceType::kCluster, kClusterResource)) {
      response.error_code = static_cast<int16_t>(ErrorCode::kClusterAuthorizationFailed);
    } else if (!std::ranges::all_of(asked_.resource_types, is_known)) {
      response.error_code = static_cast<int16_t>(ErrorCode::kUnsupportedVersion);
    } else {
      for (ConfigResourceType type : kAll) {
        if (wanted(type)) add(type);
      }
      response.config_resources = rows_;
    }
    request_.respond(response);
  }

 private:
  static bool is_known(int8_t type) {
    return std::ranges::count(kAll, static_cast<ConfigResourceType>(type)) > 0;
  }

  bool wanted(ConfigResourceType type) const {
    if (request_.version() < kTypesFrom) return type == kClientMetrics;
    const auto& types = asked_.resource_types;
    return types.empty() || std::ranges::count(types, static_cast<int8_t>(type)) > 0;
  }

  void add(ConfigResourceType type) {
    switch (type) {
      case kTopic:
        for (const auto& [name, topic] : here_.catalog->topics()) add(type, name);
        return;
      case kBroker:
      case kBrokerLogger: return add(type, node_);
      case kClientMetrics:
      case kGroup:
        for (const auto& [resource, texts] : *here_.catalog->configs()) {
          if (resource.first == type) add(type, resource.second);
        }
        return;
    }
  }

  void add(ConfigResourceType type, std::string_view name) {
    rows_.push_back({.resource_name = name, .resource_type = static_cast<int8_t>(type)});
  }

  BrokerShard& here_;
  Request& request_;
  const ListConfigResourcesRequest& asked_;
  std::string node_;
  std::vector<Row> rows_;
};

}  // namespace

void handle_list_config_resources(BrokerShard& here, Request& request) {
  const auto* asked = request.decode<ListConfigResourcesRequest>();
  if (asked == nullptr) return;
  Answer(here, request, *asked).respond();
}

}  // namespace pelton::broker
