// Fetch: finds what the request (with its session) asks for, lets DelayedFetch read and wait, and
// answers with file ranges.

#include "proto/messages/fetch.h"

#include <algorithm>

#include <boost/unordered/unordered_flat_map.hpp>

#include "broker/broker_shard.h"
#include "broker/dispatch.h"
#include "broker/fetch/delayed_fetch.h"
#include "broker/fetch/fetch_session.h"
#include "broker/handlers/handlers.h"
#include "broker/request.h"
#include "broker/topology.h"

namespace pelton::broker {
namespace {

using proto::ErrorCode;
using proto::FetchRequest;
using proto::FetchResponse;

constexpr int16_t kFirstVersionWithTopicIds = 13;
constexpr int8_t kReadCommitted = 1;

struct FetchState {
  const FetchRequest* asked;
  std::shared_ptr<FetchSession> session;  // null: sessionless
  bool incremental = false;               // answer only what changed
  bool is_replica = false;
  bool by_id = false;
  // While another shard is looked for that has the session.
  ShardId home = kNoShard;
  std::shared_ptr<FetchSession> taken;
};

bool ends_session(const FetchRequest& asked) {
  return asked.session_epoch == kFinalEpoch || asked.session_epoch == kInitialEpoch;
}

void refuse(FetchSlot& slot, ErrorCode error) {
  slot.shard = kNoShard;
  slot.error = error;
}

// Finds the topic; leaves the slot's error when there is none.
void locate(BrokerShard& here, Request& request, const FetchState& fetch, FetchSlot& slot) {
  const TopicInfo* info =
      fetch.by_id ? here.catalog->find(slot.topic_id) : here.catalog->find(slot.topic);
  if (info == nullptr)
    return refuse(slot,
                  fetch.by_id ? ErrorCode::kUnknownTopicId : ErrorCode::kUnknownTopicOrPartition);
  if (fetch.is_replica || !authorize(request, Operation::kRead, ResourceType::kTopic, info->name))
    return refuse(slot, ErrorCode::kTopicAuthorizationFailed);
  if (slot.index < 0 || static_cast<size_t>(slot.index) >= info->partitions.size())
    return refuse(slot, ErrorCode::kUnknownTopicOrPartition);
  slot.topic_id = info->id;
  slot.shard = info->partitions[static_cast<size_t>(slot.index)].shard;
}

void ask(const FetchRequest::FetchPartition& partition, SessionPartition& cached) {
  cached.fetch_offset = partition.fetch_offset;
  cached.max_bytes = partition.partition_max_bytes;
  cached.current_leader_epoch = partition.current_leader_epoch;
  cached.last_fetched_epoch = partition.last_fetched_epoch;
}

void update_session(FetchSession& session, const FetchRequest& asked) {
  for (const auto& topic : asked.topics) {
    for (const auto& partition : topic.partitions) {
      if (auto* cached = session.find({topic.topic, topic.topic_id, partition.partition})) {
        ask(partition, *cached);
        continue;
      }
      SessionPartition added;
      added.topic = topic.topic;
      added.topic_id = topic.topic_id;
      added.index = partition.partition;
      ask(partition, added);
      session.add(std::move(added));
    }
  }
  for (const auto& topic : asked.forgotten_topics_data)
    for (int32_t index : topic.partitions)
      session.forget({topic.topic, topic.topic_id, index});
}

void refuse_session(Request& request, ErrorCode error) {
  FetchResponse response;
  response.error_code = static_cast<int16_t>(error);
  response.session_id = kNoSession;
  request.respond(response);
}

// The session that the request means. False: it has been answered with an error.
bool enter_session(BrokerShard& here, Request& request, FetchState& fetch) {
  const FetchRequest& asked = *fetch.asked;
  uint64_t now = here.shard.loop().now_ns();
  if (ends_session(asked)) {
    if (asked.session_id != kNoSession) here.sessions->close(asked.session_id);
    if (asked.session_epoch == kFinalEpoch) return true;
    size_t partitions = 0;
    for (const auto& topic : asked.topics) partitions += topic.partitions.size();
    if (partitions == 0) return true;
    fetch.session = here.sessions->create(here.shard.io().random(), now, partitions);
    if (fetch.session == nullptr) return true;
    fetch.session->uses_topic_ids = fetch.by_id;
    update_session(*fetch.session, asked);
    return true;
  }
  ErrorCode error = ErrorCode::kNone;
  fetch.session = here.sessions->resume(asked.session_id, asked.session_epoch, fetch.by_id, now, error);
  if (fetch.session == nullptr) {
    refuse_session(request, error);
    return false;
  }
  fetch.incremental = true;
  size_t before = fetch.session->size();
  update_session(*fetch.session, asked);
  if (fetch.session->size() > before && !here.sessions->within_bound()) {
    // The client begins again, with a session of its real size if there is room, or without one.
    here.sessions->close(asked.session_id);
    refuse_session(request, ErrorCode::kFetchSessionIdNotFound);
    return false;
  }
  return true;
}

std::span<FetchSlot> slots_of_session(Request& request, FetchSession& session) {
  auto slots = request.make_states<FetchSlot>(session.size());
  size_t next = 0;
  for (const SessionPartition& cached : session.partitions()) {
    FetchSlot& slot = slots[next++];
    slot.topic = request.arena().copy(cached.topic);
    slot.topic_id = cached.topic_id;
    slot.index = cached.index;
    slot.fetch_offset = cached.fetch_offset;
    slot.max_bytes = cached.max_bytes;
    slot.current_leader_epoch = cached.current_leader_epoch;
    slot.last_fetched_epoch = cached.last_fetched_epoch;
  }
  return slots;
}

// Finds the slot of a partition that the request names again: the last naming counts, in the first's
// place, as in Apache Kafka.
class SlotsByPartition {
 public:
  explicit SlotsByPartition(std::span<FetchSlot> slots) : slots_(slots) {}

  FetchSlot& slot_for(std::string_view topic, Uuid topic_id, int32_t index) {
    if (used_ < kFew) {
      for (size_t i = 0; i < used_; ++i) {
        FetchSlot& slot = slots_[i];
        if (slot.index == index && slot.topic_id == topic_id && slot.topic == topic) return slot;
      }
      return slots_[used_++];
    }
    if (places_.empty())
      for (size_t i = 0; i < used_; ++i)
        places_.emplace(Key{slots_[i].topic, slots_[i].topic_id, slots_[i].index}, i);
    auto [place, added] = places_.try_emplace(Key{topic, topic_id, index}, used_);
    if (added) ++used_;
    return slots_[place->second];
  }
  std::span<FetchSlot> used() const { return slots_.first(used_); }

 private:
  // Up to here a walk is cheaper than a table, and needs no memory.
  static constexpr size_t kFew = 32;
  struct Key {
    std::string_view topic;
    Uuid topic_id;
    int32_t index;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Hash {
    size_t operator()(const Key& key) const noexcept {
      return std::hash<std::string_view>{}(key.topic) ^ std::hash<Uuid>{}(key.topic_id) ^
             (static_cast<size_t>(key.index) * 0x9E3779B97F4A7C15ull);
    }
  };

  std::span<FetchSlot> slots_;
  size_t used_ = 0;
  boost::unordered_flat_map<Key, size_t, Hash> places_;
};

std::span<FetchSlot> slots_of_request(Request& request, const FetchRequest& asked) {
  size_t count = 0;
  for (const auto& topic : asked.topics) count += topic.partitions.size();
  SlotsByPartition slots(request.make_states<FetchSlot>(count));
  for (const auto& topic : asked.topics) {
    for (const auto& partition : topic.partitions) {
      FetchSlot& slot = slots.slot_for(topic.topic, topic.topic_id, partition.partition);
      slot.topic = topic.topic;
      slot.topic_id = topic.topic_id;
      slot.index = partition.partition;
      slot.fetch_offset = partition.fetch_offset;
      slot.max_bytes = partition.partition_max_bytes;
      slot.current_leader_epoch = partition.current_leader_epoch;
      slot.last_fetched_epoch = partition.last_fetched_epoch;
    }
  }
  return slots.used();
}

ErrorCode answer_code(const FetchState& fetch, const FetchSlot& slot) {
  bool deleted = slot.error == ErrorCode::kUnknownTopicOrPartition && slot.shard != kNoShard;
  return fetch.by_id && deleted ? ErrorCode::kUnknownTopicId : slot.error;
}

// Whether an incremental answer has to name the partition; notes what is told.
bool tell(FetchState& fetch, const FetchSlot& slot) {
  if (fetch.session == nullptr) return true;
  FetchSession::Key key{slot.topic, fetch.by_id ? slot.topic_id : Uuid{}, slot.index};
  SessionPartition* cached = fetch.session->find(key);
  if (cached == nullptr) return true;
  bool news = slot.send_bytes > 0 || slot.error != ErrorCode::kNone ||
              slot.diverging.leader_epoch >= 0 || cached->high_watermark != slot.high_watermark ||
              cached->log_start_offset != slot.log_start_offset;
  cached->high_watermark = slot.error == ErrorCode::kNone ? slot.high_watermark : -1;
  cached->log_start_offset = slot.error == ErrorCode::kNone ? slot.log_start_offset : -1;
  if (slot.send_bytes > 0) fetch.session->move_to_end(key);
  return news || !fetch.incremental;
}

std::span<FetchResponse::AbortedTransaction> aborted_transactions(Request& request,
                                                                  const FetchSlot& slot) {
  if (slot.send_bytes == 0) return {};
  auto told = request.arena().array<FetchResponse::AbortedTransaction>(slot.aborted.size());
  for (size_t i = 0; i < told.size(); ++i) {
    told[i].producer_id = proto::ProducerId(slot.aborted[i].producer_id);
    told[i].first_offset = slot.aborted[i].first_offset;
  }
  return told;
}

void fill(Request& request, const FetchState& fetch, const FetchSlot& slot,
          FetchResponse::PartitionData& data) {
  data.partition_index = slot.index;
  data.error_code = static_cast<int16_t>(answer_code(fetch, slot));
  data.high_watermark = slot.high_watermark;
  data.last_stable_offset = slot.last_stable_offset;
  data.log_start_offset = slot.log_start_offset;
  data.diverging_epoch = {slot.diverging.leader_epoch, slot.diverging.end_offset};
  data.current_leader = {proto::BrokerId(slot.leader_id), slot.leader_epoch};
  // An empty list where nothing is aborted and where the partition was refused; null, "not looked up", in
  // every other case: Apache Kafka's choice.
  bool looked_up = fetch.asked->isolation_level == kReadCommitted && slot.error == ErrorCode::kNone;
  if (slot.shard != kNoShard && !looked_up) data.aborted_transactions = std::nullopt;
  if (looked_up) data.aborted_transactions = aborted_transactions(request, slot);
  if (slot.send_bytes == 0) {
    // Zero bytes, not null: librdkafka sees no end of a partition otherwise.
    data.records = proto::Records::of({});
    return;
  }
  auto& ranges = request.reply().ranges();
  data.records =
      proto::Records::external(slot.send_bytes, static_cast<uint32_t>(ranges.size()));
  ranges.push_back({slot.slice.file, slot.slice.position, slot.send_bytes});
}

// The answer's topics: consecutive partitions of one topic share an entry, as in Apache Kafka.
class AnswerTopics {
 public:
  AnswerTopics(Request& request, const FetchState& fetch, size_t partitions)
      : request_(request),
        fetch_(fetch),
        topics_(request.arena().array<FetchResponse::FetchableTopicResponse>(partitions)),
        data_(request.arena().array<FetchResponse::PartitionData>(partitions)) {}

  void add(const FetchSlot& slot) {
    fill(request_, fetch_, slot, data_[told_]);
    if (last_ == nullptr || !same_topic(*last_, slot)) {
      topics_[topic_count_].topic = slot.topic;
      topics_[topic_count_].topic_id = slot.topic_id;
      topics_[topic_count_].partitions = data_.subspan(told_, 0);
      ++topic_count_;
    }
    auto& partitions = topics_[topic_count_ - 1].partitions;
    partitions = {partitions.data(), partitions.size() + 1};
    ++told_;
    last_ = &slot;
    leader_told_ = leader_told_ || slot.leader_id >= 0;
  }
  std::span<FetchResponse::FetchableTopicResponse> topics() const {
    return topics_.first(topic_count_);
  }
  // Some partition names the current leader: its address belongs to the answer.
  bool leader_told() const { return leader_told_; }

 private:
  // By name, a partition that was not found has no id.
  bool same_topic(const FetchSlot& a, const FetchSlot& b) const {
    return fetch_.by_id ? a.topic_id == b.topic_id : a.topic == b.topic;
  }

  Request& request_;
  const FetchState& fetch_;
  std::span<FetchResponse::FetchableTopicResponse> topics_;
  std::span<FetchResponse::PartitionData> data_;
  size_t topic_count_ = 0, told_ = 0;
  const FetchSlot* last_ = nullptr;
  bool leader_told_ = false;
};

std::span<FetchResponse::NodeEndpoint> endpoints(BrokerShard& here, Request& request) {
  Topology cluster = topology(*here.catalog, request.connection(), here.config);
  auto nodes = request.arena().array<FetchResponse::NodeEndpoint>(cluster.brokers().size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    const BrokerNode& node = cluster.brokers()[i];
    nodes[i] = {node.id, request.arena().copy(node.host), node.port, node.rack};
  }
  return nodes;
}

void respond(BrokerShard& here, Request& request, DelayedFetch& op) {
  auto& fetch = *static_cast<FetchState*>(request.state);
  AnswerTopics topics(request, fetch, op.slots().size());
  // What was read first, then what was refused, each in request order.
  for (bool refused : {false, true})
    for (const FetchSlot& slot : op.slots())
      if ((slot.shard == kNoShard) == refused && tell(fetch, slot)) topics.add(slot);
  FetchResponse response;
  response.responses = topics.topics();
  response.session_id = fetch.session != nullptr ? fetch.session->id : kNoSession;
  request.uses_session(response.session_id);
  if (topics.leader_told()) response.node_endpoints = endpoints(here, request);
  request.respond(response);
}

void read(BrokerShard& here, Request& request) {
  auto& fetch = *static_cast<FetchState*>(request.state);
  const FetchRequest* asked = fetch.asked;
  if (!enter_session(here, request, fetch)) return;
  auto slots = fetch.session != nullptr ? slots_of_session(request, *fetch.session)
                                        : slots_of_request(request, *asked);
  for (FetchSlot& slot : slots) locate(here, request, fetch, slot);
  DelayedFetch::Limits limits;
  // A client that has gone is not always noticed (its pipeline may be full): nobody waits longer than an
  // idle connection lives.
  limits.max_wait_ms = asked->max_wait_ms;
  if (here.config.connections_max_idle_ms > 0)
    limits.max_wait_ms = std::min(limits.max_wait_ms, here.config.connections_max_idle_ms);
  limits.max_bytes = std::min(asked->max_bytes, here.config.fetch_max_bytes);
  limits.min_bytes = std::min(asked->min_bytes, limits.max_bytes);
  limits.read_committed = asked->isolation_level == kReadCommitted;
  request.make_state<DelayedFetch>(here, request, limits, &respond).start(slots);
}

ShardId next_of(BrokerShard& here) {
  return static_cast<ShardId>((here.shard.id() + 1) % here.shard.count());
}

// From shard to shard until one has the session, and home with it. A client that comes back by another connection
// ends its old session so, before it waits for its eviction.
void look_for_session(BrokerShard& here, Request& request) {
  auto& fetch = *static_cast<FetchState*>(request.state);
  if (here.shard.id() == fetch.home) {
    here.sessions->put(std::move(fetch.taken), here.shard.loop().now_ns());
    return read(here, request);
  }
  int32_t id = fetch.asked->session_id;
  if (!ends_session(*fetch.asked)) fetch.taken = here.sessions->take(id);
  bool found = fetch.taken != nullptr || (ends_session(*fetch.asked) && here.sessions->close(id));
  request.hop(found ? fetch.home : next_of(here), &look_for_session);
}

}  // namespace

void handle_fetch(BrokerShard& here, Request& request) {
  auto* asked = request.decode<FetchRequest>();
  if (asked == nullptr) return;
  auto& fetch = request.make_state<FetchState>();
  request.state = &fetch;
  fetch.asked = asked;
  fetch.by_id = request.version() >= kFirstVersionWithTopicIds;
  // A replica reads past the high watermark: for brokers only, and this one has no peers (CVE-2018-1288).
  fetch.is_replica = asked->replica_id.value >= 0 || asked->replica_state.replica_id.value >= 0;
  fetch.home = here.shard.id();
  bool elsewhere = asked->session_id != kNoSession && !here.sessions->contains(asked->session_id);
  if (elsewhere && here.shard.count() > 1) return request.hop(next_of(here), &look_for_session);
  read(here, request);
}

}  // namespace pelton::broker
