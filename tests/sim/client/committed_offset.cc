#include "tests/sim/client/committed_offset.h"

#include <utility>

#include <fmt/format.h>

#include "proto/messages/offset_fetch.h"

namespace pelton::sim {
namespace {

constexpr int16_t kSeveralGroupsFrom = 8;

struct Answer {
  bool fits = false;
  int16_t error = 0;
  int64_t offset = -1;
};

template <class Topics>
Answer one_partition(const Topics& topics) {
  if (topics.size() != 1 || topics[0].partitions.size() != 1) return {};
  const auto& row = topics[0].partitions[0];
  return {true, row.error_code, row.committed_offset};
}

Answer read(const proto::OffsetFetchResponse& response, int16_t version) {
  if (version < kSeveralGroupsFrom) {
    if (response.error_code != 0) return {true, response.error_code, -1};
    return one_partition(response.topics);
  }
  if (response.groups.size() != 1) return {};
  if (response.groups[0].error_code != 0) return {true, response.groups[0].error_code, -1};
  return one_partition(response.groups[0].topics);
}

}  // namespace

std::string offset_name(const std::string& group, const std::string& topic, int32_t partition) {
  return fmt::format("{} {} {}", group, topic, partition);
}

void fetch_committed(Link& link, Context& context, const std::string& group, const std::string& topic,
                     int32_t partition, std::function<void(int16_t error)> then) {
  auto version = static_cast<int16_t>(context.world.between(2, 9));
  proto::OffsetFetchRequest request;
  proto::OffsetFetchRequest::OffsetFetchRequestTopic old_topic;
  proto::OffsetFetchRequest::OffsetFetchRequestTopics new_topic;
  proto::OffsetFetchRequest::OffsetFetchRequestGroup of;
  if (version < kSeveralGroupsFrom) {
    old_topic.name = topic;
    old_topic.partition_indexes = {&partition, 1};
    request.group_id = group;
    request.topics = {&old_topic, 1};
  } else {
    new_topic.name = topic;
    new_topic.partition_indexes = {&partition, 1};
    of.group_id = group;
    of.topics = {&new_topic, 1};
    request.groups = {&of, 1};
  }
  std::string known_as = offset_name(group, topic, partition);
  int64_t at_least = context.model.committed(known_as);
  link.call(request, version,
            [&link, &context, version, known_as, at_least, then = std::move(then)](proto::WireReader& in) {
              proto::OffsetFetchResponse response;
              if (!link.decode(in, version, response)) return;
              Answer answer = read(response, version);
              if (!answer.fits) return context.model.violation("an OffsetFetch answer of other partitions");
              if (answer.error == 0) context.model.saw_committed(known_as, answer.offset, at_least);
              then(answer.error);
            });
}

}  // namespace pelton::sim
