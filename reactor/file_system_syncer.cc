#include "reactor/file_system_syncer.h"

#include <algorithm>
#include <iterator>

#include <pthread.h>
#include <unistd.h>

namespace pelton {

FileSystemSyncer::~FileSystemSyncer() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void FileSystemSyncer::request(FileFd directory, Op& op, Client& client) {
  {
    std::lock_guard lock(mutex_);
    waiting_.push_back({directory, &op, &client});
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  }
  changed_.notify_all();
}

void FileSystemSyncer::forget(Client& client) {
  std::unique_lock lock(mutex_);
  std::erase_if(waiting_, [&](const Request& request) { return request.client == &client; });
  changed_.wait(lock, [&] { return !concerns(running_, client); });
}

bool FileSystemSyncer::concerns(const std::vector<Request>& list, const Client& client) {
  return std::any_of(list.begin(), list.end(),
                     [&](const Request& request) { return request.client == &client; });
}

// All that waits for the descriptor of the oldest request.
std::vector<FileSystemSyncer::Request> FileSystemSyncer::take_batch() {
  FileFd directory = waiting_.front().directory;
  auto same = [&](const Request& request) { return request.directory == directory; };
  std::vector<Request> batch;
  std::copy_if(waiting_.begin(), waiting_.end(), std::back_inserter(batch), same);
  std::erase_if(waiting_, same);
  return batch;
}

void FileSystemSyncer::run() {
  ::pthread_setname_np(::pthread_self(), "syncfs");
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stopping_ || !waiting_.empty(); });
    if (stopping_) return;
    running_ = take_batch();
    lock.unlock();
    // Never tried again: the kernel reports a failed write-back once and drops the pages.
    int32_t result = ::syncfs(running_.front().directory) == 0 ? 0 : -errno;
    for (const Request& request : running_) request.client->synced(*request.op, result);
    lock.lock();
    running_.clear();
    changed_.notify_all();
  }
}

}  // namespace pelton
