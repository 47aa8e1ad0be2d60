// What the user data of an io_uring entry says: a pointer, and in its low bits what it points to.
//
// For the uring_* files only.
#pragma once

#include <cstdint>

#include <liburing.h>

#include "reactor/io.h"

namespace pelton {

enum class UringKind : uint64_t {
  kResult = 0,     // Completion: the result as it is
  kReadiness = 1,  // Completion: 0 for any event
  kReceive = 2,    // RecvOp: a buffer may come with the result
  kAccept = 3,     // UringAcceptors::Acceptor
  kWake = 4,       // no pointer
  kIgnored = 5,    // no pointer: the answer to a cancel
};

inline constexpr uint64_t kUringKindMask = 7;
static_assert(alignof(Completion) > kUringKindMask && alignof(RecvOp) > kUringKindMask);

template <class T>
uint64_t uring_data(T* pointer, UringKind kind) {
  return reinterpret_cast<uint64_t>(pointer) | static_cast<uint64_t>(kind);
}
inline UringKind uring_kind(uint64_t data) { return static_cast<UringKind>(data & kUringKindMask); }
template <class T>
T& uring_target(uint64_t data) {
  return *reinterpret_cast<T*>(data & ~kUringKindMask);
}

}  // namespace pelton
