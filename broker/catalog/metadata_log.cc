#include "broker/catalog/metadata_log.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "broker/catalog/snapshot_file.h"
#include "proto/batch.h"
#include "proto/batch_builder.h"
#include "proto/messages/control_records.h"
#include "proto/wire.h"

namespace pelton::broker {
namespace {

// Apache Kafka's fixed id of the metadata topic, AAAAAAAAAAAAAAAAAAAAAQ.
constexpr Uuid kMetadataTopicId{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};
constexpr size_t kMaxSnapshotBytes = size_t{1} << 30;
constexpr size_t kMaxQuorumStateBytes = 64 * 1024;
constexpr int32_t kFirstLeaderEpoch = 1;

std::unexpected<std::string> fail(std::string why) { return std::unexpected(std::move(why)); }

storage::LogConfig metadata_log_config(const BrokerConfig& broker) {
  storage::LogConfig config;
  config.segment_bytes = broker.metadata_small_segment_bytes > 0 ? broker.metadata_small_segment_bytes
                                                                 : broker.metadata_segment_bytes;
  config.segment_ms = broker.metadata_segment_ms;
  config.file_delete_delay_ms = std::max<int64_t>(broker.metadata_delete_delay_ms, 0);
  config.retention_ms = -1;
  config.retention_bytes = -1;
  config.delete_policy = false;
  config.flush_messages = 1;
  config.max_message_bytes = 64 << 20;
  return config;
}

template <class Visit>
Result<void, std::string> for_each_batch(std::string_view bytes, Visit&& visit) {
  proto::BatchIterator batches(as_bytes(bytes));
  while (auto batch = batches.next()) {
    if (auto done = visit(*batch); !done) return done;
  }
  if (batches.error()) return fail(std::string(proto::to_string(*batches.error())));
  if (batches.partial()) return fail("the file ends inside a batch");
  return {};
}

// The values of a bootstrap snapshot's records: not state yet, they are appended to the empty log.
Result<void, std::string> collect_values(const proto::BatchView& batch,
                                         std::vector<std::vector<uint8_t>>& values) {
  auto sound = proto::validate(batch.bytes().first(batch.size()),
                               {.origin = proto::BatchOrigin::kLog, .check_crc = true});
  if (!sound) return fail(std::string(proto::to_string(sound.error())));
  if (batch.control()) return {};
  if (batch.codec() != proto::Codec::kNone) return fail("metadata records are never compressed");
  proto::RecordIterator records = batch.records();
  proto::RecordView record;
  while (records.next(record)) {
    if (record.value) values.emplace_back(record.value->begin(), record.value->end());
  }
  if (auto status = records.status(); !status) return fail(std::string(to_string(status.error())));
  return {};
}

// Replays the newest snapshot and the log behind it.
class Reader {
 public:
  Reader(FileSystem& files, storage::Log& log, CatalogReplay& replay)
      : files_(files), log_(log), replay_(replay) {}

  Result<void, std::string> read() {
    if (auto done = read_snapshot(); !done) return done;
    if (auto done = read_log(); !done) return done;
    if (auto done = replay_.check_complete(); !done) {
      return fail(fmt::format("{}: {}", log_.directory(), done.error()));
    }
    return {};
  }

  std::vector<std::vector<uint8_t>> bootstrap;
  uint64_t bytes_behind_snapshot = 0;

 private:
  Result<void, std::string> read_snapshot() {
    std::vector<SnapshotName> snapshots = list_snapshots(files_, log_.directory());
    if (snapshots.empty()) return {};
    const SnapshotName& name = snapshots.back();
    std::string path = log_.directory() + "/" + name.file();
    auto text = read_file(files_, path, kMaxSnapshotBytes);
    if (!text) return fail(fmt::format("cannot read {}: {}", path, to_string(text.error())));
    auto done = for_each_batch(*text, [&](const proto::BatchView& batch) {
      return name.end_offset == 0 ? collect_values(batch, bootstrap)
                                   : replay_.apply_batch(batch.bytes().first(batch.size()));
    });
    if (!done) return fail(fmt::format("{}: {}", path, done.error()));
    if (name.end_offset > 0) replay_.set_end_offset(name.end_offset);
    return {};
  }

  Result<void, std::string> read_log() {
    Result<void, std::string> outcome;
    int64_t from = replay_.end_offset();
    if (from < log_.log_start_offset()) {
      return fail(fmt::format("{}: the log starts at offset {} and no snapshot reaches up to it",
                              log_.directory(), log_.log_start_offset()));
    }
    if (from > log_.next_offset()) {
      return fail(fmt::format("{}: the log ends at offset {}, before its snapshot at {}",
                              log_.directory(), log_.next_offset(), from));
    }
    auto read = log_.for_each_batch(from, [&](Bytes batch) {
      outcome = replay_.apply_batch(batch);
      return outcome.has_value();
    });
    if (!read) return fail(fmt::format("cannot read {}: {}", log_.directory(), to_string(read.error())));
    if (!outcome) return fail(fmt::format("{}: {}", log_.directory(), outcome.error()));
    auto behind_snapshot = log_.position_of(from);
    if (behind_snapshot) bytes_behind_snapshot = log_.bytes_between(*behind_snapshot, log_.written_end());
    return {};
  }

  FileSystem& files_;
  storage::Log& log_;
  CatalogReplay& replay_;
};

class Opener {
 public:
  Opener(BrokerShard& here, CatalogReplay& replay) : here_(here), replay_(replay) {}

  Result<MetadataLog, std::string> open() {
    opened_.leader_epoch = std::max(kFirstLeaderEpoch, quorum_epoch());
    if (auto done = open_log(); !done) return fail(done.error());
    Reader reader(files(), log(), replay_);
    if (auto done = reader.read(); !done) return fail(done.error());
    opened_.bootstrap = std::move(reader.bootstrap);
    opened_.bytes_behind_snapshot = reader.bytes_behind_snapshot;
    if (replay_.last_leader_epoch() > opened_.leader_epoch) {
      return fail(fmt::format("{}: the log has leader epoch {}, but quorum-state says {}", directory(),
                              replay_.last_leader_epoch(), opened_.leader_epoch));
    }
    opened_.empty = log().next_offset() == 0;
    if (auto done = write_quorum_state(); !done) return fail(done.error());
    return std::move(opened_);
  }

 private:
  FileSystem& files() { return here_.shard.io().files(); }
  storage::Log& log() { return opened_.partition->log(); }
  std::string directory() const { return here_.log_dir.path() + "/" + id_.directory_name(); }

  Result<void, std::string> open_log() {
    opened_.partition = std::make_unique<Partition>(here_.notices, id_, kMetadataTopicId,
                                                     opened_.leader_epoch, /*always_synced=*/true);
    storage::LogConfig config = metadata_log_config(here_.config);
    Partition& partition = *opened_.partition;
    if (files().exists(directory())) {
      auto log = here_.log_dir.load_log(here_.storage, partition, id_, config);
      if (!log) return fail(log.error());
      partition.attach(std::move(*log), config);
      return {};
    }
    auto log = here_.log_dir.create_log(here_.storage, partition, id_, kMetadataTopicId, config);
    if (!log) return fail(fmt::format("cannot create {}: {}", directory(), to_string(log.error())));
    partition.attach(std::move(*log), config);
    return {};
  }

  std::string quorum_path() const { return directory() + "/quorum-state"; }

  // The leader epoch that quorum-state names; 0 when there is none.
  int32_t quorum_epoch() {
    auto text = read_file(files(), quorum_path(), kMaxQuorumStateBytes);
    if (!text) return 0;
    constexpr std::string_view kField = "\"leaderEpoch\":";
    size_t at = text->find(kField);
    if (at == std::string::npos) return 0;
    int32_t epoch = 0;
    std::from_chars(text->data() + at + kField.size(), text->data() + text->size(), epoch);
    return epoch;
  }

  // Not synced: a start that finds it missing or cut short writes it again.
  Result<void, std::string> write_quorum_state() {
    if (quorum_epoch() > 0) return {};
    std::string text = fmt::format(
        R"({{"clusterId":"","leaderId":{0},"leaderEpoch":{1},"votedId":-1,"appliedOffset":0,)"
        R"("currentVoters":[{{"voterId":{0}}}],"data_version":0}})",
        here_.config.node_id, opened_.leader_epoch);
    auto file = files().open(quorum_path(), OpenMode::kCreate);
    Status written = file ? Status() : std::unexpected(file.error());
    if (file) {
      iovec bytes{text.data(), text.size()};
      written = files().truncate(*file, 0);
      if (written) written = files().pwritev(*file, &bytes, 1, 0);
      files().close(*file);
    }
    if (!written) {
      return fail(fmt::format("cannot write {}: {}", quorum_path(), to_string(written.error())));
    }
    return {};
  }

  BrokerShard& here_;
  CatalogReplay& replay_;
  storage::TopicPartition id_{std::string(kMetadataTopic), 0};
  MetadataLog opened_;
};

}  // namespace

Result<MetadataLog, std::string> open_metadata_log(BrokerShard& here, CatalogReplay& replay) {
  return Opener(here, replay).open();
}

Result<void, std::string> replay_metadata_log(FileSystem& files, storage::Log& log, CatalogReplay& replay) {
  return Reader(files, log, replay).read();
}

std::vector<uint8_t> leader_change_batch(int32_t node_id, int32_t leader_epoch, int64_t now_ms) {
  proto::LeaderChangeMessage::Voter voter{.voter_id = node_id};
  proto::LeaderChangeMessage message;
  message.leader_id = proto::BrokerId(node_id);
  message.voters = {&voter, 1};
  message.granting_voters = {&voter, 1};
  constexpr int16_t kVersion = 0;
  std::vector<uint8_t> value(message.size(kVersion));
  proto::WireWriter out(value);
  message.encode(out, kVersion);
  proto::BatchBuilder builder({.partition_leader_epoch = leader_epoch, .control = true});
  builder.append_control(now_ms, proto::ControlType::kLeaderChange, value);
  std::vector<uint8_t> batch;
  bool built = builder.build(batch).has_value();
  CHECK(built);
  return batch;
}

}  // namespace pelton::broker
