#include "storage/log_start_checkpoint.h"

#include "storage/checkpoint.h"
#include "storage/drain.h"

namespace pelton::storage {

LogStartCheckpoint::LogStartCheckpoint(Io& io, LogDir& directory)
    : io_(io),
      directory_(directory),
      temporary_(directory.path() + "/" + kLogStartOffsetCheckpoint + ".part"),
      sync_(Completion::bind<&LogStartCheckpoint::on_synced>(this)) {}

LogStartCheckpoint::~LogStartCheckpoint() {
  stopped_ = true;
  drain(io_, [this] { return sync_.done.pending(); });
  close_files();
}

void LogStartCheckpoint::wait(LogStartWaiter& waiter) {
  if (stopped_) return waiter.done(waiter.owner, sys_error(ECANCELED));
  waiting_.push_back(waiter);
  write();
}

void LogStartCheckpoint::write() {
  again_ = true;
  if (step_ == Step::kIdle) begin();
}

void LogStartCheckpoint::stop(SysError error) {
  stopped_ = true;
  for (Waiters* waiters : {&covered_, &waiting_}) {
    while (!waiters->empty()) {
      LogStartWaiter& waiter = waiters->front();
      waiters->pop_front();
      waiter.done(waiter.owner, std::unexpected(error));
    }
  }
}

void LogStartCheckpoint::begin() {
  again_ = false;
  covered_.splice(covered_.end(), waiting_);
  Status wrote = write_file();
  if (!wrote) return end(wrote);
  if (version_ == durable_) return end({});
  step_ = Step::kFile;
  io_.sync(file_, sync_);
}

// Nothing to do when what is there is on stable storage.
Status LogStartCheckpoint::write_file() {
  LogDir::LogStarts starts = directory_.log_starts();
  version_ = starts.version;
  if (version_ == durable_) return {};
  FileSystem& files = io_.files();
  if (parent_ < 0) {
    Result<FileFd> parent = files.open(directory_.path(), OpenMode::kDirectory);
    if (!parent) return std::unexpected(parent.error());
    parent_ = *parent;
  }
  // A fresh file: what a failed sync has left of an earlier one is not written over.
  Status removed = files.unlink(temporary_);
  if (!removed && removed.error().code != ENOENT) return removed;
  Result<FileFd> file = files.open(temporary_, OpenMode::kCreateNew);
  if (!file) return std::unexpected(file.error());
  file_ = *file;
  iovec piece{starts.text.data(), starts.text.size()};
  return files.pwritev(file_, &piece, 1, 0);
}

void LogStartCheckpoint::on_synced(int32_t result) {
  if (stopped_) return;
  if (result < 0) return end(sys_error(-result));
  if (step_ == Step::kName) {
    durable_ = version_;
    return end({});
  }
  Status placed = put_in_place();
  if (placed && step_ == Step::kName) return io_.sync_file_system(parent_, sync_);
  if (!placed) return end(placed);
  begin();
}

// The step stays when the log starts have changed meanwhile: the file is not put over a newer one.
Status LogStartCheckpoint::put_in_place() {
  Result<bool> placed = directory_.place_log_starts(temporary_, version_);
  if (!placed) return std::unexpected(placed.error());
  io_.files().close(file_);
  file_ = -1;
  if (*placed) step_ = Step::kName;
  return {};
}

void LogStartCheckpoint::end(Status outcome) {
  step_ = Step::kIdle;
  if (file_ >= 0) io_.files().close(file_);
  file_ = -1;
  Waiters told;
  told.swap(covered_);
  while (!told.empty()) {
    LogStartWaiter& waiter = told.front();
    told.pop_front();
    waiter.done(waiter.owner, outcome);
  }
  // After an error the others wait for the next call: it may be a full disk.
  bool more = outcome ? again_ : !waiting_.empty();
  if (more && !stopped_ && step_ == Step::kIdle) begin();
}

void LogStartCheckpoint::close_files() {
  if (file_ >= 0) io_.files().close(file_);
  if (parent_ >= 0) io_.files().close(parent_);
}

}  // namespace pelton::storage
