#include "reactor/base/uuid.h"

namespace pelton {
namespace {

constexpr char kAlphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr size_t kTextLength = 22;

int digit_of(char c) {
  for (int i = 0; i < 64; ++i)
    if (kAlphabet[i] == c) return i;
  return -1;
}

}  // namespace

std::string Uuid::to_string() const {
  std::string text;
  uint32_t bits = 0;
  int have = 0;
  for (uint8_t byte : bytes) {
    bits = (bits << 8) | byte;
    have += 8;
    while (have >= 6) text += kAlphabet[(bits >> (have -= 6)) & 63];
  }
  text += kAlphabet[(bits << (6 - have)) & 63];
  return text;
}

std::optional<Uuid> Uuid::parse(std::string_view text) {
  if (text.size() != kTextLength) return std::nullopt;
  Uuid id;
  uint32_t bits = 0;
  int have = 0;
  size_t at = 0;
  for (char c : text) {
    int digit = digit_of(c);
    if (digit < 0) return std::nullopt;
    bits = (bits << 6) | static_cast<uint32_t>(digit);
    have += 6;
    if (have >= 8 && at < id.bytes.size()) id.bytes[at++] = static_cast<uint8_t>(bits >> (have -= 8));
  }
  return id;
}

}  // namespace pelton
