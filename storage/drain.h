// drain: runs completions until what is in flight has ended; for the destruction of a shard's storage,
// when nothing else is left on that shard.
#pragma once

#include <optional>

#include "reactor/io.h"

namespace pelton::storage {

template <class Busy>
void drain(Io& io, Busy busy) {
  while (busy()) {
    ReadyList ready;
    io.poll(ready, std::nullopt);
    while (!ready.empty()) {
      Completion& done = ready.front();
      ready.pop_front();
      done.run();
    }
  }
}

}  // namespace pelton::storage
