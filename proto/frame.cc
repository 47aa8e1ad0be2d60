#include "proto/frame.h"

namespace pelton::proto {

NextFrame next_frame(Bytes stream, uint32_t min_bytes, uint32_t max_bytes) {
  NextFrame frame;
  if (stream.size() < kFrameSizeBytes) return frame;
  int32_t announced = load_be<int32_t>(stream.data());
  frame.state = NextFrame::State::kBad;
  if (announced < 0) return frame;
  frame.size = static_cast<uint32_t>(announced);
  if (frame.size < min_bytes || frame.size > max_bytes) return frame;
  frame.state = NextFrame::State::kNeedBody;
  if (stream.size() - kFrameSizeBytes < frame.size) return frame;
  frame.state = NextFrame::State::kReady;
  frame.body = stream.subspan(kFrameSizeBytes, frame.size);
  return frame;
}

std::expected<RequestHead, DecodeError> read_request_head(Bytes frame) {
  Arena unused(0);
  WireReader in(frame, unused);
  RequestHead head;
  head.api_key = in.read_i16();
  head.api_version = in.read_i16();
  head.correlation_id = in.read_i32();
  if (!in.ok()) return std::unexpected(in.error());
  int16_t header_version = request_header_version(head.api_key, head.api_version);
  if (header_version == kNoHeaderVersion || head.api_version < 0)
    return std::unexpected(DecodeError::kUnknownApi);
  head.client_id = in.read_nullable_string(false, true);
  if (header_version >= 2) in.skip_tagged_fields();
  if (!in.ok()) return std::unexpected(in.error());
  head.body = in.rest();
  return head;
}

size_t response_header_size(int16_t api_key, int16_t api_version) {
  return sizeof(int32_t) + (response_header_version(api_key, api_version) >= 1 ? 1 : 0);
}

void write_response_header(WireWriter& out, int16_t api_key, int16_t api_version,
                           int32_t correlation_id) {
  out.write_i32(correlation_id);
  if (response_header_version(api_key, api_version) >= 1) out.write_uvarint(0);
}

size_t request_header_size(int16_t api_key, int16_t api_version,
                           const std::optional<std::string_view>& client_id) {
  return 2 * sizeof(int16_t) + sizeof(int32_t) + string_size(false, client_id) +
         (request_header_version(api_key, api_version) >= 2 ? 1 : 0);
}

void write_request_header(WireWriter& out, int16_t api_key, int16_t api_version,
                          int32_t correlation_id,
                          const std::optional<std::string_view>& client_id) {
  out.write_i16(api_key);
  out.write_i16(api_version);
  out.write_i32(correlation_id);
  out.write_nullable_string(false, true, client_id);
  if (request_header_version(api_key, api_version) >= 2) out.write_uvarint(0);
}

int32_t read_response_header(WireReader& in, int16_t api_key, int16_t api_version) {
  int32_t correlation_id = in.read_i32();
  if (response_header_version(api_key, api_version) >= 1) in.skip_tagged_fields();
  return correlation_id;
}

}  // namespace pelton::proto
