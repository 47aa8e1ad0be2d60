// PlainProducer: a producer without an identity that sends each record once, with one kind of acks: what it
// was not told about may be there or not, but not twice.
#pragma once

#include <vector>

#include "tests/sim/client/client.h"

namespace pelton::sim {

class PlainProducer : public Client {
 public:
  PlainProducer(Context& context, std::string name, size_t topic, int16_t acks);
  bool settled() const override { return acks_ == 0 || link_.unanswered() == 0; }

 private:
  static constexpr size_t kMaxInFlight = 8;

  void work() override;
  void produce();
  void send(int32_t partition);

  size_t topic_;
  int16_t acks_;
  uint32_t number_ = 0;  // another one for each connection: order holds within one
  std::vector<uint64_t> next_;
};

}  // namespace pelton::sim
