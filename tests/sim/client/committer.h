// Committer: commits rising offsets for a group of its own, without membership, and asks for them: what was
// acknowledged, or answered once, never goes back.
#pragma once

#include "tests/sim/client/client.h"

namespace pelton::sim {

class Committer : public Client {
 public:
  Committer(Context& context, std::string name, size_t topic);
  bool settled() const override { return link_.unanswered() == 0; }

 private:
  void work() override;
  void next();
  void commit();
  void fetch();
  // Whether the answer says that the coordinator is not ready (and the client tries again later).
  bool try_again(int16_t error);

  size_t topic_;
  int64_t offset_ = 0;
};

}  // namespace pelton::sim
