// FrameReader: turns what a socket receives into whole frames.
//
// Small frames are views into the receive buffer; a frame that does not fit gets a buffer that grows as
// its bytes arrive. Owner: its connection. Invariants: at most one receive is pending; after stop() or
// an end nothing more is delivered; the frame handed out is [hold, bytes] and may outlive the reader.
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
  bool can_hand_over() const { return idle() && !mid_frame() && at_ == filled_; }
  bool mid_frame() const { return size_have_ > 0 || frame_size_ > 0; }
  int last_error() const { return last_error_; }
  uint64_t bytes_received() const { return bytes_received_; }

 private:
  void on_received(int32_t result);
  void on_buffer(int32_t result);
  void end(ReadEnd why);
  void receive();
  bool make_room();            // room in the frame's buffer for at least one byte
  void parse();                // frames in the current receive buffer
  bool waits_for_buffer() const { return buffer_.is_linked() || buffer_.retry.pending(); }
  bool take_size();            // the 4 size bytes, which may be split
  void emit(const FrameHold& hold, uint8_t* data, uint32_t size);

  Io& io_;
  SocketFd socket_;
  ReceivePool& pool_;
  FrameSink& sink_;
  uint32_t max_frame_bytes_;
  RecvOp recv_;
  BufferWaiter buffer_;         // in line for memory
  FrameHold current_;          // receive buffer being parsed
  size_t at_ = 0, filled_ = 0;
  FrameHold frame_;            // buffer of the frame being assembled
  uint32_t frame_size_ = 0;    // 0 = between frames
  size_t frame_filled_ = 0;
  uint8_t size_bytes_[4] = {};
  uint32_t size_have_ = 0;
  bool paused_ = true;
  bool stopped_ = false;
  bool parsing_ = false;
  bool into_own_ = false;      // the pending receive goes to `current_`, not to a lease
  int last_error_ = 0;
  uint64_t bytes_received_ = 0;
};

}  // namespace pelton::broker
