// JsonDump: writes one JSON value behind what a string already holds; the generated dump functions
// use it. Numbers are JSON numbers, bytes base64, ids in their text form. For logs, tools and tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "proto/types.h"

namespace pelton::proto {

class JsonDump {
 public:
  explicit JsonDump(std::string& out) : out_(out), begin_(out.size()) {}

  void begin_object() { open('{'); }
  void end_object() { out_ += '}'; }
  void begin_array() { open('['); }
  void end_array() { out_ += ']'; }
  void key(std::string_view name);

  void null();
  void boolean(bool value);
  void integer(int64_t value);
  void real(double value);  // a value that JSON has no number for becomes a string
  void text(std::string_view value);
  void bytes(Bytes value);
  void uuid(const Uuid& value) { text(value.to_string()); }
  void records(const Records& value);  // inline bytes; {"externalBytes": n} for external ones

 private:
  void open(char bracket);
  void separate();

  std::string& out_;
  size_t begin_;
};

}  // namespace pelton::proto
