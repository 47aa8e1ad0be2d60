// UpdateFeatures: levels of finalized features, all of them or none.

#include "proto/messages/update_features.h"

#include <memory>
#include <string>

#include "broker/authorize.h"
#include "broker/broker_shard.h"
#include "broker/catalog/feature_change.h"
#include "broker/catalog/request_change.h"
#include "broker/handlers/authorized_operations.h"
#include "broker/handlers/handlers.h"
#include "broker/request.h"

namespace pelton::broker {
namespace {

using proto::ErrorCode;
using proto::UpdateFeaturesRequest;
using proto::UpdateFeaturesResponse;
using Result = UpdateFeaturesResponse::UpdatableFeatureResult;

constexpr int16_t kUpgradeTypeFrom = 1;
constexpr int16_t kResultsUpTo = 1;

void answer(Request& request, const UpdateFeaturesRequest& asked, ErrorCode error, std::string_view why) {
  UpdateFeaturesResponse response;
  response.error_code = static_cast<int16_t>(error);
  response.error_message = std::nullopt;
  if (error != ErrorCode::kNone) response.error_message = why;
  if (error == ErrorCode::kNone && request.version() <= kResultsUpTo) {
    auto results = request.arena().array<Result>(asked.feature_updates.size());
    for (size_t i = 0; i < results.size(); ++i) {
      results[i] = {.feature = asked.feature_updates[i].feature, .error_message = proto::name(error)};
    }
    response.results = results;
  }
  request.respond(response);
}

class UpdateFeatures final : public RequestChange {
 public:
  UpdateFeatures(BrokerShard& here, Request& request, const UpdateFeaturesRequest& asked, int64_t deadline_ms)
      : RequestChange(here, request, deadline_ms), asked_(asked) {}

  void plan(const CatalogReplay& state, MetadataRecords& records) override {
    if (late()) return fail_all(ErrorCode::kRequestTimedOut);
    for (const auto& update : asked_.feature_updates) {
      UpgradeType type = request_.version() >= kUpgradeTypeFrom ? static_cast<UpgradeType>(update.upgrade_type)
                         : update.allow_downgrade               ? UpgradeType::kSafeDowngrade
                                                                : UpgradeType::kUpgrade;
      why_ = plan_feature_change(state, update.feature, update.max_version_level, type, records);
      if (why_.empty()) continue;
      error_ = ErrorCode::kInvalidUpdateVersion;
      return records.clear();
    }
  }

 private:
  void fail_all(ErrorCode error) override {
    if (error_ != ErrorCode::kNone) return;
    error_ = error;
    why_ = proto::name(error);
  }
  void respond() override { answer(request_, asked_, error_, why_); }

  const UpdateFeaturesRequest& asked_;
  ErrorCode error_ = ErrorCode::kNone;
  std::string why_;
};

}  // namespace

void handle_update_features(BrokerShard& here, Request& request) {
  const auto* asked = request.decode<UpdateFeaturesRequest>();
  if (asked == nullptr) return;
  if (!authorize(request, Operation::kAlter, ResourceType::kCluster, kClusterResource)) {
    return answer(request, *asked, ErrorCode::kClusterAuthorizationFailed, "not allowed to change features");
  }
  start_change<UpdateFeatures>(here, request, *asked);
}

}  // namespace pelton::broker
