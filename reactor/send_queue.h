// SendQueue: the sending side of one connected socket: replies as ordered pieces, bytes or file ranges.
//
// Owner shard: the socket's. Lifetime: until idle(); destroying it earlier is a bug. Bytes and files of a
// reply stay until its end is told. One operation at most is pending.
//
// How pieces go out: bytes alone by one send of the ring for several replies together; bytes before a
// file range inline with "more follows", then the range by inline sendfile while it is in the page cache
// and the socket takes it; a full socket waits for writability; a range that is not cached is read
// through the Io into a pooled buffer first, so that a shard never waits for the disk. A turn sends at
// most `turn_bytes` of files and goes on in the next one, so that one reader does not hold up others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "reactor/base/bytes.h"
#include "reactor/base/intrusive_list.h"
#include "reactor/io.h"
#include "reactor/loop.h"

namespace pelton {

enum class SendPath : uint8_t {
  kAuto,      // sendfile while cached, else read and send
  kSendfile,  // always sendfile (may wait for the disk)
  kCopy,      // always read and send
};

struct SendOptions {
  SendPath path = SendPath::kAuto;
  size_t turn_bytes = 4 * 1024 * 1024;
  size_t copy_bytes = 256 * 1024;      // read at once on the copying way
  // File ranges up to this size are read and sent with the bytes around them: two calls less.
  size_t small_range_bytes = 0;
};

enum class SendEnd : uint8_t {
  kSent,        // everything was handed to the kernel
  kPeerFailed,  // reset, timed out, or the queue was aborted
  kDiskFailed,  // the file could not be read where it must have bytes
};

// A reply under way; embedded in whoever keeps its bytes.
struct SendReplyTag;
class SendReply : public ListHook<SendReplyTag> {
 public:
  // Calls (owner->*Method)(end) once, from the loop or from inside flush() or abort().
  template <auto Method, class Owner>
  static SendReply bind(Owner* owner) {
    return SendReply(owner,
                     [](void* self, SendEnd end) { (static_cast<Owner*>(self)->*Method)(end); });
  }
  SendReply(const SendReply& other) : owner_(other.owner_), told_(other.told_) {}
  SendReply& operator=(const SendReply&) = delete;

 private:
  friend class SendQueue;
  using Told = void (*)(void* owner, SendEnd end);
  SendReply(void* owner, Told told) : owner_(owner), told_(told) {}

  void* owner_;
  Told told_;
  uint32_t pieces_ = 0;
};

// Counters for metrics and tests.
struct SendCounters {
  uint64_t bytes_sent = 0;
  uint64_t bytes_sendfile = 0;
  uint64_t bytes_copied = 0;   // of files, through user space
};

class SendQueue {
 public:
  SendQueue(Loop& loop, SocketFd socket, const SendOptions& options);
  ~SendQueue();

  // Pieces of the reply that is being built, in order. Empty ones are ignored.
  void push(Bytes bytes);
  void push(FileFd file, uint64_t position, uint64_t length);
  // Ends it: `reply` is told when its last piece has left or will not.
  void end_reply(SendReply& reply);
  // Sends what it can; the rest follows by itself.
  void flush();
  // Drops everything: replies are told kPeerFailed (the one in a pending operation when that has ended:
  // shut the socket down). Nothing may be pushed afterwards.
  void abort();

  bool idle() const;               // nothing queued, nothing pending
  size_t queued_bytes() const { return queued_bytes_; }
  const SendCounters& counters() const { return counters_; }

 private:
  struct Piece {
    Bytes bytes;            // or, when file >= 0:
    FileFd file = -1;
    uint64_t position = 0;
    uint64_t length = 0;
  };

  Loop& loop_;
  SocketFd socket_;
  SendOptions options_;
  std::deque<Piece> pieces_;
  IntrusiveList<SendReply, SendReplyTag> replies_;
  size_t queued_bytes_ = 0;
  SendCounters counters_;
};

}  // namespace pelton
