// Planning of configuration changes: what is asked of one resource, held against the catalog's state, gives
// metadata records or an error code. Pure functions of their arguments, with Apache Kafka's rules and codes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "broker/catalog/metadata_record.h"
#include "broker/catalog/replay.h"
#include "broker/config/config_fault.h"
#include "broker/config/config_resource.h"

namespace pelton::broker {

struct ConfigAlteration {
  std::string_view name;
  int8_t operation = 0;  // an AlterOperation, as far as it is one
  std::optional<std::string_view> value;
};

struct ConfigChange {
  int8_t type = 0;  // a ConfigResourceType, as far as it is one
  std::string_view name;
  bool replaces = false;  // what is not named is deleted (AlterConfigs)
  std::vector<ConfigAlteration> alterations;
};

// Rules that hold for a change of any resource, before its kind is looked at.
ConfigFault check_alterations(const ConfigChange& change);
// Whether the name of a broker's resource is this node's id. `may_be_empty`: all brokers.
ConfigFault check_broker_name(std::string_view name, int32_t node_id, bool may_be_empty);

// Adds the records of one change that check_alterations() has passed, or none.
ConfigFault plan_config_change(const CatalogReplay& state, const ConfigChange& change,
                                 MetadataRecords& records);

}  // namespace pelton::broker
