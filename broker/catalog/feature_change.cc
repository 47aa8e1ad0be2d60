#include "broker/catalog/feature_change.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "broker/catalog/registration.h"
#include "proto/messages/metadata_records.h"

namespace pelton::broker {
namespace {

// Levels of metadata.version that brought records which the level before cannot read.
constexpr auto kLevelsWithNewRecords = std::to_array<int16_t>({7, 8, 11, 13, 14, 15, 17, 23, 30, 32, 33});

bool loses_records(int16_t from, int16_t to) {
  return std::ranges::any_of(kLevelsWithNewRecords, [&](int16_t level) { return level > to && level <= from; });
}

int16_t level_of(const CatalogReplay& state, std::string_view feature) {
  auto found = state.features().find(feature);
  return found == state.features().end() ? int16_t{0} : found->second;
}

std::string check(int16_t current, int16_t level, UpgradeType type) {
  if (level < kMinMetadataVersion || level > kMetadataVersion) {
    return fmt::format("this broker supports the levels {} to {}", kMinMetadataVersion, kMetadataVersion);
  }
  if (level > current && type != UpgradeType::kUpgrade) return "a downgrade does not lead to a higher level";
  if (level >= current) return {};
  if (type == UpgradeType::kUpgrade) return "an upgrade does not lead to a lower level";
  if (!loses_records(current, level)) return {};
  return type == UpgradeType::kSafeDowngrade ? "the downgrade might lose metadata"
                                             : "a downgrade that loses metadata is not supported";
}

}  // namespace

std::string plan_feature_change(const CatalogReplay& state, std::string_view feature, int16_t level,
                                UpgradeType type, MetadataRecords& records) {
  if (type < UpgradeType::kUpgrade || type > UpgradeType::kUnsafeDowngrade) {
    return fmt::format("feature {}: there is no such type of upgrade", feature);
  }
  if (feature != kMetadataVersionFeature) return fmt::format("this broker has no feature {}", feature);
  int16_t current = level_of(state, feature);
  std::string wrong = check(current, level, type);
  if (!wrong.empty()) return fmt::format("{} cannot go from level {} to {}: {}", feature, current, level, wrong);
  if (level == current) return {};
  proto::FeatureLevelRecord record;
  record.name = feature;
  record.feature_level = level;
  records.add(record);
  return {};
}

}  // namespace pelton::broker
