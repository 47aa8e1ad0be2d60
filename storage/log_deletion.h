// LogDeletion: the second step of every deletion. Files and directories that were renamed (.deleted,
// -delete) are unlinked after file.delete.delay.ms, one at a time and off the shard's path. A file that a
// slice still pins may be unlinked: the pin holds its descriptor, and the bytes live as long as that.
//
// What is still waiting when the process ends is removed by the next start.
//
// Owner shard: one. Lifetime: outlives the logs.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "reactor/io.h"
#include "reactor/loop.h"

namespace pelton::storage {

class LogDeletion {
 public:
  explicit LogDeletion(Loop& loop);
  ~LogDeletion();
  LogDeletion(const LogDeletion&) = delete;
  LogDeletion& operator=(const LogDeletion&) = delete;

  void delete_files(std::vector<std::string> paths, int64_t delay_ms);
  void delete_directory(std::string path, int64_t delay_ms);

  // Nothing waits and nothing is being unlinked.
  bool idle() const { return waiting_.empty() && !unlink_.done.pending(); }

 private:
  struct Doomed {
    std::vector<std::string> files;
    std::string directory;  // empty: files alone
  };

  void add(Doomed doomed, int64_t delay_ms);
  void on_due();
  void begin(Doomed doomed);
  void step();
  void on_unlinked(int32_t result);
  void start_timer();

  Loop& loop_;
  std::multimap<uint64_t, Doomed> waiting_;  // by due time
  Doomed current_;
  std::string unlinking_;
  Timer timer_;
  Op unlink_;
};

}  // namespace pelton::storage
