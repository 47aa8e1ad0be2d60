#include "broker/produce/produce_append.h"

#include <algorithm>

#include "broker/broker_shard.h"
#include "broker/partition_set.h"

namespace pelton::broker {
namespace {

using proto::ErrorCode;

// With page-cache durability, as in Apache Kafka, a timeout of 0 is never noticed: the batch is committed at
// once. A sync takes its time, so every client gives it at least so much.
constexpr int32_t kShortestTimeoutMs = 1'000;

void on_append_done(void* owner, ErrorCode error) {
  auto* slot = static_cast<ProduceSlot*>(owner);
  slot->loop->timers().cancel(slot->timeout);
  slot->error = error;
  FanOut<ProduceSlot>::finish(*slot);
}

// Errors that Apache Kafka answers without the log's start offset.
bool hides_start_offset(ErrorCode error) {
  return error == ErrorCode::kRecordListTooLarge || error == ErrorCode::kKafkaStorageError ||
         error == ErrorCode::kNotLeaderOrFollower;
}

void start_timeout(ProduceSlot& slot) {
  auto ms = static_cast<uint64_t>(std::max(slot.timeout_ms, kShortestTimeoutMs));
  slot.loop->timers().start(slot.timeout, slot.loop->now_ns() + ms * 1'000'000);
}

// A transaction may go on where it is ongoing. Whether one may begin its coordinator says, and there is none:
// what Apache Kafka's answers for a transactional id that it does not know.
ErrorCode check_transaction(const storage::Log& log, const proto::BatchView& batch) {
  if (!batch.transactional()) return ErrorCode::kNone;
  switch (log.transaction_standing(batch.producer_id(), batch.producer_epoch())) {
    case storage::TransactionStanding::kOngoing: return ErrorCode::kNone;
    case storage::TransactionStanding::kStaleEpoch: return ErrorCode::kInvalidProducerEpoch;
    case storage::TransactionStanding::kUnknown: break;
  }
  return ErrorCode::kInvalidProducerIdMapping;
}

}  // namespace

// The batch stays in the log and may be committed later; the client may send it again.
void ProduceSlot::on_timeout() {
  // Not written yet: the log needs its bytes.
  if (partition->log().written_end().offset < waiter.offset) return start_timeout(*this);
  waiter.unlink();
  error = ErrorCode::kRequestTimedOut;
  message = "the batch was not committed in time";
  FanOut<ProduceSlot>::finish(*this);
}

bool append_slot(BrokerShard& here, ProduceSlot& slot) {
  Partition* partition = here.partitions->find(slot.topic_id, slot.index);
  if (partition == nullptr) {
    slot.error = ErrorCode::kNotLeaderOrFollower;
    return true;
  }
  if (slot.error != ErrorCode::kNone) {
    slot.log_start_offset = partition->log().log_start_offset();
    return true;
  }
  slot.error = check_transaction(partition->log(), proto::BatchView(slot.batch));
  if (slot.error != ErrorCode::kNone) return true;
  slot.appended = partition->append(slot.batch, storage::AppendOrigin::kClient,
                                    here.shard.loop().wall_ms());
  slot.error = slot.appended.error;
  if (!hides_start_offset(slot.error)) slot.log_start_offset = partition->log().log_start_offset();
  if (slot.error != ErrorCode::kNone) return true;
  slot.loop = &here.shard.loop();
  slot.partition = partition;
  slot.waiter.offset = slot.appended.last_offset + 1;
  slot.waiter.owner = &slot;
  slot.waiter.done = &on_append_done;
  if (slot.acks == -1) {
    start_timeout(slot);
    partition->wait_committed(slot.waiter);
  } else {
    // acks=0 waits too: the batch lies in the request's frame until it is written.
    partition->wait_written(slot.waiter);
  }
  return false;
}

}  // namespace pelton::broker
