#include "tests/sim/client/produce_request.h"

#include <algorithm>
#include <utility>

#include "proto/batch.h"
#include "proto/messages/produce.h"

namespace pelton::sim {
namespace {

std::vector<ProduceAnswer> answers_of(const proto::ProduceResponse& response) {
  std::vector<ProduceAnswer> answers;
  for (const auto& topic : response.responses)
    for (const auto& each : topic.partition_responses)
      answers.push_back({each.index, each.error_code, each.base_offset});
  return answers;
}

bool fits(const std::vector<ProduceAnswer>& answers, const std::vector<int32_t>& asked) {
  if (answers.size() != asked.size()) return false;
  for (size_t i = 0; i < asked.size(); ++i)
    if (answers[i].partition != asked[i]) return false;
  return true;
}

}  // namespace

void send_produce(Link& link, Context& context, size_t topic, int16_t acks,
                  const std::vector<ProducePart>& parts,
                  std::function<void(const std::vector<ProduceAnswer>&)> then) {
  constexpr int16_t kFirstWithZstd = 7;
  bool zstd = std::ranges::any_of(parts, [](const ProducePart& part) {
    return proto::BatchView(part.batch).codec() == proto::Codec::kZstd;
  });
  int16_t least = zstd ? kFirstWithZstd : proto::ProduceRequest::kMinVersion;
  auto version = static_cast<int16_t>(
      context.world.between(static_cast<uint64_t>(least), proto::ProduceRequest::kMaxVersion));
  std::vector<proto::ProduceRequest::PartitionProduceData> data;
  std::vector<int32_t> asked;
  for (const ProducePart& part : parts) {
    data.push_back({part.partition, proto::Records::of(part.batch)});
    asked.push_back(part.partition);
  }
  proto::ProduceRequest::TopicProduceData to;
  to.name = context.model.topics()[topic].name;
  to.topic_id = context.topic_ids[topic];
  to.partition_data = data;
  proto::ProduceRequest request;
  request.acks = acks;
  // The broker gives every batch a second at least.
  request.timeout_ms = context.world.chance(0.3) ? 0 : 30'000;
  request.topic_data = {&to, 1};
  Link::Handler handler = [&link, &context, version, asked, then = std::move(then)](proto::WireReader& in) {
    proto::ProduceResponse response;
    if (!link.decode(in, version, response)) return;
    std::vector<ProduceAnswer> answers = answers_of(response);
    if (!fits(answers, asked)) return context.model.violation("a Produce answer of other partitions");
    then(answers);
  };
  link.call(request, version, acks == 0 ? nullptr : std::move(handler));
}

}  // namespace pelton::sim
