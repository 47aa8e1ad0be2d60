// FileSystemSyncer: one helper thread, started at the first request, that calls syncfs for every shard
// of the process (io_uring has no such operation).
//
// Owner: whoever makes the Ios, which share it; it outlives them. request() and forget() may be called
// from any shard's thread; Client::synced runs on the helper's.
// Invariants: one syncfs at a time; requests for the same descriptor that wait are served by one call,
// which began after all of them.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "reactor/io.h"

namespace pelton {

class FileSystemSyncer {
 public:
  class Client {
   public:
    // result: 0 or a negative errno.
    virtual void synced(Op& op, int32_t result) = 0;

   protected:
    ~Client() = default;
  };

  FileSystemSyncer() = default;
  FileSystemSyncer(const FileSystemSyncer&) = delete;
  FileSystemSyncer& operator=(const FileSystemSyncer&) = delete;
  ~FileSystemSyncer();

  void request(FileFd directory, Op& op, Client& client);
  // Returns when the helper will not call `client` again.
  void forget(Client& client);

 private:
  struct Request {
    FileFd directory;
    Op* op;
    Client* client;
  };

  void run();
  std::vector<Request> take_batch();
  static bool concerns(const std::vector<Request>& list, const Client& client);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Request> waiting_;
  std::vector<Request> running_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace pelton
