#include "tests/sim/client/plain_producer.h"

#include <utility>

#include <fmt/format.h>

#include "proto/error_code.h"
#include "tests/sim/client/produce_request.h"
#include "tests/sim/client/records.h"

namespace pelton::sim {

using proto::ErrorCode;

PlainProducer::PlainProducer(Context& context, std::string name, size_t topic, int16_t acks)
    : Client(context, std::move(name)), topic_(topic), acks_(acks) {}

void PlainProducer::work() {
  if (context_.topic_ids.empty()) return later(100 * kMilli, [this] { work(); });
  number_ = context_.next_producer++;
  next_.assign(static_cast<size_t>(model_.topics()[topic_].partitions), 0);
  produce();
}

void PlainProducer::produce() {
  if (!context_.producing) return;
  if (link_.unanswered() < kMaxInFlight)
    send(static_cast<int32_t>(world_.below(next_.size())));
  later(world_.latency(70 * kMilli, 2 * kSecond), [this] { produce(); });
}

void PlainProducer::send(int32_t partition) {
  proto::BatchBuilder builder({.codec = any_codec(world_)});
  std::vector<RecordId> records;
  for (uint64_t left = world_.between(1, 3); left > 0; --left) {
    RecordId id{number_, static_cast<uint32_t>(partition), next_[static_cast<size_t>(partition)]++};
    std::vector<uint8_t> value = record_value(id, world_.latency(0, 20'000));
    builder.append(world_.wall_ms(), std::nullopt, Bytes(value));
    records.push_back(id);
  }
  std::vector<uint8_t> batch;
  if (!builder.build(batch)) return bug("cannot build a batch");
  Model::Moment sent = model_.moment(topic_, partition);
  send_produce(link_, context_, topic_, acks_, {{partition, batch}},
               [this, records, sent](const std::vector<ProduceAnswer>& answers) {
                 const ProduceAnswer& answer = answers.front();
                 auto error = static_cast<ErrorCode>(answer.error);
                 if (error == ErrorCode::kKafkaStorageError && context_.disk_fails) return;
                 if (error == ErrorCode::kRequestTimedOut && context_.disk_stalls) return;
                 if (error != ErrorCode::kNone)
                   return bug(fmt::format("partition {}: unexpected error {}", answer.partition,
                                          answer.error));
                 for (size_t i = 0; i < records.size(); ++i)
                   model_.acked(topic_, answer.partition, answer.base_offset + static_cast<int64_t>(i),
                                records[i], acks_, sent);
               });
}

}  // namespace pelton::sim
