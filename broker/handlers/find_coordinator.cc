// FindCoordinator: who coordinates groups (and, once there are some, transactions and share
// groups).

#include "proto/messages/find_coordinator.h"

#include "broker/authorize.h"
#include "broker/broker_shard.h"
#include "broker/catalog/internal_topics.h"
#include "broker/group/group_lookup.h"
#include "broker/handlers/answer_limit.h"
#include "broker/handlers/handlers.h"
#include "broker/request.h"
#include "broker/topology.h"

namespace pelton::broker {
namespace {

using proto::ErrorCode;
using proto::FindCoordinatorRequest;
using proto::FindCoordinatorResponse;
using Coordinator = FindCoordinatorResponse::Coordinator;

enum class KeyType : int8_t { kGroup = 0, kTransaction = 1, kShare = 2 };

constexpr int16_t kSeveralKeysFrom = 4;
constexpr int16_t kShareKeysFrom = 6;

struct Finding {
  KeyType type;
  std::span<Coordinator> answers;
};

void set_error(Coordinator& answer, ErrorCode error, std::string_view message = {}) {
  answer.error_code = proto::wire(error);
  answer.error_message = message;
  answer.node_id = proto::BrokerId(-1);
  answer.host = {};
  answer.port = -1;
}

bool allowed(const Request& request, KeyType type, std::string_view key) {
  switch (type) {
    case KeyType::kGroup:
      return authorize(request, Operation::kDescribe, ResourceType::kGroup, key);
    case KeyType::kTransaction:
      return authorize(request, Operation::kDescribe, ResourceType::kTransactionalId, key);
    case KeyType::kShare:
      return authorize(request, Operation::kClusterAction, ResourceType::kCluster, "kafka-cluster");
  }
  return false;
}

ErrorCode refusal(KeyType type) {
  switch (type) {
    case KeyType::kGroup:
      return ErrorCode::kGroupAuthorizationFailed;
    case KeyType::kTransaction:
      return ErrorCode::kTransactionalIdAuthorizationFailed;
    case KeyType::kShare:
      return ErrorCode::kClusterAuthorizationFailed;
  }
  return ErrorCode::kInvalidRequest;
}

void respond(Request& request, std::span<Coordinator> answers) {
  FindCoordinatorResponse response;
  if (request.version() >= kSeveralKeysFrom) {
    response.coordinators = answers;
  } else {
    const Coordinator& only = answers.front();
    response.error_code = only.error_code;
    response.error_message = only.error_message;
    if (only.error_code == 0) response.error_message = "NONE";
    response.node_id = only.node_id;
    response.host = only.host;
    response.port = only.port;
  }
  request.respond(response);
}

void find(BrokerShard& here, Request& request) {
  auto& finding = *static_cast<Finding*>(request.state);
  Topology seen = topology(*here.catalog, request.connection(), here.config);
  for (Coordinator& answer : finding.answers) {
    if (answer.error_code != 0) continue;
    auto place = group::coordinator_place(*here.catalog, answer.key);
    const BrokerNode* node = place ? seen.coordinator(kOffsetsTopic, place->partition) : nullptr;
    if (node == nullptr) {
      set_error(answer, ErrorCode::kCoordinatorNotAvailable);
      continue;
    }
    answer.node_id = node->id;
    answer.host = node->host;
    answer.port = node->port;
  }
  respond(request, finding.answers);
}

// Errors that need no look at the catalog. Whether any key is left to be found.
bool check(const Request& request, KeyType type, std::span<Coordinator> answers) {
  bool any = false;
  for (Coordinator& answer : answers) {
    bool known = type == KeyType::kGroup || type == KeyType::kTransaction ||
                 (type == KeyType::kShare && request.version() >= kShareKeysFrom);
    if (!known) {
      set_error(answer, ErrorCode::kInvalidRequest, "unknown key type");
    } else if (!allowed(request, type, answer.key)) {
      set_error(answer, refusal(type));
    } else if (type != KeyType::kGroup) {
      // An error that clients do not retry: waiting does not bring the feature.
      set_error(answer, ErrorCode::kUnsupportedVersion,
                type == KeyType::kTransaction ? "transactions are not supported by this broker"
                                              : "share groups are not supported by this broker");
    } else {
      any = true;
    }
  }
  return any;
}

}  // namespace

void handle_find_coordinator(BrokerShard& here, Request& request) {
  auto* asked = request.decode<FindCoordinatorRequest>();
  if (asked == nullptr) return;
  std::span<Coordinator> answers;
  if (!answer_has_room(request.arena(), asked->coordinator_keys.size() * sizeof(Coordinator)))
    return request.close_connection("too many keys in one request");
  if (request.version() >= kSeveralKeysFrom) {
    answers = request.arena().array<Coordinator>(asked->coordinator_keys.size());
    for (size_t i = 0; i < answers.size(); ++i) answers[i].key = asked->coordinator_keys[i];
  } else {
    answers = request.arena().array<Coordinator>(1);
    answers[0].key = asked->key;
  }
  auto type = static_cast<KeyType>(asked->key_type);
  if (!check(request, type, answers)) return respond(request, answers);
  Finding* finding = request.arena().make<Finding>();
  *finding = {type, answers};
  request.state = finding;
  ensure_internal_topic(here, request, kOffsetsTopic, &find);
}

}  // namespace pelton::broker
