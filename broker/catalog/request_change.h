// RequestChange: a change of the catalog that one request asks for, and that answers it.
//
// Owner shard: kCatalogShard, to which the request has hopped; the writer owns it from run_change() on.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>

#include "broker/broker_shard.h"
#include "broker/catalog/writer.h"
#include "broker/request.h"

namespace pelton::broker {

class RequestChange : public CatalogChange {
 public:
  static constexpr int64_t kNoDeadline = std::numeric_limits<int64_t>::max();

  RequestChange(BrokerShard& here, Request& request, int64_t deadline_ms = kNoDeadline)
      : here_(here), request_(request), deadline_ms_(deadline_ms) {}

  void done(proto::ErrorCode error) final {
    if (error != proto::ErrorCode::kNone) fail_all(error);
    respond();
  }

 protected:
  // What has not failed by itself has failed for this reason.
  virtual void fail_all(proto::ErrorCode error) = 0;
  // Answers the request by what plan() and fail_all() left.
  virtual void respond() = 0;

  bool late() const { return here_.shard.loop().wall_ms() > deadline_ms_; }

  BrokerShard& here_;
  Request& request_;

 private:
  int64_t deadline_ms_;
};

// Plans and answers, without changing anything, or hands the change to the catalog's writer.
void run_change(BrokerShard& here, std::unique_ptr<RequestChange> change, bool validate_only);

// Takes the request to the catalog's shard and runs a Change(here, request, asked, deadline) there. `asked`, the
// decoded request, has a timeout and may only want to be validated.
template <class Change, class Asked>
void start_change(BrokerShard& here, Request& request, const Asked& asked) {
  struct State {
    const Asked* asked;
    int64_t deadline_ms;
  };
  request.state = &request.make_state<State>(State{&asked, here.shard.loop().wall_ms() + asked.timeout_ms});
  request.hop(kCatalogShard, [](BrokerShard& there, Request& arrived) {
    const State& state = *static_cast<const State*>(arrived.state);
    run_change(there, std::make_unique<Change>(there, arrived, *state.asked, state.deadline_ms),
               state.asked->validate_only);
  });
}

}  // namespace pelton::broker
