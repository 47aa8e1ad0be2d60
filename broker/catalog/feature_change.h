// The rules of a change of a finalized feature's level (KIP-584, KIP-778), with Apache Kafka's codes. The only
// feature here is metadata.version.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "broker/catalog/metadata_record.h"
#include "broker/catalog/replay.h"

namespace pelton::broker {

// As requests name it.
enum class UpgradeType : int8_t { kUpgrade = 1, kSafeDowngrade = 2, kUnsafeDowngrade = 3 };

// Adds the record that makes the change, none when the level is what it is. Returns why it may not be made
// (INVALID_UPDATE_VERSION); empty when it may.
std::string plan_feature_change(const CatalogReplay& state, std::string_view feature, int16_t level,
                                UpgradeType type, MetadataRecords& records);

}  // namespace pelton::broker
