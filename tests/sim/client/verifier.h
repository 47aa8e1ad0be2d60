// Verifier: the last reader: takes every partition from its first offset to its end and hands the model the
// whole log; then every committed offset of the run's topics.
#pragma once

#include <vector>

#include "tests/sim/client/client.h"

namespace pelton::sim {

class Verifier : public Client {
 public:
  explicit Verifier(Context& context) : Client(context, "verifier") {}
  bool settled() const override { return read_all() && offsets_read_; }

 private:
  struct Offset {
    std::string group;
    std::string topic;
    int32_t partition;
  };

  bool read_all() const { return topic_ == model_.topics().size(); }
  void work() override { fetch(); }
  void fetch();
  void next_partition();
  void begin_offsets();
  void next_offset();

  size_t topic_ = 0;
  int32_t partition_ = 0;
  std::vector<RecordId> log_;
  std::vector<Offset> offsets_;
  bool offsets_read_ = false;
};

}  // namespace pelton::sim
