// The one authorization door: every handler asks here, by the operation and resource of its row in the
// dispatch table. Allow-all until an authorizer exists.
#pragma once

#include <cstdint>
#include <string_view>

namespace pelton::broker {

class Request;

// Kafka's AclOperation and ResourceType codes.
enum class Operation : int8_t {
  kNone = 0,  // no permission is needed (ApiVersions)
  kAll = 2, kRead = 3, kWrite = 4, kCreate = 5, kDelete = 6, kAlter = 7, kDescribe = 8,
  kClusterAction = 9, kDescribeConfigs = 10, kAlterConfigs = 11, kIdempotentWrite = 12,
};
enum class ResourceType : int8_t { kNone = 0, kTopic = 2, kGroup = 3, kCluster = 4, kTransactionalId = 5 };

// Whether the request's principal may do `operation` on the named resource ("kafka-cluster" for the
// cluster).
bool authorize(const Request& request, Operation operation, ResourceType type,
               std::string_view resource);

// Whether the request's principal may act as a broker of the cluster (ClusterAction). While nobody says who
// is one, nobody may: ending other clients' transactions is no client's business.
bool authorize_broker(const Request& request);

}  // namespace pelton::broker
