// Arena: the memory of one request's decoded arrays and of its reply. A bump allocator over chunks
// with a limit in bytes; reset() keeps the chunks, so that a steady state allocates nothing.
// Owner: one connection or request on one shard; what it hands out lives until the next reset().
// Holds trivially destructible objects only, and never frees one of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "reactor/base/bytes.h"
#include "reactor/base/check.h"

namespace pelton::proto {

class Arena {
 public:
  explicit Arena(size_t limit) : limit_(limit) {}
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // What decoding a request of n bytes may use. The base is for short elements: an array of 10,000 names of four
  // characters takes 16 times its bytes.
  static constexpr size_t limit_for(size_t frame_bytes) {
    constexpr size_t kBase = 1024 * 1024, kFactor = 8, kMost = 64 * 1024 * 1024;
    return frame_bytes > (kMost - kBase) / kFactor ? kMost : kBase + kFactor * frame_bytes;
  }

  // Value-initialised; past the limit it is a bug of the caller.
  template <class T>
  std::span<T> array(size_t n) {
    std::span<T> items = try_array<T>(n);
    CHECK(items.size() == n, "arena limit");
    return items;
  }

  // Value-initialised; empty past the limit (n > 0 then tells the failure).
  template <class T>
  std::span<T> try_array(size_t n) {
    static_assert(std::is_trivially_destructible_v<T>);
    if (n == 0 || n > limit_ / sizeof(T)) return {};
    void* place = allocate(n * sizeof(T), alignof(T));
    if (place == nullptr) return {};
    T* first = static_cast<T*>(place);
    for (size_t i = 0; i < n; ++i) new (first + i) T{};
    return {first, n};
  }

  template <class T>
  T* make() {
    return array<T>(1).data();
  }
  // nullptr past the limit.
  template <class T>
  T* try_make() {
    std::span<T> one = try_array<T>(1);
    return one.empty() ? nullptr : one.data();
  }

  std::string_view copy(std::string_view text) { return as_text(copy(as_bytes(text))); }
  Bytes copy(Bytes bytes);

  // Forgets everything handed out. Chunks stay, but for those above kKeptBytes together.
  void reset(size_t limit);
  // Raises or lowers the limit; what is handed out stays.
  void set_limit(size_t limit) { limit_ = limit; }
  size_t used() const { return used_; }
  size_t limit() const { return limit_; }
  size_t reserved() const { return reserved_; }

 private:
  static constexpr size_t kFirstChunk = 4 * 1024;
  static constexpr size_t kLargestChunk = 256 * 1024;
  static constexpr size_t kKeptBytes = 256 * 1024;

  struct Chunk {
    std::byte* memory;
    size_t size;
  };

  void* allocate(size_t size, size_t alignment);
  void next_chunk(size_t size);
  void drop_last_chunk();

  size_t limit_;
  size_t used_ = 0;      // bytes handed out, alignment included
  size_t reserved_ = 0;  // bytes of all chunks
  std::vector<Chunk> chunks_;
  size_t current_ = 0;  // chunks_[current_] is being filled
  size_t at_ = 0;       // first free byte in it
};

}  // namespace pelton::proto
