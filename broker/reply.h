// Reply: the bytes of one answer as ordered pieces: encoded bytes, with file ranges where the response
// has external records.
//
// Owner: its request. Encoded on the shard that answers, sent by the connection's shard.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "proto/types.h"
#include "proto/wire.h"
#include "reactor/base/bytes.h"
#include "reactor/file_system.h"

namespace pelton::broker {

// What an external record set is: looked up by its token when the reply is sent.
struct ReplyRange {
  FileFd file = -1;
  uint64_t position = 0;
  uint32_t length = 0;
};

class Reply {
 public:
  // Encodes size, response header and response. External records become file pieces: `token` indexes
  // ranges(). The buffer is kept for the next reply.
  template <class T>
  void encode(const T& response, int16_t api_key, int16_t version, int32_t correlation_id) {
    proto::WireWriter out(make_room(response.size(version), api_key, version));
    write_head(out, api_key, version, correlation_id);
    response.encode(out, version);
    end(out);
  }

  // File ranges of this reply, filled before encode.
  std::vector<ReplyRange>& ranges() { return ranges_; }

  bool empty() const { return bytes_used_ == 0; }
  Bytes bytes() const { return {buffer_.get(), bytes_used_}; }
  std::span<const proto::WireWriter::Hole> holes() const { return holes_; }
  uint64_t total_bytes() const;  // on the wire, size field included
  void reset();

 private:
  MutableBytes make_room(size_t body_size, int16_t api_key, int16_t version);
  void write_head(proto::WireWriter& out, int16_t api_key, int16_t version, int32_t correlation_id);
  void end(const proto::WireWriter& out);
  size_t external_bytes() const;

  std::unique_ptr<uint8_t[]> buffer_;
  size_t capacity_ = 0;
  size_t bytes_used_ = 0;   // in memory
  size_t frame_bytes_ = 0;  // on the wire, without the size field
  std::vector<proto::WireWriter::Hole> holes_;
  std::vector<ReplyRange> ranges_;
};

}  // namespace pelton::broker
