// CatalogWriter: the only door to change what the cluster's metadata says.
//
// A change plans metadata records against the state after all earlier changes; they are appended to
// __cluster_metadata-0, committed, applied by replay, and the change is done when every shard shows them:
// first each shard creates its new partitions, then each takes over the new snapshot, so that a client which
// sees a topic can use it through every shard. Changes that come while a round is under way wait (bounded)
// and go together in the next. A round that removes topics ends with a sync of the file system, and makes
// none: when a name comes again, nothing of the deleted topic is left on disk that speaks of it.
//
// Owner shard: kCatalogShard. Lifetime: from start-up until its shard's loop has stopped.
//
// How the server uses it (server.cc), all before the listeners open:
//   1. on shard 0, or before the loops run:  auto writer = CatalogWriter::open(here);    // blocking
//      here.catalog_writer = writer.get();
//   2. on every shard:  here.catalog = writer.snapshot();  here.partitions->load(here.catalog);
//   3. on shard 0, when all have done so:  writer.start();
//   Shutdown, on shard 0:  writer.stop() when nothing will ask for changes any more (what waits is
//   answered with an error); metadata_log() goes into the checkpoints like every partition; then close().
//   Every shard's context must be its BrokerShard (Shard::set_context).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "broker/broker_shard.h"
#include "broker/catalog/metadata_record.h"
#include "broker/catalog/publication.h"
#include "broker/catalog/removed_topics.h"
#include "broker/catalog/replay.h"
#include "broker/catalog/snapshot.h"
#include "broker/partition.h"
#include "reactor/base/intrusive_list.h"

namespace pelton::broker {

// One change: made on the heap by whoever wants it, owned by the writer from submit() on, and destroyed
// after done().
struct ChangeTag;
class CatalogChange : public ListHook<ChangeTag> {
 public:
  virtual ~CatalogChange() = default;
  // Makes no topic and no partition: may go in one round with changes that remove topics.
  virtual bool makes_nothing() const { return false; }
  // Puts the records that make the change into `records`, or none. `state` has all earlier changes.
  virtual void plan(const CatalogReplay& state, MetadataRecords& records) = 0;
  // kNone: committed, and applied on every shard. Else nothing was changed, or (kKafkaStorageError) it
  // is not known whether it will be there after a restart.
  virtual void done(proto::ErrorCode error) = 0;
};

class MetadataSnapshots;

class CatalogWriter {
 public:
  static constexpr size_t kMaxWaiting = 1'000;

  // Opens or creates the metadata log and replays it. The error is one sentence for the user.
  static Result<std::unique_ptr<CatalogWriter>, std::string> open(BrokerShard& here);
  ~CatalogWriter();

  std::shared_ptr<const CatalogSnapshot> snapshot() const { return snapshot_; }
  const CatalogReplay& state() const { return *replay_; }
  void start();
  void stop();
  Status close();
  Partition& metadata_log() { return *log_; }

  // Never calls the change back from inside. Takes it and returns nullptr; gives it back when too many
  // wait, or the writer has stopped or failed.
  [[nodiscard]] std::unique_ptr<CatalogChange> submit(std::unique_ptr<CatalogChange> change);

  // A producer id nobody was ever given, from a block that is committed; kNone or the reason why not.
  // `ready` runs on this shard, maybe before the call returns.
  struct ProducerIdWaiter : ListHook<ChangeTag> {
    void* owner = nullptr;
    void (*ready)(void* owner, proto::ErrorCode error, int64_t producer_id) = nullptr;
  };
  void next_producer_id(ProducerIdWaiter& waiter);

 private:
  class ProducerIdBlock;
  using Changes = IntrusiveList<CatalogChange, ChangeTag>;

  explicit CatalogWriter(BrokerShard& here);
  Result<void, std::string> load();
  void continue_log(bool empty, const std::vector<std::vector<uint8_t>>& bootstrap);

  void wake_when_idle();
  void on_turn(int32_t);
  void plan_round();
  bool take(CatalogChange& change);
  bool refuse(CatalogChange& change);
  void append(std::vector<uint8_t> batch);
  void commit();
  void on_committed(proto::ErrorCode error);
  void give_up_round();
  void publish();
  void on_published(bool failed);
  void on_forgotten(Status outcome);
  void finish_round(proto::ErrorCode error);
  void end_all(Changes& changes, proto::ErrorCode error);
  void hand_out_producer_ids();
  void on_producer_ids(proto::ErrorCode error, int64_t first);

  BrokerShard& here_;
  std::unique_ptr<CatalogReplay> replay_;
  std::unique_ptr<Partition> log_;
  std::unique_ptr<MetadataSnapshots> snapshots_;
  std::shared_ptr<const CatalogSnapshot> snapshot_;

  Changes waiting_;
  size_t waiting_count_ = 0;
  Changes round_;
  std::vector<std::vector<uint8_t>> in_flight_;  // batches of this round, until they are committed
  CommitWaiter commit_;
  Publication publication_;
  RemovedTopics removed_;
  Completion turn_ = Completion::bind<&CatalogWriter::on_turn>(this);
  bool refused_ = false;  // the metadata log did not take a batch of this round, or a shard did not follow
  bool started_ = false;
  bool busy_ = false;    // a round is under way
  bool stopped_ = false;
  bool failed_ = false;  // the metadata log takes nothing more

  IntrusiveList<ProducerIdWaiter, ChangeTag> producer_id_waiters_;
  int64_t next_producer_id_ = 0;
  int64_t producer_id_block_end_ = 0;
  bool block_requested_ = false;
};

}  // namespace pelton::broker
