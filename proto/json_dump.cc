#include "proto/json_dump.h"

#include <charconv>
#include <cmath>

namespace pelton::proto {
namespace {

template <class T>
void append_number(std::string& out, T value) {
  char digits[32];
  auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  out.append(digits, end);
}

void append_escaped(std::string& out, char c) {
  static constexpr char kHex[] = "0123456789abcdef";
  auto byte = static_cast<unsigned char>(c);
  if (c == '"' || c == '\\') {
    out += '\\';
    out += c;
  } else if (byte < 0x20) {
    out += "\\u00";
    out += kHex[byte >> 4];
    out += kHex[byte & 15];
  } else {
    out += c;
  }
}

}  // namespace

// A comma, unless this is the first value here or follows its key.
void JsonDump::separate() {
  if (out_.size() == begin_) return;
  char last = out_.back();
  if (last != '{' && last != '[' && last != ':') out_ += ',';
}

void JsonDump::open(char bracket) {
  separate();
  out_ += bracket;
}

void JsonDump::key(std::string_view name) {
  text(name);
  out_ += ':';
}

void JsonDump::null() {
  separate();
  out_ += "null";
}

void JsonDump::boolean(bool value) {
  separate();
  out_ += value ? "true" : "false";
}

void JsonDump::integer(int64_t value) {
  separate();
  append_number(out_, value);
}

void JsonDump::real(double value) {
  if (std::isnan(value)) return text("NaN");
  if (std::isinf(value)) return text(value > 0 ? "Infinity" : "-Infinity");
  separate();
  append_number(out_, value);
}

void JsonDump::text(std::string_view value) {
  separate();
  out_ += '"';
  for (char c : value) append_escaped(out_, c);
  out_ += '"';
}

void JsonDump::bytes(Bytes value) {
  static constexpr char kAlphabet[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  separate();
  out_ += '"';
  for (size_t i = 0; i < value.size(); i += 3) {
    size_t have = value.size() - i;
    uint32_t bits = static_cast<uint32_t>(value[i]) << 16;
    if (have > 1) bits |= static_cast<uint32_t>(value[i + 1]) << 8;
    if (have > 2) bits |= value[i + 2];
    out_ += kAlphabet[bits >> 18];
    out_ += kAlphabet[(bits >> 12) & 63];
    out_ += have > 1 ? kAlphabet[(bits >> 6) & 63] : '=';
    out_ += have > 2 ? kAlphabet[bits & 63] : '=';
  }
  out_ += '"';
}

void JsonDump::records(const Records& value) {
  if (value.null) return null();
  if (value.external_size == 0) return bytes(value.bytes);
  begin_object();
  key("externalBytes");
  integer(value.external_size);
  end_object();
}

}  // namespace pelton::proto
