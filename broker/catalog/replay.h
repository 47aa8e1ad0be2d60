// CatalogReplay: the cluster's metadata as replaying its records gives it. The only code that changes
// what a catalog says; replaying a log that Apache Kafka wrote gives the same state.
//
// Owner shard: kCatalogShard (the writer). Snapshots made from it are immutable and shared; a topic that
// a snapshot holds is copied before it is changed.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "broker/catalog/kept_records.h"
#include "broker/catalog/metadata_record.h"
#include "broker/catalog/snapshot.h"
#include "broker/config/broker_config.h"
#include "broker/config/config_resource.h"
#include "proto/arena.h"
#include "proto/batch.h"
#include "reactor/base/result.h"

namespace pelton::broker {

// What replay knows of a registered broker.
struct BrokerRegistration {
  int16_t version = 0;                 // of the record that registered it,
  std::vector<uint8_t> record;         // which a snapshot repeats with what has changed since
  int64_t epoch = -1;
  Uuid incarnation;
  bool fenced = true;
  bool in_controlled_shutdown = false;
  std::optional<std::string> rack;
  std::vector<std::string> endpoints;  // "PLAINTEXT://host:port"
  std::vector<Uuid> log_dirs;
  std::optional<std::vector<Uuid>> cordoned_log_dirs;
};

class CatalogReplay {
 public:
  using Outcome = Result<void, std::string>;

  // shards: how many this process has, for placement. config: the broker's, from its files.
  CatalogReplay(int shards, const BrokerConfig& config);
  ~CatalogReplay();

  // Applies one batch of the log or of a checkpoint; the records of an open metadata transaction are applied
  // at its end. The error names offset, record and reason.
  Outcome apply_batch(Bytes batch);
  // Applies one record's value. `offset` is for the error.
  Outcome apply(Bytes value, int64_t offset);
  // After the last record of a log: whether the state is whole.
  Outcome check_complete() const;

  std::shared_ptr<const CatalogSnapshot> snapshot();
  // Topics removed since the last snapshot.
  size_t topics_removed() const { return removed_.size(); }

  const TopicInfo* find(std::string_view topic) const;
  const TopicInfo* find(Uuid topic) const;
  const std::map<std::string, std::shared_ptr<TopicInfo>, std::less<>>& topics() const {
    return topics_;
  }
  const std::map<std::string, int16_t, std::less<>>& features() const { return features_; }
  const BrokerRegistration* broker(int32_t id) const;
  // What the resource sets itself.
  const ConfigTexts& config(ConfigResourceType type, const std::string& name) const;
  const ResourceConfigs& configs() const { return configs_; }
  // The broker's configuration with the dynamic values that were replayed.
  // `left_out`: gets a sentence for each that is passed over.
  std::shared_ptr<const BrokerConfig> broker_config(std::vector<std::string>* left_out = nullptr) const;
  const std::map<int32_t, BrokerRegistration>& brokers() const { return brokers_; }
  const KeptRecords& kept() const { return kept_; }
  int64_t next_producer_id() const { return next_producer_id_; }
  // The offset after the last record, and the highest leader epoch of a batch.
  int64_t end_offset() const { return end_offset_; }
  void set_end_offset(int64_t offset) { end_offset_ = offset; }
  int32_t last_leader_epoch() const { return last_leader_epoch_; }
  // Of the newest batch.
  int64_t last_timestamp() const { return last_timestamp_; }
  // What control batches say of the quorum, as it came: the newest KRaftVersionRecord and VotersRecord. Empty:
  // a quorum that is fixed by configuration.
  const std::vector<uint8_t>& kraft_version() const { return kraft_version_; }
  const std::vector<uint8_t>& voters() const { return voters_; }
  // A metadata transaction was left open: its records are not part of the state.
  bool in_transaction() const { return in_transaction_; }

 private:
  friend struct RecordAppliers;  // replay_records.cc: one function for each record type

  // The topic, to be changed: a copy when a snapshot holds the old one. nullptr: there is none.
  TopicInfo* change(Uuid topic);
  void apply_control(const proto::BatchView& batch);
  Outcome apply_frame(const MetadataFrame& frame, int64_t offset);
  // A broker's configuration changed: the topics whose log runs differently now count as changed.
  void use_broker_config();
  void refresh(TopicInfo& topic) const;
  void note_changes(CatalogSnapshot& snapshot);

  int shards_;
  BrokerConfig from_files_;
  std::shared_ptr<const BrokerConfig> broker_config_;
  bool broker_config_changed_ = false;
  std::map<std::string, std::shared_ptr<TopicInfo>, std::less<>> topics_;
  std::map<Uuid, std::string> names_;
  std::set<Uuid> changed_;  // since the last snapshot: no snapshot holds these
  std::vector<Uuid> removed_;  // likewise
  std::shared_ptr<const CatalogSnapshot> last_snapshot_;
  ResourceConfigs configs_;
  std::vector<std::string> left_out_;  // of the broker's, told already
  std::shared_ptr<const ResourceConfigs> shown_configs_;  // of the last snapshot; null: changed since
  std::map<std::string, int16_t, std::less<>> features_;
  std::map<int32_t, BrokerRegistration> brokers_;
  KeptRecords kept_;
  std::vector<uint8_t> kraft_version_;
  std::vector<uint8_t> voters_;
  int64_t next_producer_id_ = 0;
  int64_t end_offset_ = 0;
  int32_t last_leader_epoch_ = 0;
  int64_t last_timestamp_ = 0;
  bool in_transaction_ = false;
  std::vector<std::pair<int64_t, std::vector<uint8_t>>> transaction_;
  proto::Arena arena_;
};

}  // namespace pelton::broker
