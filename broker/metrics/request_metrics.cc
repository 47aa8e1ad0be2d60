#include "broker/metrics/request_metrics.h"

namespace pelton::broker {
namespace {

// The clock is one for all shards; still, no difference may wrap round.
uint64_t between(uint64_t from, uint64_t to) { return to > from ? to - from : 0; }

}  // namespace

const char* name(Stage stage) {
  switch (stage) {
    case Stage::kLocal: return "local";
    case Stage::kRemote: return "remote";
    case Stage::kResponseQueue: return "response_queue";
    case Stage::kResponseSend: return "response_send";
    case Stage::kTotal: return "total";
  }
  return "";
}

void RequestMetrics::record(proto::ApiKey api, const RequestTimes& times, uint64_t sent_ns) {
  auto key = static_cast<size_t>(api);
  if (key >= by_key_.size()) return;
  auto& metrics = by_key_[key];
  if (!metrics) metrics = std::make_unique<ApiMetrics>();
  auto add = [&](Stage stage, uint64_t ns) { metrics->stages[static_cast<size_t>(stage)].add(ns); };
  // Answered inside the handler's call: nothing was waited for.
  uint64_t local_end = std::min(times.returned, times.answered);
  add(Stage::kLocal, between(times.begun, local_end));
  add(Stage::kRemote, between(local_end, times.answered));
  add(Stage::kResponseQueue, between(times.answered, times.queued));
  add(Stage::kResponseSend, between(times.queued, sent_ns));
  add(Stage::kTotal, between(times.begun, sent_ns));
}

RequestMetrics::ByApi RequestMetrics::sample() const {
  ByApi copy;
  for (size_t key = 0; key < by_key_.size(); ++key)
    if (by_key_[key]) copy.emplace(static_cast<int16_t>(key), *by_key_[key]);
  return copy;
}

}  // namespace pelton::broker
