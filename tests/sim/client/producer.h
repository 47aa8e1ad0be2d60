// Producer: an idempotent producer of one topic, as clients build them: up to five batches under way for
// each partition, sent again in order, with their sequences, after every failure.
//
// What it holds the broker to: no answer says "out of order" to the oldest unanswered batch of a synced
// topic when it is the only one under way, and every batch is answered in the end.
#pragma once

#include <deque>
#include <vector>

#include "tests/sim/client/client.h"

namespace pelton::sim {

class Producer : public Client {
 public:
  Producer(Context& context, std::string name, size_t topic);
  bool settled() const override;

 private:
  struct Batch {
    std::vector<uint8_t> bytes;
    std::vector<RecordId> records;
    bool first_try = true;
  };
  struct Partition {
    int32_t next_sequence = 0;
    uint64_t next_number = 0;
    std::deque<Batch> unanswered;  // oldest first
  };

  static constexpr size_t kMaxInFlight = 5;

  void work() override;
  void ask_producer_id();
  void begin();
  void send_again();
  void produce();
  void make_batch(int32_t partition);
  // One request with batch `which` of each of `partitions`.
  void send(const std::vector<int32_t>& partitions, const std::vector<size_t>& which);
  // False: the connection was given up.
  bool on_answer(int32_t partition, int16_t error, int64_t base_offset, const Model::Moment& sent);
  void give_up_identity();

  size_t topic_;
  uint32_t number_ = 0;          // in RecordId; another one for each identity
  int64_t producer_id_ = -1;
  int16_t producer_epoch_ = -1;
  std::vector<Partition> partitions_;
};

}  // namespace pelton::sim
