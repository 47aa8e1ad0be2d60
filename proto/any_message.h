// Any message, chosen at run time: by API key for requests and responses, by name for all of them.
// For fuzzers, tools, tests and request logs; handlers use the structs directly. Constant data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "proto/wire.h"

namespace pelton::proto {

enum class MessageKind : uint8_t { kRequest, kResponse, kRecord, kKey, kValue, kData, kHeader };

struct MessageType {
  std::string_view name;  // "FetchRequest", "TopicRecord"
  MessageKind kind;
  int16_t key;              // API key or record type; -1 for data and headers
  std::string_view family;  // of records: "cluster_metadata", "group", ...; empty for APIs
  int16_t min_version;
  int16_t max_version;
  int16_t flexible_from;

  // The message lives in the reader's arena. Look at in.ok(): nullptr only if not even that fits.
  const void* (*decode)(WireReader& in, int16_t version);
  // `message` is what decode of the same type gave.
  size_t (*size)(const void* message, int16_t version);
  void (*encode)(const void* message, WireWriter& out, int16_t version);
  void (*dump)(const void* message, std::string& out, int16_t version);

  bool has_version(int16_t version) const {
    return version >= min_version && version <= max_version;
  }
};

std::span<const MessageType* const> all_message_types();

// nullptr when there is none.
const MessageType* request_type(int16_t api_key);
const MessageType* response_type(int16_t api_key);
const MessageType* message_type(std::string_view name);
// ("cluster_metadata", kRecord, 2) is TopicRecord, ("group", kKey, 1) is OffsetCommitKey.
const MessageType* record_type(std::string_view family, MessageKind kind, int16_t number);

template <class Message>
constexpr MessageType make_message_type(std::string_view name, MessageKind kind, int16_t key,
                                        std::string_view family) {
  return {
      .name = name,
      .kind = kind,
      .key = key,
      .family = family,
      .min_version = Message::kMinVersion,
      .max_version = Message::kMaxVersion,
      .flexible_from = Message::kFlexibleFrom,
      .decode = [](WireReader& in, int16_t version) -> const void* {
        Message* message = in.make<Message>();
        if (message != nullptr) message->decode(in, version);
        return message;
      },
      .size = [](const void* message, int16_t version) {
        return static_cast<const Message*>(message)->size(version);
      },
      .encode = [](const void* message, WireWriter& out, int16_t version) {
        static_cast<const Message*>(message)->encode(out, version);
      },
      .dump = [](const void* message, std::string& out, int16_t version) {
        static_cast<const Message*>(message)->dump(out, version);
      },
  };
}

}  // namespace pelton::proto
