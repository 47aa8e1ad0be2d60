// PartitionSet: the partitions one shard owns, found by topic id and index.
//
// Owner shard: one. Follows the catalog in two steps: open() makes ready what a new snapshot adds, a few
// logs a turn; take_over() retires what it has not, when every shard is ready.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "broker/catalog/snapshot.h"
#include "broker/partition.h"
#include "reactor/timer_wheel.h"

namespace pelton::broker {

struct BrokerShard;

class PartitionSet {
 public:
  explicit PartitionSet(BrokerShard& here) : here_(here) {}
  PartitionSet(const PartitionSet&) = delete;
  PartitionSet& operator=(const PartitionSet&) = delete;

  // nullptr when this shard does not own it (or it is gone).
  Partition* find(Uuid topic_id, int32_t index);

  // The first snapshot: opens every log that belongs here, those found on disk and those that are not there
  // yet. Blocking, start-up only. Error: one sentence (a directory that cannot be created or loaded).
  Result<void, std::string> load(std::shared_ptr<const CatalogSnapshot> first);

  // Creates the logs of partitions that `next` adds here, in several turns, then tells `done` (in a later
  // turn): they are usable, though the catalog does not show them yet. The error is the first one; the
  // others were created all the same, and what is missing is tried again: by the next open(), and by itself. One
  // at a time.
  using Opened = void (*)(void* owner, Result<void, std::string> outcome);
  void open(std::shared_ptr<const CatalogSnapshot> next, void* owner, Opened done);
  // After open(next): retires the partitions that are not in `next`, hands on changed configs.
  void take_over(std::shared_ptr<const CatalogSnapshot> next);

  template <class Visit>
  void for_each(Visit&& visit) {
    for (auto& [key, partition] : partitions_) visit(*partition);
  }
  size_t size() const { return partitions_.size(); }

  // Shutdown: ends every wait and closes every log; returns one sentence for each that failed.
  std::vector<std::string> close_all();

 private:
  struct Key {
    Uuid topic_id;
    int32_t index;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const noexcept {
      return std::hash<Uuid>{}(key.topic_id) * 31 + static_cast<size_t>(key.index);
    }
  };

  // An open() under way: partitions of `next` that are to be created, and how far that is.
  struct Opening {
    std::shared_ptr<const CatalogSnapshot> next;
    std::vector<std::pair<const TopicInfo*, const PartitionInfo*>> missing;
    size_t at;
    void* owner;
    Opened done;
    Result<void, std::string> outcome;
  };

  void open_some(Shard&);
  enum class Origin : uint8_t {
    kFound,     // by the start
    kNotFound,  // it is in the first catalog all the same
    kNew,
  };
  Result<void, std::string> add(const TopicInfo& topic, const PartitionInfo& info, Origin origin);
  int64_t held_before(Uuid topic_id, const storage::TopicPartition& id, Origin origin) const;
  // A log that stands for one that cannot be opened.
  std::unique_ptr<storage::Log> offline(Partition& partition, const storage::LogConfig& config);
  void remove(const TopicInfo& topic);
  void start_retry(uint64_t delay_ns);
  void on_retry();
  // Calls visit(topic, partition) for those of `next` that belong here and are not open.
  template <class Visit>
  void for_each_new(const CatalogSnapshot& next, Visit&& visit);

  BrokerShard& here_;
  std::shared_ptr<const CatalogSnapshot> applied_;
  boost::unordered_flat_map<Key, std::unique_ptr<Partition>, KeyHash> partitions_;
  std::optional<Opening> opening_;
  bool incomplete_ = false;  // the last open() failed: the next one looks at every topic
  uint64_t retry_delay_ns_ = 0;
  Timer retry_ = Timer::bind<&PartitionSet::on_retry>(this);
  Message open_more_ = Message::bind<&PartitionSet::open_some>(this);
};

}  // namespace pelton::broker
