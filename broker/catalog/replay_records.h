// What each of Apache Kafka's 27 metadata record types does to the catalog.
#pragma once

#include <string>

#include "broker/catalog/metadata_record.h"
#include "proto/arena.h"
#include "reactor/base/result.h"

namespace pelton::broker {

class CatalogReplay;

// Decodes and applies one record that is outside of any transaction. An unknown type, an unknown version
// and a record that contradicts the state are errors: passing over them would silently diverge.
Result<void, std::string> apply_record(CatalogReplay& replay, const MetadataFrame& frame,
                                       proto::Arena& arena);

}  // namespace pelton::broker
