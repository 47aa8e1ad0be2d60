// TopicsChange: a change that asks something of several topics by their names, each with an outcome of its
// own: the common part of CreateTopics and CreatePartitions.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "broker/catalog/request_change.h"
#include "broker/catalog/topic_changes.h"

namespace pelton::broker {

// Asked: what the request says of one topic; has a `name`.
template <class Asked>
class TopicsChange : public RequestChange {
 public:
  // `asked` lives as long as the request.
  TopicsChange(BrokerShard& here, Request& request, std::span<const Asked> asked, int64_t deadline_ms)
      : RequestChange(here, request, deadline_ms), asked_(asked) {}

  void plan(const CatalogReplay& catalog, MetadataRecords& records) final {
    using proto::ErrorCode;
    if (late()) return fail_all(ErrorCode::kRequestTimedOut);
    // Each would add a partition; and each is compared with the topics there are.
    if (asked_.size() > static_cast<size_t>(kMaxPartitionsPerRequest)) {
      return fail_all(ErrorCode::kPolicyViolation);
    }
    std::set<std::string_view> seen, twice;
    for (const Asked& topic : asked_) {
      if (!seen.insert(topic.name).second) twice.insert(topic.name);
    }
    int64_t added = 0;
    for (const Asked& topic : asked_) {
      if (outcomes_.contains(topic.name)) continue;
      TopicOutcome& outcome = outcomes_[topic.name];
      outcome = twice.contains(topic.name)
                    ? refuse_topic(ErrorCode::kInvalidRequest, "the topic is named twice")
                    : plan_one(catalog, topic, records);
      added += outcome.added_partitions;
    }
    if (added <= kMaxPartitionsPerRequest) return;
    records.clear();
    fail_all(ErrorCode::kPolicyViolation);
  }

 protected:
  virtual TopicOutcome plan_one(const CatalogReplay& catalog, const Asked& topic,
                                MetadataRecords& records) = 0;

  void fail_all(proto::ErrorCode error) final {
    for (const Asked& topic : asked_) {
      TopicOutcome& outcome = outcomes_[topic.name];
      if (outcome.error == proto::ErrorCode::kNone) {
        outcome = refuse_topic(error, std::string(proto::name(error)));
      }
    }
  }

  const std::map<std::string_view, TopicOutcome>& outcomes() const { return outcomes_; }

 private:
  std::span<const Asked> asked_;
  std::map<std::string_view, TopicOutcome> outcomes_;
};

}  // namespace pelton::broker
