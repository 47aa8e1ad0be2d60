// Verifier: the last reader: takes every partition from its first offset to its end and hands the model the
// whole log.
#pragma once

#include <vector>

#include "tests/sim/client/client.h"

namespace pelton::sim {

class Verifier : public Client {
 public:
  explicit Verifier(Context& context) : Client(context, "verifier") {}
  bool settled() const override { return topic_ == model_.topics().size(); }

 private:
  void work() override { fetch(); }
  void fetch();
  void next_partition();

  size_t topic_ = 0;
  int32_t partition_ = 0;
  std::vector<RecordId> log_;
};

}  // namespace pelton::sim
