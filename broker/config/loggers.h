// The process's loggers as resources of type BROKER_LOGGER: one, "root". Its level is changed at once and not
// persisted, as in Apache Kafka.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "broker/config/config_fault.h"
#include "broker/config/describe.h"

namespace pelton::broker {

DescribedConfigs describe_loggers();

// Whether one alteration of IncrementalAlterConfigs can be made.
ConfigFault check_logger_change(std::string_view logger, int8_t operation,
                                std::optional<std::string_view> level);
// Makes one that was checked.
void change_logger(std::string_view level);

}  // namespace pelton::broker
