// Our side of the codec oracle.
//
//   codec_tool write SEEDS OUT   random messages of every type and version, one line each:
//                                name, version, seed, bytes, JSON
//   codec_tool read IN OUT       for each line of IN (name, version, seed, bytes, ...) decodes and
//                                answers: name, version, seed, bytes written again, JSON; or
//                                "error: ..." in place of the bytes. Bytes cut short must not decode.
// Columns are separated by tabs, bytes are hexadecimal.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "proto/any_message.h"
#include "proto/arena.h"
#include "reactor/base/check.h"
#include "tests/golden/codec/random_message.h"

namespace pelton::golden {
namespace {

using proto::MessageType;

constexpr size_t kArenaBytes = 16 * 1024 * 1024;

std::string to_hex(Bytes bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (uint8_t byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::vector<uint8_t> from_hex(std::string_view text) {
  CHECK(text.size() % 2 == 0, "odd number of hexadecimal digits");
  std::vector<uint8_t> bytes(text.size() / 2);
  for (size_t i = 0; i < bytes.size(); ++i) {
    const char* digits = text.data() + 2 * i;
    const auto [end, error] = std::from_chars(digits, digits + 2, bytes[i], 16);
    CHECK(error == std::errc{} && end == digits + 2, "not a hexadecimal digit");
  }
  return bytes;
}

// Bytes and JSON of a message, as two columns.
std::string columns(const MessageType& type, const void* message, int16_t version) {
  const size_t size = type.size(message, version);
  std::vector<uint8_t> bytes(size);
  proto::WireWriter out(bytes);
  type.encode(message, out, version);
  if (out.written() != size) {
    return fmt::format("error: size() says {}, {} written\t", size, out.written());
  }
  std::string json;
  type.dump(message, json, version);
  return to_hex(bytes) + "\t" + json;
}

void write(int seeds, std::ostream& out) {
  proto::Arena arena(kArenaBytes);
  for (const MessageType* type : proto::all_message_types()) {
    const RandomMaker* maker = random_maker(type->name);
    CHECK(maker != nullptr, "a message without a random maker");
    for (int16_t version = type->min_version; version <= type->max_version; ++version) {
      for (int seed = 0; seed < seeds; ++seed) {
        arena.reset(kArenaBytes);
        RandomValue values(type->name, version, seed, arena);
        RandomMessage random(values);
        const void* message = maker->make(random, version);
        out << type->name << '\t' << version << '\t' << seed << '\t'
            << columns(*type, message, version) << '\n';
      }
    }
  }
}

std::vector<std::string_view> split(std::string_view line) {
  std::vector<std::string_view> parts;
  for (size_t at = 0; at <= line.size();) {
    const size_t end = std::min(line.find('\t', at), line.size());
    parts.push_back(line.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

// Whether every way of cutting the bytes short is an error, as it must be: 16 of them are tried,
// each in memory of its own size, so that a sanitizer sees a read past the end.
bool cuts_fail(const MessageType& type, int16_t version, Bytes bytes, proto::Arena& arena) {
  const size_t step = bytes.size() / 16 + 1;
  for (size_t size = 0; size < bytes.size(); size += step) {
    const std::vector<uint8_t> part(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size));
    arena.reset(proto::Arena::limit_for(size));
    proto::WireReader in(part, arena);
    type.decode(in, version);
    if (in.ok()) return false;
  }
  return true;
}

std::string answer(std::string_view name, int16_t version, Bytes bytes, proto::Arena& arena) {
  const MessageType* type = proto::message_type(name);
  if (type == nullptr) return "error: unknown message\t";
  if (!type->has_version(version)) return "error: unknown version\t";
  if (!cuts_fail(*type, version, bytes, arena)) return "error: a part of it decodes too\t";
  // The limit of a real request: a true message must fit into it.
  arena.reset(proto::Arena::limit_for(bytes.size()));
  proto::WireReader in(bytes, arena);
  const void* message = type->decode(in, version);
  if (!in.ok()) return fmt::format("error: {}\t", proto::name(in.error()));
  if (in.left() != 0) return fmt::format("error: {} bytes left over\t", in.left());
  return columns(*type, message, version);
}

void read(std::istream& in, std::ostream& out) {
  proto::Arena arena(kArenaBytes);
  for (std::string line; std::getline(in, line);) {
    const std::vector<std::string_view> parts = split(line);
    CHECK(parts.size() >= 4, "a line of too few columns");
    const auto version = static_cast<int16_t>(std::stoi(std::string(parts[1])));
    out << parts[0] << '\t' << parts[1] << '\t' << parts[2] << '\t'
        << answer(parts[0], version, from_hex(parts[3]), arena) << '\n';
  }
}

int run(std::span<char* const> arguments) {
  if (arguments.size() != 4) {
    fmt::print(stderr, "usage: codec_tool write SEEDS OUT | codec_tool read IN OUT\n");
    return 2;
  }
  const std::string_view what = arguments[1];
  std::ofstream out(arguments[3]);
  if (what == "write") {
    write(std::stoi(arguments[2]), out);
  } else if (what == "read") {
    std::ifstream in(arguments[2]);
    CHECK(in.is_open(), "cannot read the input");
    read(in, out);
  } else {
    fmt::print(stderr, "codec_tool: unknown '{}'\n", what);
    return 2;
  }
  out.flush();
  return out.good() ? 0 : 1;
}

}  // namespace
}  // namespace pelton::golden

int main(int count, char** arguments) {
  return pelton::golden::run({arguments, static_cast<size_t>(count)});
}
