// Recreator: a topic that is created, used and deleted, again and again, under one name. Nothing of a former
// topic may show in its successor: no id, no record, no committed offset; and what was deleted stays away.
#pragma once

#include <string>
#include <vector>

#include "proto/messages/metadata.h"
#include "reactor/base/uuid.h"
#include "tests/sim/client/client.h"

namespace pelton::sim {

class Recreator : public Client {
 public:
  explicit Recreator(Context& context, std::string name);
  bool settled() const override { return link_.unanswered() == 0; }

 private:
  enum class Stage {
    kCreating,  // or the answer was lost
    kUsing,
    kDeleting,  // or the answer was lost
    kDeleted
  };

  void work() override;
  void next();
  void create();
  void describe();
  void on_described(const proto::MetadataResponse& response);
  void created(Uuid id);
  void use();
  void produce();
  void read();
  void fetch();
  void commit();
  void remove();
  void removed();
  // Whether an error is that of a coordinator or a disk, after which the client connects again.
  bool try_again(int16_t error, const char* what);

  const std::string group_;
  Stage stage_ = Stage::kCreating;
  uint32_t incarnation_ = 1;
  uint64_t produced_ = 0;  // records of this incarnation, answered or not
  Uuid id_;
  std::vector<Uuid> former_ids_;
};

}  // namespace pelton::sim
