#include "broker/net/frame_reader.h"

#include <algorithm>
#include <cstring>

#include "proto/frame.h"
#include "reactor/base/check.h"

namespace pelton::broker {
namespace {

// A frame's buffer begins with this, or with the frame's size if that is less, and doubles as bytes
// arrive.
constexpr size_t kFirstFrameBuffer = 256 * 1024;
// Received into when the Io has no buffer to lend.
constexpr size_t kOwnReceiveBuffer = 32 * 1024;

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
}

void FrameReader::on_buffer(int32_t) {
  if (!paused_) resume();
}

void FrameReader::end(ReadEnd why) {
  if (stopped_) return;
  stopped_ = true;
  sink_.on_read_end(why);
}

void FrameReader::receive() {
  if (waits_for_buffer()) return;
  into_own_ = false;
  if (frame_size_ > 0) {
    if (!make_room()) {
      pool_.wait(buffer_);
      return;
    }
    size_t room = std::min<size_t>(frame_->capacity, frame_size_) - frame_filled_;
    recv_.into = {frame_->data + frame_filled_, room};
  } else {
    recv_.into = {};
  }
  io_.recv(socket_, recv_);
}

bool FrameReader::make_room() {
  if (frame_ && frame_filled_ < frame_->capacity) return true;
  size_t wanted = frame_ ? std::min<size_t>(frame_->capacity * 2, frame_size_)
                         : std::min<size_t>(kFirstFrameBuffer, frame_size_);
  FrameHold room = frame_ ? pool_.grow(frame_, frame_filled_, wanted) : pool_.acquire(wanted);
  if (!room) return false;
  frame_ = std::move(room);
  return true;
}

void FrameReader::on_received(int32_t result) {
  bool leased = recv_.into.empty();
  if (result <= 0) {
    if (stopped_) return;
    if (result == -ENOBUFS && leased) {
      current_ = pool_.acquire(kOwnReceiveBuffer);
      if (!current_) return pool_.wait(buffer_);  // resume() receives again
      into_own_ = true;
      recv_.into = {current_->data, kOwnReceiveBuffer};
      return io_.recv(socket_, recv_);
    }
    last_error_ = -result;
    return end(result == 0 ? ReadEnd::kPeerFinished : ReadEnd::kError);
  }
  bytes_received_ += static_cast<uint64_t>(result);
  if (leased || into_own_) {
    if (leased) current_ = pool_.adopt(recv_.lease);
    at_ = 0;
    filled_ = static_cast<size_t>(result);
  } else {
    frame_filled_ += static_cast<size_t>(result);
  }
  if (stopped_) {
    current_.reset();
    frame_.reset();
    return;
  }
  parse();
  if (!paused_ && !stopped_) receive();
}

void FrameReader::parse() {
  parsing_ = true;
  while (!paused_ && !stopped_) {
    if (frame_size_ == 0 && !take_size()) break;
    size_t here = filled_ - at_;
    if (frame_filled_ == 0 && !frame_ && here >= frame_size_) {
      uint8_t* data = current_->data + at_;
      at_ += frame_size_;
      emit(current_, data, std::exchange(frame_size_, 0));
      continue;
    }
    if (frame_filled_ < frame_size_ && here > 0) {
      if (!make_room()) {
        // The bytes stay where they are until there is room to move them to.
        pool_.wait(buffer_);
        parsing_ = false;
        return;
      }
      size_t take = std::min({here, frame_->capacity - frame_filled_, frame_size_ - frame_filled_});
      std::memcpy(frame_->data + frame_filled_, current_->data + at_, take);
      frame_filled_ += take;
      at_ += take;
      continue;
    }
    if (frame_filled_ < frame_size_) break;
    FrameHold whole = std::move(frame_);
    frame_filled_ = 0;
    emit(whole, whole->data, std::exchange(frame_size_, 0));
  }
  parsing_ = false;
  if (at_ == filled_) {
    current_.reset();
    at_ = filled_ = 0;
  }
}

bool FrameReader::take_size() {
  while (size_have_ < sizeof size_bytes_ && at_ < filled_)
    size_bytes_[size_have_++] = current_->data[at_++];
  if (size_have_ < sizeof size_bytes_) return false;
  int32_t size = load_be<int32_t>(size_bytes_);
  if (size < static_cast<int32_t>(proto::kMinRequestBytes) ||
      static_cast<uint32_t>(size) > max_frame_bytes_) {
    end(ReadEnd::kBadFrameSize);
    return false;
  }
  size_have_ = 0;
  frame_size_ = static_cast<uint32_t>(size);
  return true;
}

void FrameReader::emit(const FrameHold& hold, uint8_t* data, uint32_t size) {
  FrameHold kept = hold;  // the sink may end the reader's own hold
  sink_.on_frame(kept, {data, size});
}

}  // namespace pelton::broker
