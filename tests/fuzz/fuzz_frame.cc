// The frame splitter and the headers, over a stream that arrives in pieces.
#include <algorithm>

#include "proto/api.h"
#include "proto/arena.h"
#include "proto/frame.h"
#include "reactor/base/bytes.h"
#include "reactor/base/check.h"

namespace pelton::proto {
namespace {

constexpr uint32_t kMaxFrame = 300;

bool inside(Bytes outer, const void* begin, size_t size) {
  auto at = static_cast<const uint8_t*>(begin);
  return size == 0 || (at >= outer.data() && at + size <= outer.data() + outer.size());
}

// What is said of a stream must not change when more of it arrives.
void check_growing(Bytes stream, const NextFrame& whole, uint32_t min_bytes) {
  size_t most = std::min<size_t>(stream.size(), kMaxFrame + 8);
  for (size_t have = 0; have <= most; ++have) {
    NextFrame part = next_frame(stream.first(have), min_bytes, kMaxFrame);
    if (have < kFrameSizeBytes) {
      CHECK(part.state == NextFrame::State::kNeedSize);
    } else if (whole.state == NextFrame::State::kBad) {
      CHECK(part.state == NextFrame::State::kBad);
    } else {
      CHECK(part.size == whole.size);
      bool ready = have >= part.consumed();
      CHECK(part.state == (ready ? NextFrame::State::kReady : NextFrame::State::kNeedBody));
    }
  }
}

void check_request(Bytes frame) {
  auto head = read_request_head(frame);
  if (!head) return;
  CHECK(inside(frame, head->body.data(), head->body.size()));
  if (head->client_id) CHECK(inside(frame, head->client_id->data(), head->client_id->size()));
  CHECK(request_header_version(head->api_key, head->api_version) != kNoHeaderVersion);
}

void check_response(Bytes frame) {
  for (const ApiInfo& api : all_apis()) {
    Arena arena(Arena::limit_for(frame.size()));
    WireReader reader(frame, arena);
    read_response_header(reader, static_cast<int16_t>(api.key), api.max_version);
    CHECK(reader.left() <= frame.size());
  }
}

void split(Bytes stream, uint32_t min_bytes) {
  for (;;) {
    NextFrame next = next_frame(stream, min_bytes, kMaxFrame);
    check_growing(stream, next, min_bytes);
    if (next.state != NextFrame::State::kReady) return;
    CHECK(next.size >= min_bytes && next.size <= kMaxFrame);
    CHECK(next.body.size() == next.size && inside(stream, next.body.data(), next.body.size()));
    check_request(next.body);
    check_response(next.body);
    stream = stream.subspan(next.consumed());
  }
}

}  // namespace
}  // namespace pelton::proto

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  pelton::proto::split({data, size}, pelton::proto::kMinRequestBytes);
  pelton::proto::split({data, size}, pelton::proto::kMinResponseBytes);
  return 0;
}
