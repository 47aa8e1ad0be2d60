// SendQueue: what one connected socket still has to send, in order: bytes in memory and ranges of files,
// with one driver that picks the way for each.
//
//   bytes                  -> inline send; the bytes of all replies that wait go out together, held back
//                             (MSG_MORE) when a file's first bytes follow
//   a small range in the page cache -> copied into that send
//   a larger one           -> inline sendfile up to a quota a turn, then the next turn
//   any other range        -> read off the shard's path into a pooled buffer, then sent from there
//   a full socket          -> waits for writability
//
// Owner shard: the connection's. Lifetime: not destroyed before it is idle(), nor from inside the end
// of a reply. What a piece points to stays until its reply's end was told.
// Invariants: every reply's end is told exactly once, in order, from flush(), abort() or a completion;
// after a failure nothing is sent any more. How much is queued is bounded by the owner, which looks at
// queued_bytes() before it adds a reply.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "reactor/buffer_pool.h"
#include "reactor/io.h"
#include "reactor/loop.h"
#include "reactor/send_piece.h"

namespace pelton {

// Which way file ranges go.
enum class SendPath : uint8_t {
  kAuto,      // copied or by sendfile when cached, else read and send
  kSendfile,  // always sendfile; the shard may wait for the disk
  kCopy,      // always read and send
};

struct SendOptions {
  SendPath path = SendPath::kAuto;
  BufferPool* buffers = nullptr;      // the shard's; needed
  size_t turn_quota = size_t{2} << 20;  // file bytes handed to one socket in one turn
  size_t small_range = 16 * 1024;       // up to here a copy costs less than the calls of a sendfile
};

// Bytes handed to the kernel, by way. For the shard's metrics and for tests.
struct SendCounters {
  uint64_t memory_bytes = 0;
  uint64_t copied_bytes = 0;    // of those, read from files on the way
  uint64_t sendfile_bytes = 0;
  uint64_t read_bytes = 0;      // read from files, off the shard's path, to be sent
};

class SendQueue {
 public:
  SendQueue(Loop& loop, SocketFd socket, const SendOptions& options);
  SendQueue(const SendQueue&) = delete;
  SendQueue& operator=(const SendQueue&) = delete;
  ~SendQueue();

  // Adds to the reply that is being built.
  void push(Bytes bytes);
  void push(FileFd file, uint64_t position, uint64_t length);
  // The reply is complete. After a failure or abort() its end is told at once.
  void end_reply(SendReply& reply);

  // Hands over what can be handed over now: call it once a turn, in kPhaseSend.
  void flush();
  // Gives up what is queued: ends are told kDropped, at once or, when the kernel still uses a piece,
  // after that. Shut the socket down first, so that this is soon.
  void abort();

  // Not yet in the kernel's hands.
  uint64_t queued_bytes() const { return queued_bytes_; }
  // Nothing is queued and no operation is pending.
  bool idle() const { return pieces_.empty() && !operation_pending(); }
  // A send failed or abort() was called.
  bool failed() const { return failed_; }
  const SendCounters& counters() const { return counters_; }

 private:
  static constexpr size_t kMaxVectors = 16;
  // Copied for one send.
  static constexpr size_t kScratch = 64 * 1024;
  // Asked of the page cache, and given to sendfile, at once.
  static constexpr uint64_t kSendfileChunk = 1 << 20;
  static constexpr uint64_t kReadChunk = 128 * 1024;

  void push(const SendPiece& piece);
  bool operation_pending() const;
  void drive();
  bool step();
  bool send_bytes();
  // What one send is made of.
  struct Gathered {
    size_t vectors = 0;
    uint64_t bytes = 0;
    bool file_follows = false;
  };
  Gathered gather(Buffer& scratch);
  void gather_buffered(Gathered& so_far);
  bool copy_range(const SendPiece& piece, Buffer& scratch, size_t& used, Gathered& so_far);
  bool is_copied(const SendPiece& piece) const;
  bool send_file();
  bool sent_by_file(int64_t result, uint64_t asked);
  bool read_file();
  void wait_writable();
  void advance(uint64_t bytes);
  void pop_finished();

  void on_writable(int32_t result);
  void on_read(int32_t result);
  void on_go_on(int32_t result);

  bool end_if_aborted();
  void fail(SendEnd first);

  Loop& loop_;
  BufferPool& buffers_;
  SocketFd socket_;
  SendPath path_;
  bool failed_ = false;
  bool aborted_ = false;
  bool driving_ = false;
  bool telling_apart_ = false;  // sendfile failed; the read under way says whose fault it is
  size_t small_range_;
  size_t turn_quota_;
  size_t quota_ = 0;  // file bytes this turn may still take
  PieceRing pieces_;
  uint64_t queued_bytes_ = 0;
  SendCounters counters_;

  // Bytes of the front piece (a file) that were read and not sent yet.
  Buffer buffer_;
  Bytes buffered_;

  std::array<iovec, kMaxVectors> vectors_;
  Op writable_;
  ReadOp read_;
  Completion go_on_;  // the next turn's share, or a buffer may be had
  BufferWaiter buffer_waiter_;
};

}  // namespace pelton
