// InitProducerId: ids for idempotent producers. Transactions are not there yet.

#include "proto/messages/init_producer_id.h"

#include "broker/broker_shard.h"
#include "broker/catalog/writer.h"
#include "broker/handlers/authorized_operations.h"
#include "broker/handlers/handlers.h"
#include "broker/request.h"

namespace pelton::broker {
namespace {

using proto::ErrorCode;
using proto::InitProducerIdRequest;
using proto::InitProducerIdResponse;

struct State : CatalogWriter::ProducerIdWaiter {
  Request* request = nullptr;
};

void respond(Request& request, ErrorCode error, int64_t producer_id) {
  InitProducerIdResponse response;
  response.error_code = static_cast<int16_t>(error);
  response.producer_id = proto::ProducerId(producer_id);
  response.producer_epoch = error == ErrorCode::kNone ? 0 : -1;
  request.respond(response);
}

void on_producer_id(void* owner, ErrorCode error, int64_t producer_id) {
  // Whatever kept the block from being written, clients know this one and try again.
  if (error != ErrorCode::kNone) error = ErrorCode::kCoordinatorNotAvailable;
  respond(*static_cast<State*>(owner)->request, error, producer_id);
}

void ask_for_id(BrokerShard& here, Request& request) {
  here.catalog_writer->next_producer_id(*static_cast<State*>(request.state));
}

}  // namespace

void handle_init_producer_id(BrokerShard&, Request& request) {
  const auto* asked = request.decode<InitProducerIdRequest>();
  if (asked == nullptr) return;
  constexpr int64_t kNone = -1;
  if (asked->transactional_id) {
    bool named = !asked->transactional_id->empty();
    return respond(request, named ? ErrorCode::kUnsupportedVersion : ErrorCode::kInvalidRequest, kNone);
  }
  if ((asked->producer_id.value < 0) != (asked->producer_epoch < 0)) {
    return respond(request, ErrorCode::kInvalidRequest, kNone);
  }
  if (!authorize(request, Operation::kIdempotentWrite, ResourceType::kCluster, kClusterResource)) {
    return respond(request, ErrorCode::kClusterAuthorizationFailed, kNone);
  }
  State& state = request.make_state<State>();
  state.owner = &state;
  state.ready = on_producer_id;
  state.request = &request;
  request.state = &state;
  request.hop(kCatalogShard, ask_for_id);
}

}  // namespace pelton::broker
