// Admin: makes the run's topics, then watches over them: a topic whose creation was answered stays, with its
// id and partitions, through every crash.
#pragma once

#include <map>
#include <string>

#include "proto/messages/create_topics.h"
#include "proto/messages/metadata.h"
#include "tests/sim/client/client.h"

namespace pelton::sim {

class Admin : public Client {
 public:
  explicit Admin(Context& context);

 private:
  static constexpr size_t kMostTopics = 8;
  struct Known {
    bool answered = false;  // its creation, or a description of it
    Uuid id;
    int32_t partitions = 0;
    bool synced = true;
  };

  void work() override;
  void next();
  void create(const std::string& name);
  void describe();
  void on_described(const proto::MetadataResponse& response, const std::map<std::string, Known>& sure);
  void publish_ids();

  std::map<std::string, Known> topics_;  // wanted, answered or not
};

}  // namespace pelton::sim
