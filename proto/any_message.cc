#include "proto/any_message.h"

namespace pelton::proto {

extern const MessageType* const kMessageTable[];
extern const size_t kMessageTableSize;

std::span<const MessageType* const> all_message_types() {
  return {kMessageTable, kMessageTableSize};
}

const MessageType* record_type(std::string_view family, MessageKind kind, int16_t number) {
  for (const MessageType* type : all_message_types())
    if (type->kind == kind && type->key == number && type->family == family) return type;
  return nullptr;
}

const MessageType* request_type(int16_t api_key) {
  return record_type("", MessageKind::kRequest, api_key);
}

const MessageType* response_type(int16_t api_key) {
  return record_type("", MessageKind::kResponse, api_key);
}

const MessageType* message_type(std::string_view name) {
  for (const MessageType* type : all_message_types())
    if (type->name == name) return type;
  return nullptr;
}

}  // namespace pelton::proto
