#include "proto/frame.h"

#include <gtest/gtest.h>

#include <vector>

#include "proto/any_message.h"

namespace pelton::proto {
namespace {

using State = NextFrame::State;

std::vector<uint8_t> request(int16_t key, int16_t version, int32_t correlation_id,
                             std::optional<std::string_view> client_id,
                             std::vector<uint8_t> body = {}) {
  std::vector<uint8_t> frame(request_header_size(key, version, client_id));
  WireWriter out(frame);
  write_request_header(out, key, version, correlation_id, client_id);
  EXPECT_EQ(out.written(), frame.size());
  frame.insert(frame.end(), body.begin(), body.end());
  return frame;
}

TEST(Frame, SplitsAStream) {
  std::vector<uint8_t> stream = {0, 0, 0, 5, 'h', 'e', 'l', 'l', 'o', 0, 0, 0, 4, 'm'};
  NextFrame first = next_frame(stream, 4, 100);
  ASSERT_EQ(first.state, State::kReady);
  EXPECT_EQ(as_text(first.body), "hello");
  EXPECT_EQ(first.consumed(), 9u);
  NextFrame second = next_frame(Bytes(stream).subspan(first.consumed()), 4, 100);
  EXPECT_EQ(second.state, State::kNeedBody);
  EXPECT_EQ(second.size, 4u);
}

TEST(Frame, EveryPrefixIsIncomplete) {
  std::vector<uint8_t> stream = {0, 0, 0, 5, 'h', 'e', 'l', 'l', 'o'};
  for (size_t have = 0; have < stream.size(); ++have) {
    NextFrame frame = next_frame(Bytes(stream).first(have), 4, 100);
    EXPECT_EQ(frame.state, have < 4 ? State::kNeedSize : State::kNeedBody) << have;
  }
}

TEST(Frame, SizesOutsideTheLimitsAreBad) {
  auto state = [](std::vector<uint8_t> stream) { return next_frame(stream, 10, 1000).state; };
  EXPECT_EQ(state({0xff, 0xff, 0xff, 0xff}), State::kBad);
  EXPECT_EQ(state({0x80, 0, 0, 0}), State::kBad);
  EXPECT_EQ(state({0, 0, 0, 9}), State::kBad);
  EXPECT_EQ(state({0, 0, 0, 10}), State::kNeedBody);
  EXPECT_EQ(state({0, 0, 3, 0xe8}), State::kNeedBody);
  EXPECT_EQ(state({0, 0, 3, 0xe9}), State::kBad);
  EXPECT_EQ(state({'G', 'E', 'T', ' '}), State::kBad);
}

TEST(Frame, RequestHeadersInBothForms) {
  for (auto [key, version] : {std::pair<int16_t, int16_t>{3, 1}, {3, 12}, {17, 1}, {18, 0}}) {
    std::vector<uint8_t> frame = request(key, version, 77, "rdkafka", {1, 2, 3});
    auto head = read_request_head(frame);
    ASSERT_TRUE(head.has_value());
    EXPECT_EQ(head->api_key, key);
    EXPECT_EQ(head->api_version, version);
    EXPECT_EQ(head->correlation_id, 77);
    EXPECT_EQ(head->client_id, "rdkafka");
    EXPECT_EQ(head->body.size(), 3u);
  }
  EXPECT_EQ(read_request_head(request(3, 12, 1, std::nullopt))->client_id, std::nullopt);
}

TEST(Frame, TheHeaderSchemaAgrees) {
  for (int16_t version : {int16_t{1}, int16_t{12}}) {
    std::vector<uint8_t> frame = request(3, version, 5, "id");
    Arena arena(10'000);
    WireReader in(frame, arena);
    const MessageType* header = message_type("RequestHeader");
    ASSERT_NE(header, nullptr);
    int16_t header_version = request_header_version(3, version);
    const void* message = header->decode(in, header_version);
    EXPECT_TRUE(in.ok());
    EXPECT_EQ(in.left(), 0u);
    std::string dump;
    header->dump(message, dump, header_version);
    EXPECT_EQ(dump, "{\"requestApiKey\":3,\"requestApiVersion\":" + std::to_string(version) +
                        ",\"correlationId\":5,\"clientId\":\"id\"}");
  }
}

TEST(Frame, UnknownTagsInAHeaderAreSkipped) {
  std::vector<uint8_t> frame = {0, 3, 0, 12, 0, 0, 0, 9, 0, 1, 'c', 1, 7, 2, 'x', 'y', 0x55};
  auto head = read_request_head(frame);
  ASSERT_TRUE(head.has_value());
  EXPECT_EQ(head->body.size(), 1u);
  EXPECT_EQ(head->body[0], 0x55);
}

TEST(Frame, BadHeaders) {
  std::vector<uint8_t> good = request(3, 12, 1, "client");
  for (size_t have = 0; have < good.size(); ++have)
    EXPECT_EQ(read_request_head(Bytes(good).first(have)).error(), DecodeError::kTruncated) << have;
  EXPECT_EQ(read_request_head(request(4, 0, 1, "x")).error(), DecodeError::kUnknownApi);
  EXPECT_EQ(read_request_head(request(95, 0, 1, "x")).error(), DecodeError::kUnknownApi);
  EXPECT_EQ(read_request_head(request(-1, 0, 1, "x")).error(), DecodeError::kUnknownApi);
  EXPECT_EQ(read_request_head(request(3, -1, 1, "x")).error(), DecodeError::kUnknownApi);
}

TEST(Frame, AnApiVersionsRequestFromTheFutureIsReadable) {
  std::vector<uint8_t> frame = request(18, 99, 4, "new");
  auto head = read_request_head(frame);
  ASSERT_TRUE(head.has_value());
  EXPECT_EQ(head->api_version, 99);
  EXPECT_EQ(head->client_id, "new");
}

TEST(Frame, ResponseHeaders) {
  auto header = [](int16_t key, int16_t version) {
    std::vector<uint8_t> bytes(response_header_size(key, version));
    WireWriter out(bytes);
    write_response_header(out, key, version, 0x01020304);
    EXPECT_EQ(out.written(), bytes.size());
    Arena arena(0);
    WireReader in(bytes, arena);
    EXPECT_EQ(read_response_header(in, key, version), 0x01020304);
    EXPECT_TRUE(in.ok());
    EXPECT_EQ(in.left(), 0u);
    return bytes.size();
  };
  EXPECT_EQ(header(3, 8), 4u);
  EXPECT_EQ(header(3, 9), 5u);
  EXPECT_EQ(header(18, 0), 4u);
  EXPECT_EQ(header(18, 3), 4u);
  EXPECT_EQ(header(18, 5), 4u);
  EXPECT_EQ(header(52, 0), 5u);
}

}  // namespace
}  // namespace pelton::proto
