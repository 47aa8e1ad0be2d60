// SendQueue: what one connected socket still has to send, in order: bytes in memory and ranges of files,
// with one driver that picks the way for each.
//
//   bytes alone            -> Io::send, submitted with the turn's system call; the pieces of all replies
//                             of a turn go out together
//   bytes before a file    -> inline send, held back (MSG_MORE) until the file's first bytes follow
//   a range in the page cache -> inline sendfile up to a quota a turn, then the next turn
//   any other range        -> read off the shard's path into a pooled buffer, then sent from there
//   a full socket          -> waits for writability
//
// Owner shard: the connection's. Lifetime: not destroyed while busy(). What a piece points to stays
// until its end was told.
// Invariants: every end is told exactly once, in order, and never inside add_*(); after a failure
// nothing is sent any more. At most kMaxPieces pieces wait.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "reactor/buffer_pool.h"
#include "reactor/io.h"
#include "reactor/loop.h"
#include "reactor/piece_ring.h"

namespace pelton {

// Which way file ranges go.
enum class SendPath : uint8_t {
  kAuto,      // sendfile when cached, else read and send
  kSendfile,  // always sendfile; the shard may wait for the disk
  kCopy,      // always read and send
};

class SendQueue {
 public:
  static constexpr size_t kMaxPieces = 4096;
  // File bytes handed to one socket in one turn.
  static constexpr size_t kTurnQuota = 2 << 20;

  SendQueue(Loop& loop, BufferPool& buffers, SendPath path = SendPath::kAuto);
  SendQueue(const SendQueue&) = delete;
  SendQueue& operator=(const SendQueue&) = delete;
  ~SendQueue();

  void open(SocketFd socket) { socket_ = socket; }

  // Sent from the end of this turn on. `end` is told when the kernel has the piece's last byte, so a
  // reply puts it on its last piece. False: the queue failed, was dropped, or is full; nothing was
  // added and nothing will be told.
  bool add_bytes(Bytes bytes, SendEnd end = {});
  bool add_file(FileFd file, uint64_t position, uint64_t length, SendEnd end = {});

  // Gives up what is queued: ends are told kDropped, at once or, when the kernel still uses a piece,
  // after that. Shut the socket down first, so that this is soon.
  void drop();

  // Not yet in the kernel's hands.
  uint64_t queued_bytes() const { return queued_bytes_; }
  size_t queued_pieces() const { return pieces_.size(); }
  bool room_for(size_t pieces) const { return pieces_.size() + pieces <= kMaxPieces; }
  // Something is queued, or an operation on the socket is pending.
  bool busy() const { return !pieces_.empty() || operation_pending(); }
  // A send failed or drop() was called.
  bool failed() const { return failed_; }

 private:
  static constexpr int kMaxVectors = 16;
  // Asked of the page cache, and given to sendfile, at once.
  static constexpr size_t kSendfileChunk = 1 << 20;
  static constexpr size_t kReadChunk = 128 * 1024;

  bool add(const SendPiece& piece);
  bool operation_pending() const;
  void on_turn_end();
  void drive();
  bool step();

  bool send_bytes();
  int gather(bool& file_follows);
  bool send_file();
  bool read_file(const SendPiece& piece);
  void wait_writable();
  void advance(uint64_t bytes);

  void on_sent(int32_t result);
  void on_writable(int32_t result);
  void on_read(int32_t result);
  void on_next_turn(int32_t);

  void tell_apart(const SendPiece& piece);
  void fail(SendResult first);

  Loop& loop_;
  BufferPool& buffers_;
  SocketFd socket_ = -1;
  SendPath path_;
  bool failed_ = false;
  bool dropped_ = false;
  bool telling_apart_ = false;  // a send failed; the read under way says whose fault it is
  PieceRing pieces_;
  uint64_t queued_bytes_ = 0;
  size_t quota_ = 0;  // file bytes this turn may still take

  // Bytes of the front piece (a file) that were read and not sent yet.
  Buffer buffer_;
  Bytes buffered_;

  std::array<iovec, kMaxVectors> vectors_;
  SendOp send_;
  Op writable_;
  ReadOp read_;
  Completion next_turn_;
  BufferWaiter buffer_waiter_;
  TurnEnd turn_end_;
};

}  // namespace pelton
