#include "broker/catalog/metadata_record.h"

#include <fmt/format.h>

#include "proto/batch_builder.h"
#include "proto/varint.h"

namespace pelton::broker {
namespace {

size_t header_size(uint32_t type, uint32_t version) {
  return proto::uvarint_size(kMetadataFrameVersion) + proto::uvarint_size(type) +
         proto::uvarint_size(version);
}

}  // namespace

Result<MetadataFrame, std::string> read_metadata_frame(Bytes value) {
  Bytes whole = value;
  uint32_t frame_version = 0, type = 0, version = 0;
  if (!proto::take_base128(value, frame_version) || !proto::take_base128(value, type) ||
      !proto::take_base128(value, version)) {
    return std::unexpected("the record ends inside its frame");
  }
  if (frame_version != kMetadataFrameVersion) {
    return std::unexpected(fmt::format("frame version {} is unknown", frame_version));
  }
  constexpr uint32_t kMaxVersion = 0x7fff;
  if (version > kMaxVersion) return std::unexpected(fmt::format("version {} is unknown", version));
  return MetadataFrame{type, static_cast<int16_t>(version), value, whole};
}

MutableBytes MetadataRecords::begin(int16_t type, int16_t version, size_t body_size) {
  auto unsigned_type = static_cast<uint32_t>(type);
  auto unsigned_version = static_cast<uint32_t>(version);
  size_t header = header_size(unsigned_type, unsigned_version);
  size_t first = bytes_.size();
  bytes_.resize(first + header + body_size);
  ends_.push_back(bytes_.size());
  MutableBytes record = MutableBytes(bytes_).subspan(first);
  proto::WireWriter out(record.first(header));
  out.write_uvarint(kMetadataFrameVersion);
  out.write_uvarint(unsigned_type);
  out.write_uvarint(unsigned_version);
  return record.subspan(header);
}

std::vector<uint8_t> MetadataRecords::batch(int64_t now_ms, int32_t leader_epoch) const {
  proto::BatchBuilder builder({.partition_leader_epoch = leader_epoch});
  for (size_t i = 0; i < count(); ++i) builder.append(now_ms, std::nullopt, value(i));
  std::vector<uint8_t> out;
  bool built = builder.build(out).has_value();
  CHECK(built, "an uncompressed batch is always built");
  return out;
}

}  // namespace pelton::broker
