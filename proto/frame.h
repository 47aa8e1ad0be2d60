// Frames and headers: where a frame ends in a byte stream, what its header says, and the header of
// the answer. Bytes only; who holds them decides how they arrive. Every number is checked here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string_view>

#include "proto/api.h"
#include "proto/wire.h"

namespace pelton::proto {

inline constexpr size_t kFrameSizeBytes = sizeof(int32_t);
// The shortest request: API key, version, correlation id, null client id.
inline constexpr uint32_t kMinRequestBytes = 10;
// The shortest response: its correlation id.
inline constexpr uint32_t kMinResponseBytes = 4;

// What a stream begins with.
struct NextFrame {
  enum class State : uint8_t {
    kNeedSize,  // the size is not there yet
    kNeedBody,  // `size` is known and allowed, the frame is not whole
    kReady,     // `body` is the frame
    kBad,       // the announced size is not allowed: close the connection
  };
  State state = State::kNeedSize;
  uint32_t size = 0;  // of the body, as announced
  Bytes body;         // a view into the stream

  // Bytes of the stream that a ready frame takes.
  size_t consumed() const { return kFrameSizeBytes + size; }
};

// Looks at the beginning of `stream`; sizes outside [min_bytes, max_bytes] are bad.
NextFrame next_frame(Bytes stream, uint32_t min_bytes, uint32_t max_bytes);

struct RequestHead {
  int16_t api_key = 0;
  int16_t api_version = 0;
  int32_t correlation_id = 0;
  std::optional<std::string_view> client_id;
  Bytes body;  // what follows the header
};

// Splits a request frame. kUnknownApi: `api_key` is none of ours, or the version is negative (the
// header's form is unknown then). A version beyond the known ones is no error here: see
// ApiInfo. Header versions 1 and 2 both have the client id in the classic form.
std::expected<RequestHead, DecodeError> read_request_head(Bytes frame);

// The header of a response to (key, version), both known.
size_t response_header_size(int16_t api_key, int16_t api_version);
void write_response_header(WireWriter& out, int16_t api_key, int16_t api_version,
                           int32_t correlation_id);

// The header of a request, for what sends requests: other brokers, tools, tests.
size_t request_header_size(int16_t api_key, int16_t api_version,
                           const std::optional<std::string_view>& client_id);
void write_request_header(WireWriter& out, int16_t api_key, int16_t api_version,
                          int32_t correlation_id, const std::optional<std::string_view>& client_id);

// Reads a response's header and gives its correlation id; `in` then stands at the body.
int32_t read_response_header(WireReader& in, int16_t api_key, int16_t api_version);

}  // namespace pelton::proto
