// SimDisk: a file system in memory that survives the crashes of a simulated broker as a real one would.
//
// What is written is seen by everybody at once. After the process dies it is all still there; after a
// power loss only what was synced is sure: each other block of 512 bytes, each size and each change of
// a directory is there or not as the world draws. Changes of directories are lost from the newest on
// (a journal), or each for itself.
//
// Owner: the run. Lifetime: outlives the Ios over it. Descriptors and locks die in crash().
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reactor/file_system.h"
#include "tests/sim/world/sim_file.h"
#include "tests/sim/world/world.h"

namespace pelton::sim {

enum class CrashKind : uint8_t {
  kProcessKill,  // the page cache stays
  kPowerLoss,    // only what was synced stays
};

class SimDisk : public FileSystem {
 public:
  using FilePtr = std::shared_ptr<SimFile>;

  struct Faults {
    bool sync_lies = false;   // asynchronous syncs report success and do nothing
    double sync_error = 0.0;  // chance that an asynchronous sync fails with EIO
    double sync_stall = 0.0;  // chance that one takes seconds
  };

  explicit SimDisk(World& world);

  Faults faults;

  // The power goes away in the middle of something: after so many more changes each further one fails and
  // has no effect, until crash(). nullopt: it stays.
  void lose_power_after(std::optional<uint64_t> changes) { changes_left_ = changes; }
  bool lost_power() const { return changes_left_ == 0u; }

  // Asynchronous syncs that failed since the last crash: what they were for is in the page cache alone, and
  // counts as clean.
  uint64_t failed_syncs() const { return failed_syncs_; }

  // The processes of the disk die; `kind` says what is left.
  void crash(CrashKind kind);

  // --- FileSystem ---
  Result<FileFd> open(const std::string& path, OpenMode mode) override;
  void close(FileFd fd) override;
  Result<size_t> pread(FileFd fd, MutableBytes into, uint64_t position) override;
  Status pwritev(FileFd fd, const iovec* pieces, int count, uint64_t position) override;
  Result<uint64_t> size(FileFd fd) override;
  Status truncate(FileFd fd, uint64_t size) override;
  Status reserve(FileFd fd, uint64_t position, uint64_t length) override;
  Status sync(FileFd fd) override;
  void start_writeback(FileFd fd, uint64_t position, uint64_t length) override;
  Status rename(const std::string& from, const std::string& to) override;
  Status unlink(const std::string& path) override;
  Status make_directory(const std::string& path) override;
  Status remove_directory(const std::string& path) override;
  Status sync_directory(const std::string& path) override;
  Status sync_file_system(FileFd directory) override;
  bool exists(const std::string& path) override;
  Result<std::vector<DirectoryEntry>> list(const std::string& path) override;
  Result<int64_t> modified_ms(const std::string& path) override;
  Result<FileSystemSpace> space(const std::string& path) override;
  Result<FileFd> lock(const std::string& path) override;

  // --- for SimIo: operations that take time keep the file, not the descriptor ---
  std::shared_ptr<SimFile> file(FileFd fd);
  // The errors of write-back that a descriptor was told of, or that were there before it.
  struct Told {
    uint64_t of_file = 0;
    uint64_t of_disk = 0;
  };
  // A sync of some files, and of the changes of directories before it.
  struct Sync {
    std::shared_ptr<Told> told;  // of its descriptor
    FilePtr of;                  // null: the whole disk
    std::vector<std::pair<std::shared_ptr<SimFile>, SyncPromise>> files;
    uint64_t changes_before = 0;  // 0: none
  };
  Sync begin_sync(FileFd fd);
  Sync begin_file_system_sync(FileFd directory);
  // Whether there was an error that the sync's descriptor was not told of: it is now.
  bool tells_error(const Sync& sync);
  void finish_sync(const Sync& sync);
  void fail_sync(const Sync& sync);

 private:
  // One change of directories that is not on the device yet: an entry goes, an entry comes, or both.
  struct Change {
    uint64_t number;
    FilePtr file;
    FilePtr from;  // directory that loses `from_name`, or null
    std::string from_name;
    FilePtr to;    // directory that gets `to_name`, or null
    std::string to_name;
  };
  struct Place {
    FilePtr directory;
    std::string name;
    FilePtr file;  // null: nothing of that name
  };

  Result<Place> find(const std::string& path) const;
  // Counts one change; false: there is no power for it.
  bool powered();
  FilePtr make_file(bool is_directory);
  FileFd open_file(const FilePtr& file);
  void change(FilePtr file, FilePtr from, std::string from_name, FilePtr to, std::string to_name);
  static void apply(const Change& change);
  template <class Which>
  void make_durable(Which&& which);
  void lose_changes();
  static void collect(const FilePtr& file, bool durable, std::vector<FilePtr>& out);

  World& world_;
  FilePtr root_;
  struct Open {
    FilePtr file;
    std::shared_ptr<Told> told;
  };
  std::map<FileFd, Open> open_;
  std::map<uint64_t, FileFd> locks_;  // by file
  std::vector<Change> changes_;       // in order
  uint64_t next_change_ = 1;
  uint64_t next_file_ = 1;
  FileFd next_fd_ = 3;
  std::optional<uint64_t> changes_left_;
  uint64_t failed_syncs_ = 0;
  uint64_t errors_ = 0;  // of write-back, ever
};

}  // namespace pelton::sim
