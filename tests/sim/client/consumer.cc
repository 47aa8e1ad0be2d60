#include "tests/sim/client/consumer.h"

#include <utility>

#include <fmt/format.h>

#include "proto/error_code.h"
#include "tests/sim/client/records.h"

namespace pelton::sim {

using proto::ErrorCode;

namespace {

constexpr int16_t kFirstVersion = 4;
constexpr int16_t kFirstWithSessions = 7;
constexpr int16_t kLastVersion = 17;

}  // namespace

Consumer::Consumer(Context& context, std::string name, size_t topic)
    : Client(context, std::move(name)),
      topic_(topic),
      positions_(static_cast<size_t>(context.model.topics()[topic].partitions)) {}

void Consumer::work() {
  if (context_.topic_ids.empty()) return later(100 * kMilli, [this] { work(); });
  version_ = static_cast<int16_t>(world_.between(kFirstVersion, kLastVersion));
  sessions_ = version_ >= kFirstWithSessions && world_.chance(0.7);
  session_id_ = 0;
  session_epoch_ = sessions_ ? 0 : -1;
  choose_positions();
  fetch();
}

void Consumer::choose_positions() {
  for (Position& each : positions_) {
    each.in_session = -1;
    if (world_.chance(0.1)) each.next = 0;
    if (world_.chance(0.1)) each.next = static_cast<int64_t>(world_.below(static_cast<uint64_t>(each.next) + 1));
  }
}

void Consumer::fetch() {
  std::vector<proto::FetchRequest::FetchPartition> parts;
  std::vector<Model::Moment> sent;
  auto partition_bytes = static_cast<int32_t>(world_.latency(1, 200'000));
  for (size_t index = 0; index < positions_.size(); ++index) {
    Position& each = positions_[index];
    sent.push_back(model_.moment(topic_, static_cast<int32_t>(index)));
    if (sessions_ && session_epoch_ > 0 && each.in_session == each.next) continue;
    each.in_session = each.next;
    proto::FetchRequest::FetchPartition part;
    part.partition = static_cast<int32_t>(index);
    part.fetch_offset = each.next;
    part.partition_max_bytes = partition_bytes;
    parts.push_back(part);
  }
  proto::FetchRequest::FetchTopic from;
  from.topic = model_.topics()[topic_].name;
  from.topic_id = context_.topic_ids[topic_];
  from.partitions = parts;
  proto::FetchRequest request;
  request.max_wait_ms = static_cast<int32_t>(world_.below(700));
  request.min_bytes = static_cast<int32_t>(world_.latency(1, 20'000));
  request.max_bytes = static_cast<int32_t>(world_.latency(1'000, 300'000));
  request.isolation_level = static_cast<int8_t>(world_.below(2));
  request.session_id = session_id_;
  request.session_epoch = session_epoch_;
  if (!parts.empty()) request.topics = {&from, 1};
  link_.call(request, version_, [this, sent](proto::WireReader& in) {
    proto::FetchResponse response;
    if (link_.decode(in, version_, response)) on_answer(response, sent);
  });
}

void Consumer::on_answer(const proto::FetchResponse& response, const std::vector<Model::Moment>& sent) {
  auto error = static_cast<ErrorCode>(response.error_code);
  if (error != ErrorCode::kNone) {
    // A session may be thrown out for a newer one.
    if (error != ErrorCode::kFetchSessionIdNotFound)
      bug(fmt::format("unexpected error {} of a fetch", response.error_code));
    return restart();
  }
  if (sessions_) {
    session_id_ = response.session_id;
    session_epoch_ = session_id_ == 0 ? 0 : session_epoch_ + 1;
  }
  for (const auto& topic : response.responses)
    for (const auto& data : topic.partitions)
      if (!on_partition(data, sent[static_cast<size_t>(data.partition_index)])) return;
  later(world_.chance(0.02) ? world_.below(2 * kSecond) : world_.latency(kMilli, 40 * kMilli), [this] { fetch(); });
}

bool Consumer::on_partition(const proto::FetchResponse::PartitionData& data, const Model::Moment& sent) {
  auto error = static_cast<ErrorCode>(data.error_code);
  Position& at = positions_[static_cast<size_t>(data.partition_index)];
  if (error == ErrorCode::kOffsetOutOfRange) {
    // What it had read is gone, and may be.
    model_.out_of_range(topic_, data.partition_index, at.next, sent);
    at.next = 0;
    restart();
    return false;
  }
  if (error == ErrorCode::kKafkaStorageError && context_.disk_fails) {
    restart();
    return false;
  }
  if (error != ErrorCode::kNone) {
    bug(fmt::format("partition {}: unexpected error {}", data.partition_index, data.error_code));
    restart();
    return false;
  }
  model_.saw_high_watermark(topic_, data.partition_index, data.high_watermark, sent);
  if (data.records.null) {
    bug("null records where there are none");
    return true;
  }
  return on_records(data.partition_index, data.records.bytes, data.high_watermark, sent);
}

bool Consumer::on_records(int32_t partition, Bytes records, int64_t high_watermark,
                          const Model::Moment& sent) {
  Position& at = positions_[static_cast<size_t>(partition)];
  auto batches = read_batches(records);
  if (!batches) {
    bug(fmt::format("partition {} at offset {}: {}", partition, at.next, batches.error()));
    return false;
  }
  for (const FetchedBatch& batch : *batches) {
    if (batch.base_offset > at.next || batch.next_offset <= at.next || batch.next_offset > high_watermark)
      bug(fmt::format("partition {}: offsets {} to {} for a reader at {}, high watermark {}", partition,
                      batch.base_offset, batch.next_offset - 1, at.next, high_watermark));
    for (size_t i = 0; i < batch.records.size(); ++i)
      model_.saw(topic_, partition, batch.base_offset + static_cast<int64_t>(i), batch.records[i], sent);
    at.next = batch.next_offset;
  }
  return true;
}

}  // namespace pelton::sim
