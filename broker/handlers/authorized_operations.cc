#include "broker/handlers/authorized_operations.h"

#include <initializer_list>

namespace pelton::broker {
namespace {

using enum Operation;

std::initializer_list<Operation> operations_of(ResourceType type) {
  static constexpr std::initializer_list<Operation> kTopic = {
      kRead, kWrite, kCreate, kDelete, kAlter, kDescribe, kDescribeConfigs, kAlterConfigs};
  static constexpr std::initializer_list<Operation> kCluster = {
      kCreate, kAlter, kDescribe, kClusterAction, kDescribeConfigs, kAlterConfigs, kIdempotentWrite};
  // Group configuration is described and altered too since Kafka 4.0.
  static constexpr std::initializer_list<Operation> kGroup = {kRead, kDelete, kDescribe,
                                                              kDescribeConfigs, kAlterConfigs};
  if (type == ResourceType::kTopic) return kTopic;
  return type == ResourceType::kCluster ? kCluster : kGroup;
}

}  // namespace

int32_t authorized_operations(const Request& request, ResourceType type, std::string_view name) {
  int32_t bits = 0;
  for (Operation operation : operations_of(type)) {
    if (authorize(request, operation, type, name)) bits |= 1 << static_cast<int>(operation);
  }
  return bits;
}

}  // namespace pelton::broker
