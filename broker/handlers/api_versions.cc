// ApiVersions: what this broker can do. An unknown version is answered in version 0.

#include "proto/messages/api_versions.h"

#include <algorithm>
#include <array>
#include <vector>

#include "broker/broker_shard.h"
#include "broker/catalog/registration.h"
#include "broker/dispatch.h"
#include "broker/handlers/handlers.h"
#include "broker/request.h"

namespace pelton::broker {
namespace {

using proto::ApiVersionsRequest;
using proto::ApiVersionsResponse;
using proto::ErrorCode;
using Range = ApiVersionsResponse::ApiVersion;

constexpr int16_t kSoftwareFrom = 3;     // software name and version, features
constexpr int16_t kClusterIdFrom = 5;    // the cluster and node the client means to reach: both or none

Range range_of(const ApiHandler& handler) {
  return {.api_key = static_cast<int16_t>(handler.key),
          .min_version = handler.advertised_min,
          .max_version = handler.max_version};
}

void refuse_version(Request& request) {
  Range own = range_of(*find_handler(static_cast<int16_t>(proto::ApiKey::kApiVersions)));
  ApiVersionsResponse response;
  response.error_code = static_cast<int16_t>(ErrorCode::kUnsupportedVersion);
  response.api_keys = {&own, 1};
  request.respond_as(response, 0);
}

bool letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// Letters, digits, '-' and '.', the last two not at an end.
bool valid_software(std::string_view text) {
  return !text.empty() && letter_or_digit(text.front()) && letter_or_digit(text.back()) &&
         std::ranges::all_of(text, [](char c) { return letter_or_digit(c) || c == '-' || c == '.'; });
}

ErrorCode check(const BrokerShard& here, const ApiVersionsRequest& asked, int16_t version) {
  if (version >= kSoftwareFrom && (!valid_software(asked.client_software_name) ||
                                   !valid_software(asked.client_software_version))) {
    return ErrorCode::kInvalidRequest;
  }
  if (version >= kClusterIdFrom) {
    bool names_node = asked.node_id >= 0;
    if (asked.cluster_id.has_value() != names_node) return ErrorCode::kInvalidRequest;
    bool elsewhere = names_node && (*asked.cluster_id != here.log_dir.cluster_id() ||
                                    asked.node_id != here.config.node_id);
    if (elsewhere) return ErrorCode::kRebootstrapRequired;
  }
  return ErrorCode::kNone;
}

// Only features that work here are told, whatever levels a directory of Apache Kafka has finalized:
// clients choose what they do by them.
struct Features {
  ApiVersionsResponse::SupportedFeatureKey supported{.name = kMetadataVersionFeature,
                                                     .min_version = kMinMetadataVersion,
                                                     .max_version = kMetadataVersion};
  ApiVersionsResponse::FinalizedFeatureKey finalized{.name = kMetadataVersionFeature};

  void put_into(ApiVersionsResponse& response, const CatalogSnapshot& catalog) {
    response.supported_features = {&supported, 1};
    response.finalized_features_epoch = catalog.end_offset() - 1;
    auto level = catalog.features().find(kMetadataVersionFeature);
    if (level == catalog.features().end()) return;
    finalized.max_version_level = finalized.min_version_level = level->second;
    response.finalized_features = {&finalized, 1};
  }
};

}  // namespace

void handle_api_versions(BrokerShard& here, Request& request) {
  if (request.version() < ApiVersionsRequest::kMinVersion ||
      request.version() > ApiVersionsRequest::kMaxVersion) {
    return refuse_version(request);
  }
  const auto* asked = request.decode<ApiVersionsRequest>();
  if (asked == nullptr) return;
  ApiVersionsResponse response;
  ErrorCode error = check(here, *asked, request.version());
  response.error_code = static_cast<int16_t>(error);
  std::vector<Range> ranges;
  Features features;
  if (error == ErrorCode::kNone) {
    for (const ApiHandler& handler : api_handlers()) {
      if (!request.connection().controller || handler.on_controller) ranges.push_back(range_of(handler));
    }
    response.api_keys = ranges;
    features.put_into(response, *here.catalog);
  }
  request.respond(response);
}

}  // namespace pelton::broker
