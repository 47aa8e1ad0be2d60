// What was on stable storage and is damaged or gone: it is told from a torn tail, nothing is cut away, and the
// partition gives nothing until its files are there again.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "storage/durable_marks.h"
#include "tests/unit/storage/harness.h"

namespace pelton::storage {
namespace {

namespace fs = std::filesystem;
using test::Harness;
using test::read_all;
using test::write_all;

constexpr const char* kFirst = "00000000000000000000.log";

void fill(Harness& h, int batches) {
  for (int i = 0; i < batches; ++i) h.append({.records = 2, .value_bytes = 50});
  h.settle();
}

bool error_has(const Harness& h, const std::string& text) {
  return h.load_error.find(text) != std::string::npos;
}

// No checkpoint was written since: the mark alone knows.
TEST(Damage, InWhatWasSyncedAfterTheLastCheckpoint) {
  Harness h;
  fill(h, 10);
  h.crash();
  std::string good = read_all(h.partition(kFirst));
  size_t size = good.size() / 10;
  for (size_t at : {size_t{0}, 4 * size + 70, good.size() - 1}) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 1);
    write_all(h.partition(kFirst), bad);
    h.start();
    EXPECT_EQ(h.log, nullptr) << at;
    EXPECT_TRUE(error_has(h, "(from offset " + std::to_string(at / size * 2) + ")")) << h.load_error;
    EXPECT_TRUE(error_has(h, "before offset 20 ")) << h.load_error;
    EXPECT_EQ(read_all(h.partition(kFirst)), bad) << "left as it was";
    h.crash();
  }
  write_all(h.partition(kFirst), good.substr(0, 7 * size));
  h.start();
  EXPECT_TRUE(error_has(h, "ends at offset 14")) << h.load_error;
  h.crash();
  write_all(h.partition(kFirst), good);
  h.start();
  EXPECT_EQ(h.load_error, "");
  EXPECT_EQ(h.log->next_offset(), 20);
}

TEST(Damage, InWhatWasNotSyncedIsATornTail) {
  Harness h;
  fill(h, 5);
  h.io.auto_complete = false;
  h.append({.records = 2, .value_bytes = 50});
  h.turn();  // written, its sync under way
  ASSERT_EQ(h.log->written_end().offset, 12);
  h.io.auto_complete = true;
  auto mark = DurableMarks::read(h.io.fs, h.dir / "data/.durable-offsets-0");
  ASSERT_EQ(mark.size(), 1u);
  EXPECT_EQ(mark[0].offset, 10);
  h.crash();
  std::string bytes = read_all(h.partition(kFirst));
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  write_all(h.partition(kFirst), bytes);
  h.start();
  EXPECT_EQ(h.load_error, "");
  EXPECT_EQ(h.log->next_offset(), 10);
}

TEST(Damage, LostSegmentFilesAreNotAnEmptyLog) {
  for (bool clean : {true, false}) {
    Harness h;
    fill(h, 3);
    clean ? h.stop() : h.crash();
    std::string kept = read_all(h.partition(kFirst));
    fs::remove(h.partition(kFirst));
    h.start();
    EXPECT_TRUE(error_has(h, "no segment files")) << h.load_error;
    EXPECT_TRUE(error_has(h, "offsets 0 to 6")) << h.load_error;
    EXPECT_FALSE(fs::exists(h.partition(kFirst)));
    h.crash();
    write_all(h.partition(kFirst), kept);
    h.start();
    EXPECT_EQ(h.load_error, "");
    EXPECT_EQ(h.log->next_offset(), 6);
  }
}

TEST(Damage, NothingIsMissedOfALogThatNeverHeldAnything) {
  Harness h;
  h.crash();
  fs::remove(h.partition(kFirst));
  h.start();
  EXPECT_EQ(h.load_error, "") << "a creation that was not finished";
  h.append({});
  h.settle();
  h.log->set_log_start_offset(1);
  h.save_checkpoints();
  ASSERT_TRUE(h.log->close().has_value());
  ASSERT_TRUE(h.log_dir->mark_clean_shutdown());
  h.crash();
  fs::remove(h.partition(kFirst));
  h.start();
  EXPECT_EQ(h.load_error, "") << "all of it had been deleted";
  EXPECT_EQ(h.log->next_offset(), 1);
}

TEST(Damage, AnOfflineLogGivesNothingAndForgetsNothing) {
  Harness h;
  fill(h, 10);
  h.log->set_log_start_offset(4);
  h.save_checkpoints();
  fill(h, 5);
  h.crash();
  std::string good = read_all(h.partition(kFirst));
  std::string bad = good;
  bad[bad.size() - 1] = static_cast<char>(bad[bad.size() - 1] ^ 1);
  write_all(h.partition(kFirst), bad);
  for (int start = 0; start < 3; ++start) {
    h.start();
    ASSERT_NE(h.load_error, "") << start;
    h.log = h.log_dir->offline_log(*h.storage, h.observer, h.id, h.topic_id, h.config);
    EXPECT_TRUE(h.log->offline());
    EXPECT_TRUE(h.log->failed());
    EXPECT_EQ(h.append({}).error, proto::ErrorCode::kKafkaStorageError);
    EXPECT_EQ(h.log->read(0, 1000, h.log->written_end(), true).error(), proto::ErrorCode::kKafkaStorageError);
    EXPECT_FALSE(h.log->for_each_batch(0, [](Bytes) { return true; }).has_value());
    EXPECT_FALSE(h.log->first_unstable(100).has_value());
    EXPECT_EQ(h.log->position_of(7), std::nullopt);
    EXPECT_EQ(h.log->apply_retention(h.io.wall_ms(), 100), 0);
    EXPECT_EQ(h.log->size_bytes(), 0u);
    EXPECT_EQ(h.log->recovery_point(), 20) << "of the last checkpoint";
    EXPECT_EQ(h.log->log_start_offset(), 4);
    EXPECT_EQ(h.log->next_offset(), 30);
    EXPECT_FALSE(h.log->close().has_value()) << "no clean stop: the next start looks again";
    h.settle();
    EXPECT_EQ(h.observer.failures, 0);
    h.log_dir->all_loaded();
    h.save_checkpoints();
    h.crash();
  }
  write_all(h.partition(kFirst), good);
  h.start();
  EXPECT_EQ(h.load_error, "");
  EXPECT_EQ(h.log->next_offset(), 30);
  EXPECT_EQ(h.log->log_start_offset(), 4);
}

TEST(Damage, ALogOfWhichNothingIsLeftIsKnownByItsMark) {
  Harness h;
  fill(h, 3);
  h.crash();
  fs::remove_all(h.dir / "data/t-0");
  auto opened = LogDir::open(h.io, {.path = h.dir / "data"});
  ASSERT_TRUE(opened.has_value());
  EXPECT_EQ((*opened)->durable_offset(h.topic_id, 0), 6);
  EXPECT_EQ((*opened)->durable_offset(h.topic_id, 1), 0);
  EXPECT_EQ((*opened)->durable_offset(Uuid{{9}}, 0), 0);
}

// One batch of which the sync fails after ten that are on disk. Returns the size of each.
uint64_t fail_a_sync(Harness& h) {
  fill(h, 10);
  uint64_t size = read_all(h.partition(kFirst)).size() / 10;
  h.io.auto_complete = false;
  h.append({.records = 2, .value_bytes = 50});
  h.turn();
  h.io.end(-EIO);
  h.turn();
  EXPECT_EQ(h.observer.failures, 1);
  h.io.auto_complete = true;
  return size;
}

// The kernel takes pages whose write-back failed for clean: only what is written again gets to the disk.
TEST(FailedSync, WhatWasNotOnDiskIsWrittenAgainByRecovery) {
  Harness h;
  uint64_t size = fail_a_sync(h);
  std::string bytes = read_all(h.partition(kFirst));
  h.crash();
  h.io.fs.log_writes.clear();
  h.start();
  EXPECT_EQ(h.load_error, "");
  EXPECT_EQ(h.log->next_offset(), 22);
  EXPECT_EQ(h.io.fs.log_writes, std::vector<uint64_t>{10 * size}) << "that, and not what was durable";
  EXPECT_EQ(read_all(h.partition(kFirst)), bytes);
  ASSERT_TRUE(h.log_dir->settle());
  h.log_dir->all_loaded();
  h.crash();
  h.io.fs.log_writes.clear();
  h.start();
  EXPECT_TRUE(h.io.fs.log_writes.empty()) << "recovery's sync went well";
}

TEST(FailedSync, OfRecoveryIsRememberedToo) {
  Harness h;
  fill(h, 3);
  uint64_t durable = read_all(h.partition(kFirst)).size();
  h.io.auto_complete = false;
  h.append({.records = 2, .value_bytes = 50});
  h.turn();
  h.io.auto_complete = true;
  h.crash();
  h.io.fs.sync_error = EIO;
  h.start();
  EXPECT_EQ(h.load_error, "");
  EXPECT_FALSE(h.log_dir->settle());
  h.crash();
  h.io.fs.sync_error = 0;
  h.io.fs.log_writes.clear();
  h.start();
  EXPECT_EQ(h.load_error, "");
  EXPECT_EQ(h.io.fs.log_writes, std::vector<uint64_t>{durable});
}

TEST(FailedSync, OfAFormattingLeavesNothingThatLooksFormatted) {
  pelton::test::TempDir temp;
  test::TestIo io;
  io.fs.sync_error = EIO;
  EXPECT_FALSE(LogDir::open(io, {temp / "data", 1, ""}));
  EXPECT_FALSE(fs::exists(temp / "data/meta.properties"));
}

TEST(FailedSync, InFlightAtACleanStopMakesTheNextStartRecover) {
  Harness h;
  h.io.auto_complete = false;
  h.append({.records = 2, .value_bytes = 50});
  h.turn();
  ASSERT_TRUE(h.log->close().has_value());
  h.save_checkpoints();
  h.io.end(-EIO);
  h.turn();
  ASSERT_TRUE(h.log_dir->mark_clean_shutdown().has_value());
  h.crash();
  h.io.auto_complete = true;
  h.start();
  EXPECT_FALSE(h.log_dir->clean_start());
  EXPECT_EQ(h.log->next_offset(), 2);
}

TEST(DurableMarks, EachStartHasFilesOfItsOwn) {
  Harness h;
  fill(h, 2);
  auto files = [&] {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(h.dir / "data")) {
      std::string name = entry.path().filename();
      if (name.starts_with(kDurableMarks)) names.push_back(name);
    }
    std::sort(names.begin(), names.end());
    return names;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(files(), (Names{".durable-offsets-0"}));
  h.restart();
  EXPECT_EQ(files(), (Names{".durable-offsets-0", ".durable-offsets-1"})) << "until every log is loaded";
  h.log_dir->all_loaded();
  EXPECT_EQ(files(), (Names{".durable-offsets-1"}));
  EXPECT_EQ(DurableMarks::read(h.io.fs, h.dir / "data/.durable-offsets-1")[0].offset, 4);
  // After a crash what the files say may be in the page cache only: the old mark stays until a sync.
  h.append({});
  h.settle();
  h.append({});
  h.turn();
  h.crash();
  h.start();
  h.log_dir->all_loaded();
  EXPECT_LE(DurableMarks::read(h.io.fs, h.dir / "data/.durable-offsets-2")[0].offset, 6);
  h.append({});
  h.settle();
  EXPECT_EQ(DurableMarks::read(h.io.fs, h.dir / "data/.durable-offsets-2")[0].offset, h.log->next_offset());
}

class DurableMarksTest : public testing::Test {
 protected:
  std::string path() const { return dir_ / "marks"; }
  static Uuid id(uint8_t number) { return Uuid{{number, 1}}; }
  std::map<std::pair<uint8_t, int32_t>, int64_t> content() {
    std::map<std::pair<uint8_t, int32_t>, int64_t> all;
    for (const DurableMark& mark : DurableMarks::read(files_, path()))
      all[{mark.topic_id.bytes[0], mark.partition}] = mark.offset;
    return all;
  }
  pelton::test::TempDir dir_;
  test::FaultyFiles files_;
  std::unique_ptr<DurableMarks> marks_ = std::move(*DurableMarks::create(files_, path()));
};

TEST_F(DurableMarksTest, SlotsAreWrittenByBlocks) {
  std::vector<DurableMarks::Slot> slots;
  for (int i = 0; i < 1000; ++i) slots.push_back(marks_->add({id(1), i, i}));
  EXPECT_EQ(content().size(), 1000u);
  for (int i : {0, 1, 127, 128, 999}) marks_->set(slots[static_cast<size_t>(i)], 5000 + i);
  EXPECT_EQ((content()[{1, 127}]), 127) << "with the flush";
  files_.calls = 0;
  marks_->flush();
  EXPECT_EQ(files_.calls, 2) << "two blocks together, and the last";
  EXPECT_EQ((content()[{1, 0}]), 5000);
  EXPECT_EQ((content()[{1, 128}]), 5128);
  EXPECT_EQ((content()[{1, 999}]), 5999);
  EXPECT_EQ((content()[{1, 2}]), 2);
  files_.calls = 0;
  marks_->flush();
  EXPECT_EQ(files_.calls, 0);
}

TEST_F(DurableMarksTest, ASlotIsUsedAgain) {
  auto first = marks_->add({id(1), 0, 7});
  marks_->add({id(2), 0, 8});
  marks_->release(first);
  EXPECT_EQ((content()[{1, 0}]), 7) << "its log may come back with the next start";
  EXPECT_EQ(marks_->add({id(3), 4, 9}), first);
  EXPECT_EQ(content().size(), 2u);
  EXPECT_EQ((content()[{3, 4}]), 9);
}

TEST_F(DurableMarksTest, DamagedSlotsSayNothing) {
  marks_->add({id(1), 0, 7});
  marks_->add({id(2), 0, 8});
  std::string good = read_all(path());
  for (size_t at = 0; at < 32; ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x10);
    write_all(path(), bad);
    EXPECT_EQ(content().size(), 1u) << at;
  }
  write_all(path(), good.substr(0, 50) + std::string(100, '\0'));
  EXPECT_EQ(content().size(), 1u);
}

TEST_F(DurableMarksTest, WhatHasNoRoomGoesLater) {
  auto slot = marks_->add({id(1), 0, 7});
  files_.room = 0;
  marks_->set(slot, 9);
  marks_->flush();
  files_.room.reset();
  marks_->flush();
  EXPECT_EQ((content()[{1, 0}]), 9);
}

}  // namespace
}  // namespace pelton::storage
