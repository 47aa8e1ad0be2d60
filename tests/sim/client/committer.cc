#include "tests/sim/client/committer.h"

#include <utility>

#include <fmt/format.h>

#include "proto/error_code.h"
#include "proto/messages/find_coordinator.h"
#include "proto/messages/offset_commit.h"
#include "tests/sim/client/committed_offset.h"

namespace pelton::sim {

using proto::ErrorCode;

namespace {

constexpr int16_t kFindVersion = 2;

}  // namespace

Committer::Committer(Context& context, std::string name, size_t topic)
    : Client(context, std::move(name)), topic_(topic) {}

bool Committer::try_again(int16_t code) {
  auto error = static_cast<ErrorCode>(code);
  if (error == ErrorCode::kNone) return false;
  if (error != ErrorCode::kCoordinatorLoadInProgress && error != ErrorCode::kNotCoordinator &&
      error != ErrorCode::kCoordinatorNotAvailable &&
      !(error == ErrorCode::kKafkaStorageError && context_.disk_fails))
    bug(fmt::format("unexpected error {} of the coordinator", code));
  restart();
  return true;
}

// FindCoordinator makes the offsets topic when there is none.
void Committer::work() {
  if (context_.topic_ids.empty()) return later(100 * kMilli, [this] { work(); });
  proto::FindCoordinatorRequest request;
  request.key = name();
  link_.call(request, kFindVersion, [this](proto::WireReader& in) {
    proto::FindCoordinatorResponse response;
    if (!link_.decode(in, kFindVersion, response) || try_again(response.error_code)) return;
    next();
  });
}

void Committer::next() {
  later(world_.latency(60 * kMilli, 2 * kSecond), [this] {
    if (!context_.producing) return;
    if (world_.chance(0.4))
      fetch();
    else
      commit();
  });
}

void Committer::commit() {
  auto version = static_cast<int16_t>(world_.between(2, 9));
  offset_ += static_cast<int64_t>(world_.between(1, 100));
  proto::OffsetCommitRequest::OffsetCommitRequestPartition partition;
  partition.committed_offset = offset_;
  partition.committed_metadata = "simulated";
  proto::OffsetCommitRequest::OffsetCommitRequestTopic topic;
  topic.name = model_.topics()[topic_].name;
  topic.partitions = {&partition, 1};
  proto::OffsetCommitRequest request;
  request.group_id = name();
  request.topics = {&topic, 1};
  std::string known_as = offset_name(name(), model_.topics()[topic_].name, 0);
  model_.commit_tried(known_as, offset_);
  link_.call(request, version, [this, version, known_as, offset = offset_](proto::WireReader& in) {
    proto::OffsetCommitResponse response;
    if (!link_.decode(in, version, response)) return;
    if (response.topics.size() != 1 || response.topics[0].partitions.size() != 1)
      return bug("an OffsetCommit answer of other partitions");
    if (try_again(response.topics[0].partitions[0].error_code)) return;
    model_.commit_acked(known_as, offset);
    next();
  });
}

void Committer::fetch() {
  fetch_committed(link_, context_, name(), model_.topics()[topic_].name, 0, [this](int16_t error) {
    if (!try_again(error)) next();
  });
}

}  // namespace pelton::sim
