#include "proto/crc32c.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace pelton::proto {
namespace {

// The vectors of RFC 3720, appendix B.4, and the usual check value.
TEST(Crc32c, KnownVectors) {
  EXPECT_EQ(crc32c({}), 0u);
  EXPECT_EQ(crc32c(as_bytes("123456789")), 0xE3069283u);
  EXPECT_EQ(crc32c(std::vector<uint8_t>(32, 0)), 0x8A9136AAu);
  EXPECT_EQ(crc32c(std::vector<uint8_t>(32, 0xff)), 0x62A8AB43u);
  std::vector<uint8_t> ascending(32);
  std::iota(ascending.begin(), ascending.end(), uint8_t{0});
  EXPECT_EQ(crc32c(ascending), 0x46DD794Eu);
}

TEST(Crc32c, PiecesGiveTheWhole) {
  std::vector<uint8_t> data(1000);
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<uint8_t>(i * i >> 3);
  uint32_t whole = crc32c(data);
  for (size_t cut = 0; cut <= data.size(); cut += 7) {
    Bytes bytes(data);
    EXPECT_EQ(crc32c_extend(crc32c(bytes.first(cut)), bytes.subspan(cut)), whole) << cut;
  }
}

TEST(Crc32c, EveryByteCounts) {
  std::vector<uint8_t> data(300, 0x5a);
  uint32_t whole = crc32c(data);
  for (uint8_t& byte : data) {
    byte ^= 0x10;
    EXPECT_NE(crc32c(data), whole);
    byte ^= 0x10;
  }
}

}  // namespace
}  // namespace pelton::proto
