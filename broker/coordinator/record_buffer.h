// RecordBuffer: the records of one event, as the bytes that go to the log and are replayed.
//
// Owner: whoever builds it, on one shard. The bytes of all records lie in one vector that keeps its
// memory over clear(). Views of records are valid until the next add or clear.
// A key is written behind its type, a value behind its version, both int16, as in Kafka's
// coordinators.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "proto/record.h"
#include "proto/wire.h"
#include "reactor/base/bytes.h"
#include "reactor/base/check.h"

namespace pelton::broker::coordinator {

class RecordBuffer {
 public:
  template <class Key, class Value>
  void add(const Key& key, const Value& value, int16_t value_version) {
    Entry entry = put_key(key);
    entry.value_size = static_cast<int32_t>(put(value_version, value, value_version));
    entries_.push_back(entry);
  }
  template <class Key>
  void add_tombstone(const Key& key) {
    entries_.push_back(put_key(key));
  }

  bool empty() const { return entries_.empty(); }
  size_t count() const { return entries_.size(); }
  Bytes key(size_t index) const;
  std::optional<Bytes> value(size_t index) const;  // nullopt: a tombstone
  // At least what the records, or one of them, take in a batch.
  size_t batch_bytes() const;
  size_t batch_bytes(size_t index) const;
  void clear();

 private:
  struct Entry {
    size_t at;
    size_t key_size;
    int32_t value_size = -1;
  };

  template <class Key>
  Entry put_key(const Key& key) {
    Entry entry{.at = bytes_.size(), .key_size = 0};
    entry.key_size = put(Key::kRecordType, key, 0);
    return entry;
  }
  template <class Message>
  size_t put(int16_t prefix, const Message& message, int16_t version) {
    size_t at = bytes_.size();
    bytes_.resize(at + sizeof(int16_t) + message.size(version));
    proto::WireWriter out(MutableBytes(bytes_).subspan(at));
    out.write_i16(prefix);
    message.encode(out, version);
    CHECK(out.written() == bytes_.size() - at, "size and encode of a record agree");
    return bytes_.size() - at;
  }

  std::vector<uint8_t> bytes_;
  std::vector<Entry> entries_;
};

}  // namespace pelton::broker::coordinator
