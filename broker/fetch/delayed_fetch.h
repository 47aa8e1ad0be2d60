// DelayedFetch: one fetch over the partitions it names, answered at once or when there is enough.
//
// Home shard: the connection's. Partitions of each owning shard form a part, which works on that shard:
// it reads (offset -> file slice), waits on its partitions' high watermarks, and reads again when enough
// has come. Only slices and numbers cross shards, never data.
//
// A part that is alone decides everything on its shard, its timer included: one message there and one back, however
// long the fetch waits. Of several, home decides, and its timer counts. A part tells home once for each command
// (serve, read, watch). Home may cut a watch short (collect): the part
// then always acknowledges, and reads first if it had not finished by itself; so that the message objects
// are free again before the request ends. Exactly one answer: `done` runs once, on the home shard.
//
// Lifetime: state of its request. Slices keep their segments until the request ends, after the send.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "broker/broker_shard.h"
#include "broker/partition.h"
#include "broker/request.h"
#include "proto/error_code.h"
#include "reactor/timer_wheel.h"
#include "storage/file_slice.h"
#include "storage/transaction_index.h"

namespace pelton::broker {

class FetchPart;

// One partition of a fetch: asked, read, waited for.
struct FetchSlot {
  // asked
  std::string_view topic;
  Uuid topic_id;              // of the catalog; zero = unknown topic
  int32_t index = 0;
  int64_t fetch_offset = 0;
  int32_t max_bytes = 0;
  int32_t current_leader_epoch = -1;
  int32_t last_fetched_epoch = -1;
  ShardId shard = kNoShard;   // kNoShard: `error` is the answer
  // answered
  proto::ErrorCode error = proto::ErrorCode::kNone;
  int64_t high_watermark = -1;
  int64_t last_stable_offset = -1;
  int64_t log_start_offset = -1;
  storage::FileSlice slice;
  std::vector<storage::AbortedTransaction> aborted;  // for readers of committed records
  storage::EpochEnd diverging;  // leader_epoch >= 0: the client's log has diverged
  int32_t leader_id = -1;       // told with leader epoch errors
  int32_t leader_epoch = -1;
  uint32_t send_bytes = 0;      // of the slice, after the request's limit

 private:
  friend class FetchPart;
  FetchPart* part = nullptr;
  FetchSlot* next = nullptr;
  PartitionWatch watch;
  storage::LogPosition start;   // of the first unread batch, while waiting
  uint64_t available = 0;       // bytes between start and the limit
};

class DelayedFetch {
 public:
  using Done = void (*)(BrokerShard& home, Request& request, DelayedFetch& fetch);

  struct Limits {
    int32_t max_wait_ms = 0;
    int32_t min_bytes = 0;
    int32_t max_bytes = 0;
    bool read_committed = false;
  };

  DelayedFetch(BrokerShard& home, Request& request, const Limits& limits, Done done);

  // Reads, waits if it must, and calls `done`. `slots` are in the order in which they share max_bytes.
  void start(std::span<FetchSlot> slots);

  std::span<FetchSlot> slots() const { return slots_; }
  const Limits& limits() const { return limits_; }
  Request& request() const { return request_; }

 private:
  friend class FetchPart;

  bool alone() const { return part_count_ == 1; }
  uint64_t wait_ns() const { return static_cast<uint64_t>(limits_.max_wait_ms) * 1'000'000; }
  // What ends the wait.
  uint64_t enough_bytes() const { return static_cast<uint64_t>(std::max(limits_.min_bytes, 1)); }

  void add(FetchSlot& slot);
  void reported();             // a part has told home; when all have: decide
  void decide();
  bool satisfied();
  void watch();
  void collect();
  void expire();
  void share_bytes();          // the request's limit, in request order
  void finish();

  BrokerShard& home_;
  Request& request_;
  Limits limits_;
  Done done_;
  std::span<FetchSlot> slots_;
  FetchPart* parts_ = nullptr;
  int part_count_ = 0;
  int expected_ = 0;           // reports and acknowledgements that are still to come
  bool waited_ = false;        // time is over: answer with what there is
  bool watching_ = false;
  bool delayed_ = false;       // home counts it among those that wait
  bool commanding_ = false;    // parts on this shard report before the command's loop has ended
  Timer timer_;
};

}  // namespace pelton::broker
