#include "broker/timestamp_lookup.h"

#include "broker/helper_context.h"
#include "broker/partition_set.h"
#include "broker/produce/produce_shard.h"

namespace pelton::broker {
namespace {

using proto::ErrorCode;
using storage::TimestampOffset;
using storage::TimestampSearch;

constexpr TimestampSearch::Limits kInline{
    .headers = 512, .batch = ProduceShard::kInlineBatch, .output = ProduceShard::kInlineOutput};
// What a search at once is counted as, of what a shard may decompress in one turn.
constexpr size_t kInlineCost = ProduceShard::kInlinePerTurn / 16;

}  // namespace

TimestampLookup::TimestampLookup(BrokerShard& here, Partition& partition, void* owner, Done done)
    : here_(here),
      topic_id_(partition.topic_id()),
      index_(partition.id().partition),
      owner_(owner),
      done_(done),
      job_(HelperJob::bind<&TimestampLookup::work, &TimestampLookup::worked>(this)),
      later_turn_(Message::bind<&TimestampLookup::on_later_turn>(this)) {}

bool TimestampLookup::start(int64_t timestamp, const storage::LogPosition& upper) {
  timestamp_ = timestamp;
  upper_ = upper;
  return go_on();
}

bool TimestampLookup::go_on() {
  while (true) {
    // It may be gone since the last step.
    Partition* partition = here_.partitions->find(topic_id_, index_);
    if (partition == nullptr || partition->retired()) {
      found_ = std::unexpected(ErrorCode::kNotLeaderOrFollower);
      return true;
    }
    int64_t searched = search_ ? search_->segment_base : -1;
    auto next = timestamp_ == kLargest ? partition->log().search_max_timestamp(upper_)
                                       : partition->log().search_timestamp(timestamp_, upper_, searched);
    bool none = !next || !*next || (timestamp_ == kLargest && search_);
    if (none) {
      found_ = next ? Found(TimestampOffset{}) : std::unexpected(next.error());
      return true;
    }
    search_ = std::move(**next);
    if (!here_.produce->may_work_inline(here_.shard.loop().now_ns(), kInlineCost)) break;
    here_.produce->worked_inline(kInlineCost);
    step_ = search_->run(kInline, &here_.produce->contexts());
    if (step_ && !*step_) break;
    if (!step_ || (*step_)->offset >= 0) return take_step();
  }
  hand_over();
  return false;
}

// True: the step has ended the lookup.
bool TimestampLookup::take_step() {
  if (!step_) {
    found_ = std::unexpected(step_.error());
  } else if (!*step_) {
    // More output than any batch may have.
    found_ = std::unexpected(ErrorCode::kCorruptMessage);
  } else if ((*step_)->offset >= 0) {
    found_ = **step_;
  } else {
    return false;
  }
  return true;
}

void TimestampLookup::hand_over() {
  if (here_.helpers->submit(here_.shard, job_, 0)) return;
  here_.shard.send(here_.shard.id(), later_turn_);
}

void TimestampLookup::on_later_turn(Shard&) {
  if (!here_.produce->may_work_inline(here_.shard.loop().now_ns(), kInlineCost)) return hand_over();
  here_.produce->worked_inline(kInlineCost);
  step_ = search_->run(kInline, &here_.produce->contexts());
  if (step_ && !*step_) return hand_over();
  end_step();
}

void TimestampLookup::work(HelperContext& context) {
  step_ = search_->run(TimestampSearch::kNoLimits, &static_cast<BrokerHelperContext&>(context).codecs);
}

void TimestampLookup::worked(Shard&) { end_step(); }

void TimestampLookup::end_step() {
  if (take_step() || go_on()) done_(owner_);
}

}  // namespace pelton::broker
