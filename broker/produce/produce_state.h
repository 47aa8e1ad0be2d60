// The state of one Produce request: a slot for each partition that it names.
//
// Home shard: the connection's. A slot is the owner shard's while its part is there, and its batch a
// helper thread's while a ProduceJob has it. Lifetime: state of the request.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "broker/fan_out.h"
#include "broker/partition.h"
#include "broker/produce/prepare.h"
#include "broker/produce/produce_order.h"
#include "proto/messages/produce.h"
#include "reactor/timer_wheel.h"

namespace pelton::broker {

// Why single records were refused.
struct RefusedRecords {
  RecordRules rules;
  std::vector<RecordError> errors;
};

// A batch written anew. Lives until the log has written it.
struct RebuiltBatch {
  std::vector<uint8_t> bytes;
  size_t reserved = 0;  // of the helpers' limit
};

struct ProduceSlot : FanOut<ProduceSlot>::SlotBase {
  ProduceSlot() : timeout(Timer::bind<&ProduceSlot::on_timeout>(this)) {}

  // asked
  const TopicInfo* topic = nullptr;  // of the snapshot of this turn
  Uuid topic_id;
  int32_t index = 0;
  int16_t acks = 0;
  int32_t timeout_ms = 0;
  MutableBytes batch;
  bool superseded = false;  // a later entry of the request names the partition again: that one counts
  std::unique_ptr<RebuiltBatch> rebuilt;

  // answered
  proto::ErrorCode error = proto::ErrorCode::kNone;
  std::string_view message;
  std::unique_ptr<RefusedRecords> refused;
  storage::AppendResult appended;
  int64_t log_start_offset = -1;

  // while it waits, on the owner's shard
  Loop* loop = nullptr;
  Partition* partition = nullptr;
  CommitWaiter waiter;
  Timer timeout;

  void on_timeout();

  // `shard` is kNoShard from then on: there is nothing to do.
  void refuse(proto::ErrorCode its_error, std::string_view its_message = {}) {
    shard = kNoShard;
    error = its_error;
    message = its_message;
  }
};

struct ProduceState : ProduceOrder::Place {
  ProduceState(BrokerShard& home_shard, Request& its_request, const proto::ProduceRequest& its_asked,
               std::span<ProduceSlot> its_slots)
      : home(home_shard),
        request(its_request),
        asked(its_asked),
        slots(its_slots),
        now_ms(home_shard.shard.loop().wall_ms()) {}

  BrokerShard& home;
  Request& request;
  const proto::ProduceRequest& asked;
  std::span<ProduceSlot> slots;
  int64_t now_ms;
  int pending_jobs = 0;
};

}  // namespace pelton::broker
