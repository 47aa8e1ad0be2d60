// What a SendQueue holds: pieces in order, in a circular array that grows to what its connection needs
// and is reused from then on (no allocation in steady state), and the ends of replies.
//
// Owner shard: its SendQueue's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "reactor/base/bytes.h"
#include "reactor/base/check.h"
#include "reactor/file_system.h"

namespace pelton {

// How a reply ended. After the first failure of a connection all later replies are kDropped.
enum class SendEnd : uint8_t {
  kSent,        // the kernel has all of it
  kPeerFailed,  // the connection is broken
  kDiskFailed,  // a file could not be read: the log directory's fault, not the peer's
  kDropped,     // given up
};

// The end of one reply, embedded in what waits for it (a request); stays until it was told.
class SendReply {
 public:
  // Calls (owner->*Method)(end).
  template <auto Method, class Owner>
  static SendReply bind(Owner* owner) {
    return SendReply(owner, [](void* self, SendEnd end) {
      (static_cast<Owner*>(self)->*Method)(end);
    });
  }
  void tell(SendEnd end) const { tell_(owner_, end); }

 private:
  using Tell = void (*)(void* owner, SendEnd end);
  SendReply(void* owner, Tell function) : owner_(owner), tell_(function) {}
  void* owner_;
  Tell tell_;
};

struct SendPiece {
  const uint8_t* data = nullptr;  // in memory, unless `file` is set
  FileFd file = -1;
  uint64_t position = 0;
  uint64_t length = 0;
  SendReply* ends = nullptr;  // the reply of which it is the last piece

  bool is_file() const { return file >= 0; }
  void consume(uint64_t bytes) {
    if (is_file())
      position += bytes;
    else
      data += bytes;
    length -= bytes;
  }
};

class PieceRing {
 public:
  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }
  SendPiece& front() { return (*this)[0]; }
  SendPiece& back() { return (*this)[size_ - 1]; }
  SendPiece& operator[](size_t index) {
    CHECK(index < size_, "no such piece");
    return slots_[(head_ + index) & (slots_.size() - 1)];
  }
  void push(const SendPiece& piece) {
    if (size_ == slots_.size()) grow();
    ++size_;
    (*this)[size_ - 1] = piece;
  }
  SendPiece pop() {
    SendPiece piece = front();
    head_ = (head_ + 1) & (slots_.size() - 1);
    --size_;
    return piece;
  }

 private:
  static constexpr size_t kFirst = 8;

  void grow() {
    std::vector<SendPiece> larger(slots_.empty() ? kFirst : 2 * slots_.size());
    for (size_t i = 0; i < size_; ++i) larger[i] = (*this)[i];
    slots_.swap(larger);
    head_ = 0;
  }

  std::vector<SendPiece> slots_;  // a power of two
  size_t head_ = 0;
  size_t size_ = 0;
};

}  // namespace pelton
