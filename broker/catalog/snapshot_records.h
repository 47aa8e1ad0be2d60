// SnapshotRecords: the records that make the catalog's state from nothing, in pieces, so that a shard can
// write them between other work.
//
// Made on kCatalogShard. What may change afterwards is copied at once; topics come from the immutable
// snapshot.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "broker/catalog/metadata_record.h"
#include "broker/catalog/replay.h"
#include "broker/catalog/snapshot.h"

namespace pelton::broker {

class SnapshotRecords {
 public:
  // `snapshot` is the state's newest one.
  SnapshotRecords(const CatalogReplay& state, std::shared_ptr<const CatalogSnapshot> snapshot);

  // Adds the next records until there are `max_bytes` of them or none is left. False: none was left.
  bool next(MetadataRecords& records, size_t max_bytes);

 private:
  using Topics = std::map<std::string, std::shared_ptr<const TopicInfo>, std::less<>>;

  void add_before_topics(const CatalogReplay& state);
  void add_after_topics(const CatalogReplay& state);
  bool next_of_topics(MetadataRecords& records);

  std::shared_ptr<const CatalogSnapshot> snapshot_;
  int16_t partition_version_;
  MetadataRecords before_;  // features, brokers
  MetadataRecords after_;   // configurations, producer ids, and what is only kept
  size_t before_at_ = 0;
  size_t after_at_ = 0;
  Topics::const_iterator topic_;
  size_t partition_at_ = 0;
  bool topic_begun_ = false;
};

}  // namespace pelton::broker
