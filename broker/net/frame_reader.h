// FrameReader: turns what a socket receives into whole frames.
//
// Bytes are received into a block and the frames are views into it, one behind the other; the next receive
// goes on behind what is there, so that a frame is copied only when it does not fit into the rest of its
// block. Between frames no block is held: the Io lends one when bytes arrive.
//
// Owner: its connection. Invariants: at most one receive is pending; after stop() or an end nothing more is
// delivered; the frame handed out is [hold, bytes] and may outlive the reader; a block is at most the size
// of a lease, or a few times what has arrived of its frame. What waits for the rest of a frame leaves the
// leases to others when they are scarce: clients that stop in the middle of a frame do not use them up.
#pragma once

#include <cstdint>

#include "broker/net/receive_pool.h"
#include "reactor/io.h"

namespace pelton::broker {

enum class ReadEnd : uint8_t {
  kPeerFinished,   // orderly end of the peer's bytes
  kError,          // errno in last_error()
  kBadFrameSize,   // negative, too small or too large
};

class FrameSink {
 public:
  virtual ~FrameSink() = default;
  // One frame without its size field. `hold` keeps the bytes; empty = they are valid during the call
  // only (small frames are copied by the request).
  virtual void on_frame(const FrameHold& hold, MutableBytes frame) = 0;
  // Bytes have come of a frame that is not whole yet.
  virtual void on_part_of_frame() = 0;
  virtual void on_read_end(ReadEnd end) = 0;
};

class FrameReader {
 public:
  FrameReader(Io& io, SocketFd socket, ReceivePool& pool, FrameSink& sink, uint32_t max_frame_bytes);

  void start() { resume(); }
  // Stops handing out frames and receiving more than what is under way.
  void pause() { paused_ = true; }
  void resume();
  // Nothing is delivered any more. The pending receive still has to end: see idle().
  void stop();
  bool idle() const { return !recv_.done.pending() && !buffer_.retry.pending(); }
  bool paused() const { return paused_; }
  // No receive is pending and no byte is held: another reader could go on with the socket.
  bool can_hand_over() const { return idle() && !mid_frame(); }
  bool mid_frame() const { return filled_ > start_; }
  // It does not receive because there is no memory for what would come.
  bool waits_for_buffer() const { return buffer_.is_linked() || buffer_.retry.pending(); }
  int last_error() const { return last_error_; }
  uint64_t bytes_received() const { return bytes_received_; }

 private:
  void on_received(int32_t result);
  void on_buffer(int32_t result);
  void end(ReadEnd why);
  void receive();
  void receive_into_block();
  bool make_room();     // for at least one byte behind what has arrived
  bool move_to(FrameHold room);
  size_t trusted_bytes() const;
  void parse();         // every whole frame in the block
  bool take_frame();    // the first one
  // Of the frame at start_, with its size field; as far as it is known.
  size_t frame_bytes() const;
  void drop_block();
  Io& io_;
  SocketFd socket_;
  ReceivePool& pool_;
  FrameSink& sink_;
  uint32_t max_frame_bytes_;
  RecvOp recv_;
  BufferWaiter buffer_;  // in line for memory
  FrameHold block_;      // [start_, filled_) has arrived and is not handed out
  size_t start_ = 0;     // of a frame, at its size field
  size_t filled_ = 0;
  bool paused_ = true;
  bool stopped_ = false;
  bool parsing_ = false;
  int last_error_ = 0;
  uint64_t bytes_received_ = 0;
};

}  // namespace pelton::broker
