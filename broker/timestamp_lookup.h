// TimestampLookup: one lookup by time in one partition's log. What is small is searched at once, what would
// hold the shard too long on a helper thread; segment after segment until the record is found.
//
// Owner shard: the partition's. Lifetime: state of a request. While a job is under way its search belongs to
// the helper.
#pragma once

#include <cstdint>
#include <optional>

#include "broker/broker_shard.h"
#include "broker/partition.h"
#include "reactor/helper_threads.h"
#include "storage/timestamp_search.h"

namespace pelton::broker {

class TimestampLookup {
 public:
  using Found = Result<storage::TimestampOffset, proto::ErrorCode>;
  using Done = void (*)(void* owner);

  // done: called on this shard when start() has returned false.
  TimestampLookup(BrokerShard& here, Partition& partition, void* owner, Done done);

  // The first record at or after `timestamp` that lies before `upper`; with kLargest the one with the largest
  // timestamp. True: found() is there.
  static constexpr int64_t kLargest = -1;
  bool start(int64_t timestamp, const storage::LogPosition& upper);
  // Offset -1: there is none.
  const Found& found() const { return found_; }

 private:
  using Step = Result<std::optional<storage::TimestampOffset>, proto::ErrorCode>;

  // True: found_ is final.
  bool go_on();
  bool take_step();
  void end_step();
  void hand_over();
  void work(HelperContext& context);
  void worked(Shard&);
  void on_later_turn(Shard&);

  BrokerShard& here_;
  Uuid topic_id_;
  int32_t index_;
  void* owner_;
  Done done_;
  int64_t timestamp_ = 0;
  storage::LogPosition upper_;
  std::optional<storage::TimestampSearch> search_;
  Step step_;
  Found found_;
  HelperJob job_;
  Message later_turn_;
};

}  // namespace pelton::broker
