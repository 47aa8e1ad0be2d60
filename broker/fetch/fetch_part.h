// FetchPart: the partitions of one fetch that one shard owns. See DelayedFetch.
//
// Lent to the owner shard from a command until its report. While it is lent, home touches nothing but
// the collect message.
#pragma once

#include <algorithm>

#include "broker/fetch/delayed_fetch.h"

namespace pelton::broker {

class FetchPart {
 public:
  FetchPart(DelayedFetch& fetch, ShardId shard);

  void add(FetchSlot& slot);
  ShardId shard() const { return shard_; }
  // There at the last look. What was measured while waiting can be more than one read gives (a read
  // ends with its segment), and is what min_bytes is about.
  uint64_t bytes() const { return std::max(bytes_, available_); }
  FetchPart* next = nullptr;

  // --- called on home ---
  // Reads, waits as long as the fetch may when that is not enough, and reads again: for a part that is alone.
  void serve() { command(Command::kServe); }
  void read() { command(Command::kRead); }
  // Waits until `trigger` bytes are there, or something else needs an answer.
  void watch(uint64_t trigger);
  void collect();

 private:
  enum class Command : uint8_t { kServe, kRead, kWatch };

  void command(Command next);
  void commanded(Shard& at);    // command_message_, on the owner
  void collected(Shard& at);    // collect_message_, on the owner
  void reported_home(Shard&);   // report_message_ and ack_message_, on home
  void carry_out();
  bool enough();
  void expire();
  void read_all();
  void read_slot(FetchSlot& slot);
  static void refuse(FetchSlot& slot, proto::ErrorCode error);
  bool check_epoch(FetchSlot& slot, const Partition& partition);
  void start_watching();
  void end_watching();
  bool measure(FetchSlot& slot);  // bytes available; false: the slot needs an answer now
  static void moved(void* slot);
  void on_moved(FetchSlot& slot);
  void stop_watching();
  void report();

  DelayedFetch& fetch_;
  ShardId shard_;
  BrokerShard* here_ = nullptr;   // the owner, from the first command on
  FetchSlot* first_ = nullptr;
  FetchSlot* last_ = nullptr;
  Command command_ = Command::kRead;
  bool watches_linked_ = false;
  uint64_t trigger_ = 0;
  uint64_t available_ = 0;
  uint64_t bytes_ = 0;
  Timer timer_;                   // of a part that is alone, on the owner
  Message command_message_;
  Message collect_message_;
  Message report_message_;
  Message ack_message_;
};

}  // namespace pelton::broker
