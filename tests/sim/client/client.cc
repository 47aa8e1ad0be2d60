#include "tests/sim/client/client.h"

#include <utility>

namespace pelton::sim {

Client::Client(Context& context, std::string name)
    : context_(context),
      world_(context.world),
      model_(context.model),
      link_(context.world, context.network, context.port, name, [this] { on_lost(); },
            [this](const std::string& what) { bug(what); }),
      name_(std::move(name)) {}

void Client::start() { connect_later(); }

void Client::stop() {
  stopped_ = true;
  ++epoch_;
  link_.abort();
  lost();
}

void Client::restart() {
  link_.abort();
  on_lost();
}

void Client::on_lost() {
  ++epoch_;
  lost();
  connect_later();
}

// Longer than any turn or stall takes: what was sent on the old connection has ended one way or the other.
void Client::connect_later() {
  if (connecting_ || stopped_) return;
  connecting_ = true;
  world_.after(world_.between(200 * kMilli, 800 * kMilli), [this] {
    connecting_ = false;
    if (stopped_) return;
    link_.connect();
    work();
  });
}

void Client::later(uint64_t delay_ns, std::function<void()> act) {
  world_.after(delay_ns, [this, epoch = epoch_, act = std::move(act)] {
    if (epoch == epoch_) act();
  });
}

}  // namespace pelton::sim
