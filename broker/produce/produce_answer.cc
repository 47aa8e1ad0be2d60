#include "broker/produce/produce_answer.h"

#include <algorithm>
#include <string>
#include <tuple>

#include "broker/handlers/answer_limit.h"
#include "broker/produce/produce_job.h"
#include "broker/request.h"

namespace pelton::broker {
namespace {

using proto::ErrorCode;
using proto::ProduceRequest;
using proto::ProduceResponse;
using Topic = ProduceRequest::TopicProduceData;

// Where an entry of the request stands.
struct Entry {
  const Topic* topic;
  ProduceSlot* slot;

  auto key() const { return std::tie(topic->name, topic->topic_id, slot->index); }
  bool same_topic(const Entry& other) const {
    return topic->name == other.topic->name && topic->topic_id == other.topic->topic_id;
  }
};

// Nearly every request: topics all different, partitions ascending. Anything else is looked at closely.
bool may_repeat(const ProduceRequest& asked) {
  constexpr size_t kFewTopics = 16;
  std::span<const Topic> topics = asked.topic_data;
  if (topics.size() > kFewTopics) return true;
  for (size_t i = 0; i < topics.size(); ++i) {
    for (size_t j = 0; j < i; ++j)
      if (topics[i].name == topics[j].name && topics[i].topic_id == topics[j].topic_id) return true;
    auto partitions = topics[i].partition_data;
    for (size_t p = 1; p < partitions.size(); ++p)
      if (partitions[p].index <= partitions[p - 1].index) return true;
  }
  return false;
}

// By topic and partition; those of one partition in request order.
std::span<Entry> sorted_entries(ProduceState& state) {
  auto entries = state.request.arena().array<Entry>(state.slots.size());
  size_t next = 0;
  for (const Topic& topic : state.asked.topic_data)
    for (size_t p = 0; p < topic.partition_data.size(); ++p, ++next)
      entries[next] = {&topic, &state.slots[next]};
  std::ranges::sort(entries, [](const Entry& a, const Entry& b) {
    return a.key() != b.key() ? a.key() < b.key() : a.slot < b.slot;
  });
  return entries;
}

std::string_view kept(Request& request, const std::string& text) { return request.arena().copy(text); }

void fill_record_errors(Request& request, const RefusedRecords& refused,
                        ProduceResponse::PartitionProduceResponse& answer) {
  constexpr size_t kBytesEach = 200;  // more than any of the texts takes
  if (!answer_has_room(request.arena(), refused.errors.size() * kBytesEach)) return;
  auto errors = request.arena().array<ProduceResponse::BatchIndexAndErrorMessage>(refused.errors.size());
  for (size_t i = 0; i < errors.size(); ++i) {
    errors[i].batch_index = refused.errors[i].index;
    errors[i].batch_index_error_message = kept(request, describe(refused.errors[i], refused.rules));
  }
  answer.record_errors = errors;
}

void fill(Request& request, const ProduceSlot& slot, ProduceResponse::PartitionProduceResponse& answer) {
  answer.index = slot.index;
  answer.error_code = static_cast<int16_t>(slot.error);
  answer.base_offset = -1;
  answer.log_start_offset = slot.log_start_offset;
  // A batch whose commit took too long has its place all the same.
  if (slot.error == ErrorCode::kNone || slot.error == ErrorCode::kRequestTimedOut) {
    answer.base_offset = slot.appended.base_offset;
    answer.log_append_time_ms = slot.appended.log_append_time;
  }
  if (slot.error != ErrorCode::kNone && !slot.message.empty()) answer.error_message = slot.message;
  if (slot.refused != nullptr) fill_record_errors(request, *slot.refused, answer);
}

// Topics as they were asked; those without partitions are left out.
std::span<ProduceResponse::TopicProduceResponse> answer_in_order(ProduceState& state) {
  proto::Arena& arena = state.request.arena();
  auto topics = arena.array<ProduceResponse::TopicProduceResponse>(state.asked.topic_data.size());
  size_t used = 0, next = 0;
  for (const Topic& asked : state.asked.topic_data) {
    if (asked.partition_data.empty()) continue;
    auto answers = arena.array<ProduceResponse::PartitionProduceResponse>(asked.partition_data.size());
    for (auto& answer : answers) fill(state.request, state.slots[next++], answer);
    topics[used].name = asked.name;
    topics[used].topic_id = asked.topic_id;
    topics[used++].partition_responses = answers;
  }
  return topics.first(used);
}

// Each topic once, without the superseded entries.
std::span<ProduceResponse::TopicProduceResponse> answer_sorted(ProduceState& state) {
  proto::Arena& arena = state.request.arena();
  std::span<Entry> entries = sorted_entries(state);
  auto topics = arena.array<ProduceResponse::TopicProduceResponse>(entries.size());
  auto answers = arena.array<ProduceResponse::PartitionProduceResponse>(entries.size());
  size_t used = 0;
  for (size_t i = 0, first = 0, last = 0; i < entries.size(); ++i) {
    if (!entries[i].slot->superseded) fill(state.request, *entries[i].slot, answers[last++]);
    if (i + 1 < entries.size() && entries[i].same_topic(entries[i + 1])) continue;
    topics[used].name = entries[i].topic->name;
    topics[used].topic_id = entries[i].topic->topic_id;
    topics[used++].partition_responses = answers.subspan(first, last - first);
    first = last;
  }
  return topics.first(used);
}

}  // namespace

void mark_superseded(ProduceState& state) {
  if (!may_repeat(state.asked)) return;
  std::span<Entry> entries = sorted_entries(state);
  for (size_t i = 0; i + 1 < entries.size(); ++i)
    entries[i].slot->superseded = entries[i].key() == entries[i + 1].key();
}

void answer_produce(BrokerShard& home, Request& request) {
  auto& state = *static_cast<ProduceState*>(request.state);
  for (ProduceSlot& slot : state.slots) release_rebuilt(home, slot);
  if (state.asked.acks == 0) {
    // There is no answer to carry an error: the end of the connection makes the client look again.
    for (const ProduceSlot& slot : state.slots)
      if (slot.error != ErrorCode::kNone && !slot.superseded)
        return request.close_connection("error on acks=0");
    return request.respond_nothing();
  }
  ProduceResponse response;
  response.responses = may_repeat(state.asked) ? answer_sorted(state) : answer_in_order(state);
  request.respond(response);
}

}  // namespace pelton::broker
