// Appends and reads take no memory from the allocator once a log is in use. A program of its own: it counts
// every allocation.
#include <cstdlib>
#include <new>

#include <gtest/gtest.h>

#include "tests/unit/storage/harness.h"

namespace {
size_t allocations = 0;
}

void* operator new(size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace pelton::storage {
namespace {

using test::Harness;
using test::make_batch;

TEST(Allocation, AppendsAndReadsOfALogInUseTakeNoMemory) {
  Harness h;
  std::vector<std::vector<uint8_t>> batches(230, make_batch({.records = 1, .value_bytes = 5000}));
  auto append = [&](size_t i) {
    return h.log->append(batches[i], 0, AppendOrigin::kClient, h.io.wall_ms()).error;
  };
  // So many that the index was written once: what it gathers until then has its size from there on.
  size_t next = 0;
  for (; next < 200; ++next) {
    ASSERT_EQ(append(next), proto::ErrorCode::kNone);
    h.settle();
  }
  ASSERT_TRUE(h.log->read(0, 1000, h.log->written_end(), true)) << "the first lookup may take some";
  for (; next < batches.size(); ++next) {
    size_t before = allocations;
    ASSERT_EQ(append(next), proto::ErrorCode::kNone);
    EXPECT_EQ(allocations, before);
    h.settle();
    before = allocations;
    for (int64_t offset : {int64_t{0}, int64_t{7}, static_cast<int64_t>(next)}) {
      auto slice = h.log->read(offset, 1000, h.log->written_end(), true);
      ASSERT_TRUE(slice);
      EXPECT_GT(slice->length, 0u);
    }
    EXPECT_EQ(allocations, before);
  }
}

}  // namespace
}  // namespace pelton::storage
