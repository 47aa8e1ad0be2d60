// What the process's helper threads keep between jobs.
#pragma once

#include "proto/compression.h"
#include "reactor/helper_threads.h"

namespace pelton::broker {

struct BrokerHelperContext final : HelperContext {
  explicit BrokerHelperContext(const std::atomic<bool>& stopping) : codecs(&stopping) {}
  proto::CodecContexts codecs;

  static std::unique_ptr<HelperContext> make(const std::atomic<bool>& stopping) {
    return std::make_unique<BrokerHelperContext>(stopping);
  }
};

}  // namespace pelton::broker
