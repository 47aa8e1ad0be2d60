// Member: a member of a classic group, dynamic or static: joins, assigns when it leads, sends heartbeats,
// commits offsets of what it owns. Now and then it dies without a word, leaves, or sleeps and goes on as if
// nothing had happened.
//
// What it holds the broker to: GroupModel's promises; errors that the protocol has for its state.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "proto/messages/join_group.h"
#include "proto/messages/sync_group.h"
#include "tests/sim/client/client.h"

namespace pelton::sim {

class Member : public Client {
 public:
  // `static_member`: it keeps its instance id, which is its name.
  Member(Context& context, std::string name, std::string group, bool static_member);
  bool settled() const override { return link_.unanswered() == 0; }

 private:
  void work() override;
  void find_coordinator();
  void join();
  void on_joined(const proto::JoinGroupResponse& response, const GroupModel::Moment& sent);
  std::vector<std::vector<uint8_t>> assign(size_t members);
  void sync(const proto::JoinGroupResponse& response);
  void send_sync(const std::vector<std::pair<std::string, std::vector<uint8_t>>>& assignments);
  void on_synced(const proto::SyncGroupResponse& response, const GroupModel::Moment& sent);
  void live();
  void act();
  void heartbeat();
  void commit();
  void fetch();
  void leave();
  // Whether the member may go on; otherwise it does what the error says.
  bool well(int16_t error, const char* what);
  void join_again();
  std::optional<std::string_view> instance() const;

  const std::string group_;
  const bool static_;
  std::string id_;
  int32_t generation_ = -1;
  std::vector<int32_t> owned_;
};

}  // namespace pelton::sim
