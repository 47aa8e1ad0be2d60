#include "tests/sim/client/producer.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "proto/error_code.h"
#include "proto/messages/init_producer_id.h"
#include "proto/messages/produce.h"
#include "tests/sim/client/produce_request.h"
#include "tests/sim/client/records.h"

namespace pelton::sim {
namespace {

using proto::ErrorCode;

constexpr int16_t kInitProducerIdVersion = 4;

bool lost_sequence(ErrorCode error) {
  return error == ErrorCode::kOutOfOrderSequenceNumber || error == ErrorCode::kUnknownProducerId ||
         error == ErrorCode::kDuplicateSequenceNumber || error == ErrorCode::kInvalidProducerEpoch;
}

}  // namespace

Producer::Producer(Context& context, std::string name, size_t topic)
    : Client(context, std::move(name)), topic_(topic) {}

bool Producer::settled() const {
  return std::all_of(partitions_.begin(), partitions_.end(),
                     [](const Partition& each) { return each.unanswered.empty(); });
}

void Producer::work() {
  if (context_.topic_ids.empty()) return later(100 * kMilli, [this] { work(); });
  if (producer_id_ < 0) return ask_producer_id();
  begin();
}

void Producer::ask_producer_id() {
  proto::InitProducerIdRequest request;
  request.transactional_id.reset();
  link_.call(request, kInitProducerIdVersion, [this](proto::WireReader& in) {
    proto::InitProducerIdResponse response;
    if (!link_.decode(in, kInitProducerIdVersion, response)) return;
    if (response.error_code != 0) return restart();
    producer_id_ = response.producer_id.value;
    producer_epoch_ = response.producer_epoch;
    number_ = context_.next_producer++;
    partitions_.assign(static_cast<size_t>(model_.topics()[topic_].partitions), {});
    begin();
  });
}

void Producer::begin() {
  send_again();
  later(world_.below(20 * kMilli), [this] { produce(); });
}

// Everything that was not answered, oldest first.
void Producer::send_again() {
  for (size_t which = 0; which < kMaxInFlight; ++which) {
    std::vector<int32_t> partitions;
    for (size_t index = 0; index < partitions_.size(); ++index) {
      if (partitions_[index].unanswered.size() <= which) continue;
      partitions_[index].unanswered[which].first_try = false;
      partitions.push_back(static_cast<int32_t>(index));
    }
    if (!partitions.empty()) send(partitions, std::vector<size_t>(partitions.size(), which));
  }
}

void Producer::produce() {
  if (!context_.producing) return;
  std::vector<int32_t> partitions;
  std::vector<size_t> which;
  for (size_t index = 0; index < partitions_.size(); ++index) {
    if (partitions_[index].unanswered.size() >= kMaxInFlight || world_.chance(0.5)) continue;
    make_batch(static_cast<int32_t>(index));
    partitions.push_back(static_cast<int32_t>(index));
    which.push_back(partitions_[index].unanswered.size() - 1);
  }
  if (!partitions.empty()) send(partitions, which);
  later(world_.latency(50 * kMilli, 2 * kSecond), [this] { produce(); });
}

void Producer::make_batch(int32_t partition) {
  Partition& to = partitions_[static_cast<size_t>(partition)];
  proto::BatchBuilder builder({.codec = any_codec(world_),
                               .producer_id = producer_id_,
                               .producer_epoch = producer_epoch_,
                               .base_sequence = to.next_sequence});
  Batch batch;
  for (uint64_t left = world_.between(1, 6); left > 0; --left) {
    RecordId id{number_, static_cast<uint32_t>(partition), to.next_number++};
    std::vector<uint8_t> value = record_value(id, world_.latency(10, 3000));
    builder.append(world_.wall_ms(), std::nullopt, Bytes(value));
    batch.records.push_back(id);
  }
  to.next_sequence += builder.count();
  if (!builder.build(batch.bytes)) return bug("cannot build a batch");
  to.unanswered.push_back(std::move(batch));
}

void Producer::send(const std::vector<int32_t>& partitions, const std::vector<size_t>& which) {
  std::vector<ProducePart> parts;
  std::vector<Model::Moment> moments;
  for (size_t i = 0; i < partitions.size(); ++i) {
    parts.push_back({partitions[i],
                     partitions_[static_cast<size_t>(partitions[i])].unanswered[which[i]].bytes});
    moments.push_back(model_.moment(topic_, partitions[i]));
  }
  send_produce(link_, context_, topic_, -1, parts,
               [this, moments](const std::vector<ProduceAnswer>& answers) {
                 for (size_t i = 0; i < answers.size(); ++i)
                   if (!on_answer(answers[i].partition, answers[i].error, answers[i].base_offset,
                                  moments[i]))
                     return;
               });
}

bool Producer::on_answer(int32_t partition, int16_t code, int64_t base_offset,
                         const Model::Moment& sent) {
  auto error = static_cast<ErrorCode>(code);
  Partition& from = partitions_[static_cast<size_t>(partition)];
  if (from.unanswered.empty()) {
    bug("an answer without a batch");
    return false;
  }
  if (error == ErrorCode::kNone) {
    Batch batch = std::move(from.unanswered.front());
    from.unanswered.pop_front();
    for (size_t i = 0; i < batch.records.size(); ++i)
      model_.acked(topic_, partition, base_offset + static_cast<int64_t>(i), batch.records[i], -1, sent);
    return true;
  }
  if (lost_sequence(error)) {
    bool must_know = model_.topics()[topic_].synced && from.unanswered.size() == 1;
    if (must_know)
      bug(fmt::format("partition {}: error {} for the only batch under way, sequence of {}", partition,
                      code, to_string(from.unanswered.front().records.front())));
    give_up_identity();
  } else if (error == ErrorCode::kKafkaStorageError && !context_.disk_fails) {
    bug(fmt::format("partition {}: a storage error without one of the disk", partition));
  } else if (error == ErrorCode::kRequestTimedOut && !context_.disk_stalls) {
    bug(fmt::format("partition {}: timed out on a disk that does not stall", partition));
  } else if (error != ErrorCode::kUnknownTopicOrPartition && error != ErrorCode::kRequestTimedOut &&
             error != ErrorCode::kNotLeaderOrFollower && error != ErrorCode::kUnknownTopicId &&
             error != ErrorCode::kKafkaStorageError) {
    bug(fmt::format("partition {}: unexpected error {}", partition, code));
  }
  restart();
  return false;
}

// What was not answered may be there or not; it is not sent again.
void Producer::give_up_identity() {
  world_.trace("producer gives up its identity", number_);
  producer_id_ = -1;
  partitions_.clear();
}

}  // namespace pelton::sim
