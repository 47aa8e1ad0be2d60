// Notices: lines of the log that may come many at a time: because of a client, or because one event (a full
// disk) meets every partition.
//
// Owner: its shard. The first of a kind is told at once; those of the second after it as a number, when the
// second is over.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "reactor/base/log.h"
#include "reactor/loop.h"

namespace pelton::broker {

class RepeatedNotice {
 public:
  // `more`: what stands behind the number of those that were passed over; a literal.
  RepeatedNotice(Loop& loop, LogLevel level, std::string_view more) : loop_(loop), level_(level), more_(more) {}
  RepeatedNotice(const RepeatedNotice&) = delete;
  RepeatedNotice& operator=(const RepeatedNotice&) = delete;

  template <class... Args>
  void tell(fmt::format_string<Args...> format, Args&&... args) {
    if (log_enabled(level_) && may_tell()) log_line(level_, fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  bool may_tell();  // now; otherwise it is counted
  void second_over();

  Loop& loop_;
  LogLevel level_;
  std::string_view more_;
  uint64_t passed_over_ = 0;
  bool quiet_ = false;  // the timer runs
  Timer timer_ = Timer::bind<&RepeatedNotice::second_over>(this);
};

// One of each kind for a shard.
struct Notices {
  explicit Notices(Loop& loop);

  RepeatedNotice suspended;       // partitions that cannot take records for now
  RepeatedNotice resumed;
  RepeatedNotice failed;
  RepeatedNotice cannot_open;     // rounds in which new partitions could not be made
  RepeatedNotice internal_topic;  // that could not be created
  RepeatedNotice idle_keys;       // configuration that is kept and does nothing
};

}  // namespace pelton::broker
