#include "tests/sim/client/verifier.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "proto/messages/fetch.h"
#include "proto/error_code.h"
#include "tests/sim/client/committed_offset.h"
#include "tests/sim/client/records.h"

namespace pelton::sim {
namespace {

constexpr int16_t kVersion = 12;

}  // namespace

void Verifier::fetch() {
  if (read_all()) return begin_offsets();
  proto::FetchRequest::FetchPartition part;
  part.partition = partition_;
  part.fetch_offset = static_cast<int64_t>(log_.size());
  part.partition_max_bytes = 1 << 20;
  proto::FetchRequest::FetchTopic from;
  from.topic = model_.topics()[topic_].name;
  from.partitions = {&part, 1};
  proto::FetchRequest request;
  request.max_bytes = 1 << 20;
  request.topics = {&from, 1};
  link_.call(request, kVersion, [this](proto::WireReader& in) {
    proto::FetchResponse response;
    if (!link_.decode(in, kVersion, response)) return;
    if (response.error_code != 0 || response.responses.size() != 1 ||
        response.responses[0].partitions.size() != 1 ||
        response.responses[0].partitions[0].error_code != 0)
      return bug(fmt::format("{}-{} cannot be read at {}", model_.topics()[topic_].name, partition_,
                             log_.size()));
    const auto& data = response.responses[0].partitions[0];
    auto batches = read_batches(data.records.bytes);
    if (!batches) return bug(batches.error());
    for (const FetchedBatch& batch : *batches) {
      if (batch.base_offset != static_cast<int64_t>(log_.size()))
        return bug(fmt::format("{}-{}: a batch at {} where {} is due", model_.topics()[topic_].name,
                               partition_, batch.base_offset, log_.size()));
      log_.insert(log_.end(), batch.records.begin(), batch.records.end());
    }
    if (static_cast<int64_t>(log_.size()) >= data.high_watermark) {
      model_.compare(topic_, partition_, log_, data.high_watermark);
      next_partition();
    } else if (batches->empty()) {
      return bug(fmt::format("{}-{}: nothing at {}, high watermark {}", model_.topics()[topic_].name,
                             partition_, log_.size(), data.high_watermark));
    }
    fetch();
  });
}

void Verifier::next_partition() {
  log_.clear();
  if (++partition_ < model_.topics()[topic_].partitions) return;
  partition_ = 0;
  ++topic_;
}

// Names are what offset_name() makes.
void Verifier::begin_offsets() {
  if (!offsets_.empty() || offsets_read_) return next_offset();
  for (const std::string& name : model_.commit_names()) {
    size_t first = name.find(' ');
    size_t second = name.find(' ', first + 1);
    Offset offset{name.substr(0, first), name.substr(first + 1, second - first - 1),
                  std::stoi(name.substr(second + 1))};
    bool of_the_run = std::ranges::any_of(
        model_.topics(), [&](const TopicSpec& topic) { return topic.name == offset.topic; });
    if (of_the_run) offsets_.push_back(std::move(offset));
  }
  next_offset();
}

void Verifier::next_offset() {
  if (offsets_.empty()) {
    offsets_read_ = true;
    return;
  }
  const Offset& offset = offsets_.back();
  fetch_committed(link_, context_, offset.group, offset.topic, offset.partition, [this](int16_t code) {
    auto error = static_cast<proto::ErrorCode>(code);
    if (error == proto::ErrorCode::kCoordinatorLoadInProgress)
      return later(50 * kMilli, [this] { next_offset(); });
    if (error != proto::ErrorCode::kNone) return bug(fmt::format("OffsetFetch: error {}", code));
    offsets_.pop_back();
    next_offset();
  });
}

}  // namespace pelton::sim
