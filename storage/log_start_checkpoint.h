// LogStartCheckpoint: brings raised log starts into log-start-offset-checkpoint, on stable storage, off the
// shard's path. One writing is under way at a time; what is raised meanwhile goes with the next.
//
//   write the new file under another name, sync it -> rename it over the old one, sync the file system
//
// Owner shard: the one that writes the checkpoints. Lifetime: outlived by the data directory.
#pragma once

#include <cstdint>
#include <string>

#include "reactor/base/intrusive_list.h"
#include "reactor/io.h"
#include "storage/log_dir.h"

namespace pelton::storage {

struct LogStartTag;
struct LogStartWaiter : ListHook<LogStartTag> {
  void* owner = nullptr;
  void (*done)(void* owner, Status outcome) = nullptr;
};

class LogStartCheckpoint {
 public:
  LogStartCheckpoint(Io& io, LogDir& directory);
  // Waits for a sync under way; waiters are not told any more.
  ~LogStartCheckpoint();
  LogStartCheckpoint(const LogStartCheckpoint&) = delete;
  LogStartCheckpoint& operator=(const LogStartCheckpoint&) = delete;

  // Tells the waiter when every log start that the directory was told of so far is on stable storage: at once
  // when it is. An error says that it may not be.
  void wait(LogStartWaiter& waiter);
  // Writes what has changed; nobody waits.
  void write();
  // Ends every wait with `error`; nothing is written after that.
  void stop(SysError error);

 private:
  enum class Step : uint8_t { kIdle, kFile, kName };
  using Waiters = IntrusiveList<LogStartWaiter, LogStartTag>;

  void begin();
  Status write_file();
  void on_synced(int32_t result);
  Status put_in_place();
  void end(Status outcome);
  void close_files();

  Io& io_;
  LogDir& directory_;
  std::string temporary_;
  Step step_ = Step::kIdle;
  bool again_ = false;   // something may have changed since the writing under way began
  bool stopped_ = false;
  uint64_t version_ = 0;    // of the log starts that are being written
  uint64_t durable_ = 0;    // of those on stable storage
  FileFd file_ = -1;
  FileFd parent_ = -1;
  Waiters waiting_;
  Waiters covered_;
  Op sync_;
};

}  // namespace pelton::storage
