#include "broker/produce/produce_job.h"

#include "broker/broker_shard.h"
#include "broker/helper_context.h"
#include "broker/produce/produce_shard.h"
#include "broker/request.h"

namespace pelton::broker {
namespace {

using proto::BatchView;
using proto::Codec;
using proto::ErrorCode;

// Refused batches that were read by the log in Apache Kafka show its start offset: the slot still goes to
// the owner.
void take(ProduceSlot& slot, PreparedBatch&& prepared, const BatchRules& rules, size_t reserved) {
  slot.batch = prepared.batch;
  if (!prepared.rebuilt.empty())
    slot.rebuilt = std::make_unique<RebuiltBatch>(RebuiltBatch{std::move(prepared.rebuilt), reserved});
  if (prepared.error == ErrorCode::kNone) return;
  if (prepared.error == ErrorCode::kMessageTooLarge) return slot.refuse(prepared.error, prepared.why);
  slot.error = prepared.error;
  slot.message = prepared.why;
  if (!prepared.errors.empty())
    slot.refused = std::make_unique<RefusedRecords>(RefusedRecords{rules.records, std::move(prepared.errors)});
}

// What the shard does itself of this batch; no output: nothing.
PrepareLimits inline_limits(BrokerShard& home, const BatchView& batch, const BatchRules& rules) {
  size_t size = batch.bytes().size();
  bool plain = batch.codec() == Codec::kNone;
  bool same = rules.target(batch) == batch.codec();
  // The walk over plain records costs about as much as the CRC that was computed anyway.
  if (plain && same) return {.max_output = size, .may_rebuild = false, .final = true};
  size_t most = same ? ProduceShard::kInlineBatch : plain ? ProduceShard::kInlineRebuild : 0;
  if (size > most || !home.produce->may_work_inline(home.shard.loop().now_ns(), size)) return {};
  return {.max_output = ProduceShard::kInlineOutput, .may_rebuild = plain, .final = false};
}

}  // namespace

ProduceJob::ProduceJob(ProduceState& state, ProduceSlot& slot, const BatchRules& rules)
    : state_(state),
      slot_(slot),
      rules_(rules),
      // What is only looked at needs no room.
      reserved_(rules.target(BatchView(slot.batch)) == BatchView(slot.batch).codec() ? 0 : rules.largest_batch),
      job_(HelperJob::bind<&ProduceJob::work, &ProduceJob::done>(this)) {}

void ProduceJob::submit() {
  ++state_.pending_jobs;
  if (state_.home.helpers->submit(state_.home.shard, job_, reserved_)) return;
  --state_.pending_jobs;
  slot_.refuse(ErrorCode::kRequestTimedOut, "too many batches wait to be decompressed or compressed");
}

void ProduceJob::work(HelperContext& context) {
  prepared_ = prepare(slot_.batch, rules_, {.max_output = output_limit(slot_.batch.size())},
                      &static_cast<BrokerHelperContext&>(context).codecs);
}

void ProduceJob::done(Shard&) {
  size_t kept = std::min(reserved_, prepared_.rebuilt.capacity());
  state_.home.helpers->release(reserved_ - kept);
  take(slot_, std::move(prepared_), rules_, kept);
  if (--state_.pending_jobs == 0) state_.home.produce->order().ready(state_);
}

void prepare_slot(ProduceState& state, ProduceSlot& slot, const storage::LogConfig& config) {
  BrokerShard& home = state.home;
  BatchRules rules = BatchRules::of(config, state.now_ms);
  PrepareLimits limits = inline_limits(home, BatchView(slot.batch), rules);
  if (limits.max_output > 0) {
    PreparedBatch prepared = prepare(slot.batch, rules, limits, &home.produce->contexts());
    if (!limits.final)
      home.produce->worked_inline(prepared.needs_more ? limits.max_output : prepared.plain_bytes);
    if (!prepared.needs_more) return take(slot, std::move(prepared), rules, 0);
  }
  state.request.make_state<ProduceJob>(state, slot, rules).submit();
}

void release_rebuilt(BrokerShard& home, ProduceSlot& slot) {
  if (slot.rebuilt == nullptr) return;
  home.helpers->release(slot.rebuilt->reserved);
  slot.rebuilt.reset();
}

}  // namespace pelton::broker
