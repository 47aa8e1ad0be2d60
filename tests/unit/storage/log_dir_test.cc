#include "storage/log_dir.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "storage/checkpoint.h"
#include "storage/log_deletion.h"
#include "tests/unit/storage/harness.h"

namespace pelton::storage {
namespace {

namespace fs = std::filesystem;
using test::Harness;
using test::read_all;
using test::write_all;

struct Opened {
  std::unique_ptr<LogDir> dir;
  std::string error;
};

Opened open(test::TestIo& io, const std::string& path, int32_t node_id = 1, std::string cluster = "") {
  auto opened = LogDir::open(io, {path, node_id, std::move(cluster)});
  if (!opened) return {nullptr, opened.error()};
  return {std::move(*opened), ""};
}

TEST(LogDir, FormatsAnEmptyDirectory) {
  pelton::test::TempDir temp;
  test::TestIo io;
  std::string path = temp / "a/b/data";
  Opened first = open(io, path, 3);
  ASSERT_TRUE(first.dir) << first.error;
  EXPECT_TRUE(first.dir->clean_start());
  std::string cluster = first.dir->cluster_id();
  EXPECT_EQ(cluster.size(), 22u);
  EXPECT_FALSE(first.dir->directory_id().is_zero());
  EXPECT_EQ(read_all(path + "/meta.properties"),
            "#\ncluster.id=" + cluster + "\ndirectory.id=" + first.dir->directory_id().to_string() +
                "\nnode.id=3\nversion=1\n");
  EXPECT_EQ(io.fs.syncs, 1) << "the file";
  EXPECT_EQ(io.fs.synced_directories, (std::vector<std::string>{path, temp.path(), temp / "a", temp / "a/b"}));
  EXPECT_EQ(io.fs.file_system_syncs, 0);
  Uuid directory_id = first.dir->directory_id();
  first.dir.reset();
  Opened again = open(io, path, 3);
  ASSERT_TRUE(again.dir) << again.error;
  EXPECT_EQ(again.dir->cluster_id(), cluster);
  EXPECT_EQ(again.dir->directory_id(), directory_id);
}

TEST(LogDir, FormatsAgainWhatAPowerLossLeftOfTheFormatting) {
  pelton::test::TempDir temp;
  test::TestIo io;
  std::string path = temp / "data";
  for (const std::string& left : {std::string(), std::string(92, '\0')}) {
    Opened first = open(io, path);
    ASSERT_TRUE(first.dir) << first.error;
    first.dir.reset();
    write_all(path + "/meta.properties", left);
    Opened again = open(io, path);
    ASSERT_TRUE(again.dir) << again.error;
    EXPECT_EQ(again.dir->cluster_id().size(), 22u);
    again.dir.reset();
    // With partitions it was formatted once: nothing is made up.
    fs::create_directory(path + "/t-0");
    write_all(path + "/meta.properties", left);
    EXPECT_NE(open(io, path).error, "");
    fs::remove(path + "/t-0");
  }
}

TEST(LogDir, AStartSettlesByOneSync) {
  Harness h;
  h.append({});
  h.settle();
  h.restart();
  int before = h.io.fs.file_system_syncs;
  ASSERT_TRUE(h.log_dir->settle());
  EXPECT_EQ(h.io.fs.file_system_syncs, before) << "a clean stop has synced everything";
  h.crash();
  h.start();
  before = h.io.fs.file_system_syncs;
  int files = h.io.fs.syncs;
  ASSERT_TRUE(h.log_dir->settle());
  ASSERT_TRUE(h.log_dir->settle());
  EXPECT_EQ(h.io.fs.file_system_syncs, before + 1);
  EXPECT_EQ(h.io.fs.syncs, files);
}

TEST(LogDir, RefusesWhatIsNotItsOwn) {
  pelton::test::TempDir temp;
  test::TestIo io;
  std::string path = temp / "data";
  Opened first = open(io, path, 1, "cluster-one");
  ASSERT_TRUE(first.dir) << first.error;
  EXPECT_EQ(first.dir->cluster_id(), "cluster-one");
  EXPECT_NE(open(io, path).error.find("another process uses this directory"), std::string::npos);
  first.dir.reset();
  EXPECT_NE(open(io, path, 2).error.find("belongs to node.id 1"), std::string::npos);
  EXPECT_NE(open(io, path, 1, "other").error.find("belongs to cluster cluster-one"), std::string::npos);
  write_all(path + "/meta.properties", "version=9\n");
  EXPECT_NE(open(io, path).error.find("only version 1"), std::string::npos);
  fs::remove(path + "/meta.properties");
  fs::create_directory(path + "/t-0");
  EXPECT_NE(open(io, path).error.find("meta.properties is missing"), std::string::npos);
}

TEST(LogDir, CleanShutdownMarkerIsTaken) {
  Harness h;
  h.append({});
  h.settle();
  h.stop();
  std::string marker = h.dir / "data/.kafka_cleanshutdown";
  EXPECT_EQ(read_all(marker), "{\"version\":0,\"brokerEpoch\":-1}");
  EXPECT_EQ(h.io.fs.file_system_syncs, 1) << "before the marker vouches for the files";
  h.start();
  EXPECT_TRUE(h.log_dir->clean_start());
  EXPECT_FALSE(fs::exists(marker));
  h.crash();
  h.start();
  EXPECT_FALSE(h.log_dir->clean_start());
}

TEST(LogDir, CreatedPartitionIsFound) {
  Harness h;
  EXPECT_EQ(read_all(h.partition("partition.metadata")), "version: 0\ntopic_id: " + h.topic_id.to_string());
  h.restart();
  ASSERT_EQ(h.log_dir->partitions().size(), 1u);
  EXPECT_EQ(h.log_dir->partitions()[0].id, h.id);
  EXPECT_EQ(h.log_dir->partitions()[0].topic_id, h.topic_id);
  EXPECT_EQ(h.log->topic_id(), h.topic_id);
}

TEST(LogDir, WhatIsSetAsideMakesRoomForATopicOfThatName) {
  Harness h;
  h.append({});
  h.settle();
  h.restart();
  h.log.reset();
  ASSERT_TRUE(h.log_dir->set_aside(h.id).has_value());
  EXPECT_TRUE(h.log_dir->partitions().empty());
  Uuid other = h.topic_id;
  other.bytes[0] ^= 1;
  auto created = h.log_dir->create_log(*h.storage, h.observer, h.id, other, h.config);
  ASSERT_TRUE(created.has_value()) << to_string(created.error());
  h.log = std::move(*created);
  EXPECT_EQ(h.log->next_offset(), 0);
}

TEST(LogDir, OtherDirectoriesAreLeftAlone) {
  Harness h;
  h.stop();
  for (const char* name : {"lost+found", "x-0.0123456789abcdef0123456789abcdef-future",
                           "x-0.0123456789abcdef0123456789abcdef-stray", "remote-log-index-cache"}) {
    fs::create_directory(h.dir / ("data/" + std::string(name)));
  }
  std::string deleted = h.dir / "data/x-0.0123456789abcdef0123456789abcdef-delete";
  fs::create_directories(deleted + "/inner");
  write_all(deleted + "/00000000000000000000.log", "x");
  h.start();
  EXPECT_EQ(h.log_dir->partitions().size(), 1u);
  EXPECT_TRUE(fs::exists(deleted + "/00000000000000000000.log")) << "a start does not wait for that";
  EXPECT_EQ(h.log_dir->take_leftovers(), std::vector<std::string>{deleted});
  EXPECT_TRUE(h.log_dir->take_leftovers().empty());
  EXPECT_TRUE(fs::exists(h.dir / "data/x-0.0123456789abcdef0123456789abcdef-stray"));
}

TEST(LogDir, LeftoversAreRemovedOneAfterTheOther) {
  Harness h;
  std::vector<std::string> doomed;
  for (char name : {'a', 'b', 'c'}) {
    doomed.push_back(h.dir / ("data/" + std::string(1, name)));
    fs::create_directories(doomed.back() + "/inner/most");
    write_all(doomed.back() + "/partition.metadata", "x");
    write_all(doomed.back() + "/00000000000000000000.log", "x");
    write_all(doomed.back() + "/inner/file", "x");
  }
  auto left = [&] {
    return std::count_if(doomed.begin(), doomed.end(), [](const std::string& each) { return fs::exists(each); });
  };
  std::string live = h.dir / "data/live";
  fs::create_directory(live);
  h.storage->deletions->delete_leftovers(doomed);
  h.storage->deletions->delete_directory(live, 0);
  EXPECT_EQ(left(), 3);
  for (auto before = left(); before > 0; before = left()) {
    h.io.time_ns += 1'000'000;
    for (int i = 0; i < 100; ++i) h.turn();
    ASSERT_LE(before - left(), 1) << "a pause after each";
    EXPECT_TRUE(left() > 1 || !fs::exists(live)) << "nobody else waits for all of them";
  }
  EXPECT_TRUE(h.storage->deletions->idle());
}

TEST(LogDir, ALeftoverThatStaysKeepsNoOtherBack) {
  Harness h;
  std::string good = h.dir / "data/good", stays = h.dir / "data/stays";
  fs::create_directory(good);
  write_all(stays, "not a directory");
  testing::internal::CaptureStderr();
  h.storage->deletions->delete_leftovers({good, stays, stays + "-never-there"});
  for (int i = 0; i < 60; ++i) {
    h.io.time_ns += 1'000'000;
    h.turn();
  }
  std::string said = testing::internal::GetCapturedStderr();
  EXPECT_FALSE(fs::exists(good));
  EXPECT_TRUE(h.storage->deletions->idle());
  EXPECT_NE(said.find("3 directories of deleted partitions are being removed"), std::string::npos) << said;
  EXPECT_NE(said.find("1 directories of deleted partitions cannot be removed, the first is " + stays),
            std::string::npos)
      << said;
}

TEST(LogDir, DeletionInTwoSteps) {
  LogConfig config;
  config.file_delete_delay_ms = 1000;
  Harness h(config);
  h.append({});
  h.settle();
  auto slice = h.log->read(0, 1000, h.log->written_end(), true);
  h.append({});  // queued when the log goes
  h.log_dir->delete_log(*h.storage, std::move(h.log), h.id);
  EXPECT_FALSE(fs::exists(h.dir / "data/t-0"));
  auto left = [&] {
    int count = 0;
    for (const auto& entry : fs::directory_iterator(h.dir / "data")) count += entry.is_directory();
    return count;
  };
  EXPECT_EQ(left(), 1);
  h.turn();
  EXPECT_EQ(h.observer.written, 1);
  h.io.time_ns += 1'100'000'000;
  for (int i = 0; i < 20; ++i) h.turn();
  EXPECT_EQ(left(), 0);
  std::vector<uint8_t> bytes(slice->length);
  EXPECT_EQ(*h.io.fs.pread(slice->file, bytes, slice->position), bytes.size());
  slice->pin.reset();
  // The same name again begins at 0, whatever the checkpoints said of the old one.
  auto again = h.log_dir->create_log(*h.storage, h.observer, h.id, Uuid{{7}}, config);
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ((*again)->next_offset(), 0);
}

TEST(LogDir, AStaleCheckpointDoesNotOutliveItsPartition) {
  Harness h;
  for (int i = 0; i < 5; ++i) h.append({});
  h.settle();
  h.save_checkpoints();
  h.log_dir->delete_log(*h.storage, std::move(h.log), h.id);
  auto again = h.log_dir->create_log(*h.storage, h.observer, h.id, Uuid{{7}}, h.config);
  ASSERT_TRUE(again.has_value());
  h.log = std::move(*again);
  h.crash();
  h.start();
  EXPECT_EQ(h.load_error, "");
  EXPECT_EQ(h.log->next_offset(), 0);
}

// A topic is made, and a client told of its log start, while the lines of all others are on their way.
TEST(LogDir, ALogStartNotedMeanwhileIsNotLost) {
  Harness h;
  TopicPartition made{"made", 0};
  Uuid made_id{{9}};
  h.log_dir->note_log_start({made, 5, 7, 9, made_id});
  ASSERT_TRUE(h.log_dir->write_checkpoints({{h.id, 30, 10, 20, h.topic_id}}));
  EXPECT_EQ(h.log_dir->log_starts().text, "0\n2\nmade 0 7\nt 0 10\n");
  EXPECT_EQ(h.log_dir->checkpoint_of(made)->recovery_point, 5);
  ASSERT_TRUE(h.log_dir->write_checkpoints({{h.id, 30, 10, 20, h.topic_id}, {made, 8, 0, 9, made_id}}));
  EXPECT_EQ(h.log_dir->log_starts().text, "0\n2\nmade 0 7\nt 0 10\n");
  EXPECT_EQ(h.log_dir->checkpoint_of(made)->recovery_point, 8);
  // It is not there any more: that is no news of its log start.
  ASSERT_TRUE(h.log_dir->write_checkpoints({{h.id, 30, 10, 20, h.topic_id}}));
  EXPECT_EQ(h.log_dir->log_starts().text, "0\n1\nt 0 10\n");
  // Deleted after it was noted.
  h.log_dir->note_log_start({made, 5, 7, 9, made_id});
  ASSERT_TRUE(h.log_dir->forget({made}));
  ASSERT_TRUE(h.log_dir->write_checkpoints({{h.id, 30, 10, 20, h.topic_id}}));
  EXPECT_EQ(h.log_dir->checkpoint_of(made), std::nullopt);
}

TEST(LogDir, LinesThatCannotBeForgottenAreStillKnown) {
  Harness h;
  ASSERT_TRUE(h.log_dir->write_checkpoints({{h.id, 30, 10, 20}}));
  h.io.fs.room = 0;
  EXPECT_FALSE(h.log_dir->forget({h.id}));
  ASSERT_TRUE(h.log_dir->checkpoint_of(h.id).has_value());
  EXPECT_EQ(h.log_dir->checkpoint_of(h.id)->recovery_point, 30);
  h.io.fs.room.reset();
  EXPECT_TRUE(h.log_dir->forget({h.id}));
  EXPECT_EQ(h.log_dir->checkpoint_of(h.id), std::nullopt);
}

TEST(LogDir, ForgottenLinesLeaveTheCheckpoints) {
  Harness h;
  ASSERT_TRUE(h.log_dir->write_checkpoints({{h.id, 30, 10, 20}, {{"other", 3}, 1, 0, 1}}));
  ASSERT_TRUE(h.log_dir->forget({h.id, {"never", 0}}));
  EXPECT_EQ(h.log_dir->checkpoint_of(h.id), std::nullopt);
  EXPECT_EQ(read_all(h.dir / "data/recovery-point-offset-checkpoint"), "0\n1\nother 3 1\n");
  int syncs = h.io.fs.file_system_syncs;
  EXPECT_TRUE(h.log_dir->create_log(*h.storage, h.observer, {"new", 0}, h.topic_id, h.config));
  EXPECT_EQ(h.io.fs.file_system_syncs, syncs) << "nothing stale to wait for";
  ASSERT_EQ(h.log_dir->in_checkpoints().size(), 1u);
  EXPECT_EQ(h.log_dir->in_checkpoints()[0].topic, "other");
}

TEST(LogDir, WhatAPowerLossLeftOfACreationIsMadeAgain) {
  Harness h;
  h.append({});
  h.settle();
  std::string unfinished = h.dir / "data/u-0";
  fs::create_directory(unfinished);
  write_all(unfinished + "/00000000000000000000.log", "");
  std::string damaged = h.dir / "data/v-0";
  fs::create_directory(damaged);
  write_all(damaged + "/00000000000000000000.log", "records");
  h.restart();
  ASSERT_EQ(h.log_dir->partitions().size(), 3u);
  for (const FoundPartition& found : std::vector(h.log_dir->partitions())) {
    EXPECT_EQ(h.log_dir->discard_unfinished(found), found.id.topic == "u") << found.id.topic;
  }
  EXPECT_EQ(h.log_dir->partitions().size(), 2u);
  EXPECT_EQ(read_all(damaged + "/00000000000000000000.log"), "records");
  EXPECT_TRUE(h.log_dir->create_log(*h.storage, h.observer, {"u", 0}, h.topic_id, h.config));
}

TEST(LogDir, AnUnfinishedCreationIsDoneAgain) {
  Harness h;
  h.append({});
  h.settle();
  auto taken = h.log_dir->create_log(*h.storage, h.observer, h.id, h.topic_id, h.config);
  ASSERT_FALSE(taken.has_value());
  EXPECT_EQ(taken.error().code, EEXIST) << "records are never overwritten";
  fs::create_directory(h.dir / "data/u-0");
  write_all(h.dir / "data/u-0/00000000000000000000.log", "");
  EXPECT_TRUE(h.log_dir->create_log(*h.storage, h.observer, {"u", 0}, h.topic_id, h.config));
}

TEST(LogDir, Checkpoints) {
  Harness h;
  ASSERT_TRUE(h.log_dir->write_checkpoints({{h.id, 30, 10, 20}, {{"other", 3}, 1, 0, 1}}));
  std::string text = read_all(h.dir / "data/recovery-point-offset-checkpoint");
  auto parsed = parse_offset_checkpoint(text);
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->size(), 2u);
  EXPECT_EQ(h.log_dir->log_starts().text, "0\n1\nt 0 10\n");
  ASSERT_TRUE(h.log_dir->mark_clean_shutdown());
  EXPECT_EQ(read_all(h.dir / "data/log-start-offset-checkpoint"), "0\n1\nt 0 10\n");
  EXPECT_EQ(h.log_dir->checkpoint_of(h.id)->high_watermark, 20);
  h.crash();
  fs::create_directory(h.dir / "data/other-3");
  test::TestIo io;
  Opened again = open(io, h.dir / "data");
  ASSERT_TRUE(again.dir) << again.error;
  EXPECT_EQ(again.dir->checkpoint_of(h.id)->recovery_point, 30);
  EXPECT_EQ(again.dir->checkpoint_of({"other", 3})->high_watermark, 1);
  EXPECT_EQ(again.dir->checkpoint_of({"none", 0}), std::nullopt);
}

}  // namespace
}  // namespace pelton::storage
