#include "broker/catalog/feature_change.h"

#include <gtest/gtest.h>

#include "broker/catalog/registration.h"
#include "proto/messages/metadata_records.h"

namespace pelton::broker {
namespace {

using enum UpgradeType;

class FeatureChangeTest : public ::testing::Test {
 protected:
  explicit FeatureChangeTest(int16_t level = kMetadataVersion) {
    MetadataRecords records;
    records.add(proto::FeatureLevelRecord{.name = kMetadataVersionFeature, .feature_level = level});
    apply(records);
  }

  void apply(const MetadataRecords& records) {
    for (size_t i = 0; i < records.count(); ++i) ASSERT_TRUE(state.apply(records.value(i), 0).has_value());
  }

  // Whether it may be made; then it is.
  bool change(int16_t level, UpgradeType type, std::string_view feature = kMetadataVersionFeature) {
    MetadataRecords records;
    bool may = plan_feature_change(state, feature, level, type, records).empty();
    EXPECT_TRUE(may || records.empty());
    recorded = records.count();
    apply(records);
    return may;
  }
  int16_t level() { return state.features().at(std::string(kMetadataVersionFeature)); }

  CatalogReplay state{1, BrokerConfig{}};
  size_t recorded = 0;
};

struct OldLevelTest : FeatureChangeTest {
  OldLevelTest() : FeatureChangeTest(20) {}
};

TEST_F(FeatureChangeTest, TheSameLevelIsNoChange) {
  for (UpgradeType type : {kUpgrade, kSafeDowngrade, kUnsafeDowngrade}) {
    EXPECT_TRUE(change(kMetadataVersion, type));
    EXPECT_EQ(recorded, 0u);
  }
}

TEST_F(FeatureChangeTest, ADowngradeThatLosesRecordsIsRefused) {
  for (UpgradeType type : {kUpgrade, kSafeDowngrade, kUnsafeDowngrade}) {
    EXPECT_FALSE(change(kMetadataVersion - 1, type));
    EXPECT_FALSE(change(kMinMetadataVersion, type));
  }
}

TEST_F(FeatureChangeTest, WhatIsNotSupported) {
  EXPECT_FALSE(change(kMetadataVersion + 1, kUpgrade));
  EXPECT_FALSE(change(kMinMetadataVersion - 1, kUnsafeDowngrade));
  EXPECT_FALSE(change(0, kSafeDowngrade));
  EXPECT_FALSE(change(kMetadataVersion, static_cast<UpgradeType>(0)));
  EXPECT_FALSE(change(kMetadataVersion, static_cast<UpgradeType>(4)));
  EXPECT_FALSE(change(1, kUpgrade, "group.version"));
}

TEST_F(OldLevelTest, GoesUpAndIsKept) {
  EXPECT_FALSE(change(21, kSafeDowngrade));
  EXPECT_TRUE(change(21, kUpgrade));
  EXPECT_EQ(recorded, 1u);
  EXPECT_EQ(level(), 21);
}

TEST_F(OldLevelTest, GoesDownToLevelsWithTheSameRecords) {
  EXPECT_FALSE(change(19, kUpgrade));
  EXPECT_TRUE(change(19, kSafeDowngrade));
  EXPECT_TRUE(change(17, kUnsafeDowngrade));
  EXPECT_FALSE(change(16, kUnsafeDowngrade)) << "level 17 brought directories of partitions";
  EXPECT_EQ(level(), 17);
}

}  // namespace
}  // namespace pelton::broker
