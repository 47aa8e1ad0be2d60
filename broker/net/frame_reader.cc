#include "broker/net/frame_reader.h"

#include <algorithm>
#include <cstring>

#include "proto/frame.h"
#include "reactor/base/check.h"

namespace pelton::broker {
namespace {

// Received into when the Io has no buffer to lend.
constexpr size_t kOwnReceiveBuffer = 64 * 1024;
// A large frame's block is at most so many times what has arrived of it: what is announced costs nothing.
// Few copies while there is plenty of memory, little on credit when there is not.
constexpr size_t kTrust = 8;
constexpr size_t kTrustInNeed = 2;

}  // namespace

FrameReader::FrameReader(Io& io, SocketFd socket, ReceivePool& pool, FrameSink& sink,
                         uint32_t max_frame_bytes)
    : io_(io),
      socket_(socket),
      pool_(pool),
      sink_(sink),
      max_frame_bytes_(max_frame_bytes),
      recv_(Completion::bind<&FrameReader::on_received>(this)),
      buffer_(Completion::bind<&FrameReader::on_buffer>(this)) {}

void FrameReader::resume() {
  paused_ = false;
  if (stopped_ || parsing_ || recv_.done.pending() || waits_for_buffer()) return;
  parse();
  if (!paused_ && !stopped_ && !recv_.done.pending()) receive();
}

void FrameReader::stop() {
  stopped_ = true;
  buffer_.unlink();
  pool_.end_growing(this);
  if (!recv_.done.pending() && !parsing_) drop_block();
}

void FrameReader::on_buffer(int32_t) {
  if (!paused_) resume();
}

void FrameReader::end(ReadEnd why) {
  if (stopped_) return;
  stopped_ = true;
  drop_block();
  sink_.on_read_end(why);
}

void FrameReader::drop_block() {
  pool_.end_growing(this);
  block_.reset();
  start_ = filled_ = 0;
}

// ---------------------------------------------------------------- receiving

void FrameReader::receive() {
  if (waits_for_buffer()) return;
  if (block_) {
    if (!make_room()) return pool_.wait(buffer_);
    return receive_into_block();
  }
  recv_.into = {};
  io_.recv(socket_, recv_);
}

void FrameReader::receive_into_block() {
  recv_.into = {block_->data + filled_, block_->capacity - filled_};
  io_.recv(socket_, recv_);
}

size_t FrameReader::frame_bytes() const {
  if (filled_ - start_ < proto::kFrameSizeBytes) return proto::kFrameSizeBytes;
  return proto::kFrameSizeBytes + load_be<uint32_t>(block_->data + start_);
}

size_t FrameReader::trusted_bytes() const {
  return (filled_ - start_) * (pool_.has_plenty() ? kTrust : kTrustInNeed);
}

bool FrameReader::make_room() {
  size_t needed = frame_bytes();
  size_t trusted = std::max<size_t>(trusted_bytes(), kOwnReceiveBuffer);
  bool has_room = filled_ < block_->capacity;
  if (block_->is_lease() && io_.leases_are_scarce() && filled_ - start_ < kOwnReceiveBuffer)
    return move_to(pool_.acquire(std::min(needed, trusted))) || has_room;
  if (start_ + needed <= block_->capacity) return true;
  // At the front of its block it stays while there is room, until the whole of it can be trusted.
  if (start_ == 0 && has_room && trusted < needed) return true;
  size_t wanted = std::max<size_t>(std::min(needed, trusted), io_.lease_bytes());
  return move_to(pool_.acquire(wanted)) || has_room || move_to(pool_.acquire_beyond(wanted, this));
}

bool FrameReader::move_to(FrameHold room) {
  if (!room) return false;
  size_t have = filled_ - start_;
  std::memcpy(room->data, block_->data + start_, have);
  block_ = std::move(room);
  start_ = 0;
  filled_ = have;
  return true;
}

void FrameReader::on_received(int32_t result) {
  bool leased = recv_.into.empty();
  if (result <= 0) {
    if (stopped_) return drop_block();
    if (result == -ENOBUFS && leased) {
      block_ = pool_.acquire(kOwnReceiveBuffer);
      if (!block_) return pool_.wait(buffer_);  // resume() receives again
      return receive_into_block();
    }
    last_error_ = -result;
    return end(result == 0 ? ReadEnd::kPeerFinished : ReadEnd::kError);
  }
  bytes_received_ += static_cast<uint64_t>(result);
  if (leased) block_ = pool_.adopt(recv_.lease);
  filled_ += static_cast<size_t>(result);
  if (stopped_) return drop_block();
  parse();
  if (!paused_ && !stopped_) receive();
}

// ---------------------------------------------------------------- frames

void FrameReader::parse() {
  parsing_ = true;
  while (!paused_ && !stopped_ && take_frame()) {
  }
  parsing_ = false;
  if (stopped_ || start_ == filled_) drop_block();
  if (mid_frame() && !paused_ && !stopped_) sink_.on_part_of_frame();
}

bool FrameReader::take_frame() {
  if (filled_ - start_ < proto::kFrameSizeBytes) return false;
  uint8_t* data = block_->data + start_ + proto::kFrameSizeBytes;
  int32_t size = load_be<int32_t>(block_->data + start_);
  if (size < static_cast<int32_t>(proto::kMinRequestBytes) ||
      static_cast<uint32_t>(size) > max_frame_bytes_) {
    end(ReadEnd::kBadFrameSize);
    return false;
  }
  if (filled_ - start_ < frame_bytes()) return false;
  start_ += frame_bytes();
  pool_.end_growing(this);
  FrameHold kept = block_;  // the sink may end the reader's own hold
  sink_.on_frame(kept, {data, static_cast<size_t>(size)});
  return true;
}

}  // namespace pelton::broker
