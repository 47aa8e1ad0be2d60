#include "broker/catalog/request_change.h"

#include <utility>

namespace pelton::broker {

void run_change(BrokerShard& here, std::unique_ptr<RequestChange> change, bool validate_only) {
  if (validate_only) {
    MetadataRecords unused;
    change->plan(here.catalog_writer->state(), unused);
    return change->done(proto::ErrorCode::kNone);
  }
  if (auto left = here.catalog_writer->submit(std::move(change))) {
    left->done(proto::ErrorCode::kNotController);
  }
}

}  // namespace pelton::broker
