// Metadata records as they lie in __cluster_metadata-0: a record's value is unsigned varint frame
// version (1), unsigned varint record type, unsigned varint version, then the message.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "proto/arena.h"
#include "proto/wire.h"
#include "reactor/base/bytes.h"
#include "reactor/base/result.h"

namespace pelton::broker {

inline constexpr uint32_t kMetadataFrameVersion = 1;

struct MetadataFrame {
  uint32_t type = 0;
  int16_t version = 0;
  Bytes body;
  Bytes whole;  // frame and body
};

// The error says what is wrong with the bytes.
Result<MetadataFrame, std::string> read_metadata_frame(Bytes value);

// Records of one change, encoded.
class MetadataRecords {
 public:
  template <class T>
  void add(const T& record, int16_t version = T::kMaxVersion) {
    MutableBytes body = begin(T::kRecordType, version, record.size(version));
    proto::WireWriter out(body);
    record.encode(out, version);
    CHECK(out.written() == body.size(), "a metadata record's size is exact");
  }

  // A record that is encoded already, frame included.
  void add_value(Bytes value) {
    bytes_.insert(bytes_.end(), value.begin(), value.end());
    ends_.push_back(bytes_.size());
  }

  void add_all(const MetadataRecords& others) {
    for (size_t i = 0; i < others.count(); ++i) add_value(others.value(i));
  }

  void clear() {
    bytes_.clear();
    ends_.clear();
  }

  size_t count() const { return ends_.size(); }
  bool empty() const { return ends_.empty(); }
  size_t bytes() const { return bytes_.size(); }
  Bytes value(size_t i) const {
    size_t first = i == 0 ? 0 : ends_[i - 1];
    return Bytes(bytes_).subspan(first, ends_[i] - first);
  }

  // One batch that holds them all.
  std::vector<uint8_t> batch(int64_t now_ms, int32_t leader_epoch) const;

 private:
  MutableBytes begin(int16_t type, int16_t version, size_t body_size);

  std::vector<uint8_t> bytes_;
  std::vector<size_t> ends_;
};

}  // namespace pelton::broker
