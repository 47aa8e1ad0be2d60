#include <gtest/gtest.h>

#include "storage/checkpoint.h"
#include "storage/log_dir_names.h"
#include "storage/meta_properties.h"
#include "storage/offset_index.h"
#include "storage/time_index.h"
#include "storage/transaction_index.h"
#include "tests/unit/storage/harness.h"

namespace pelton::storage {
namespace {

using test::read_all;
using test::write_all;

TEST(Checkpoint, OffsetsAreKafkasText) {
  std::vector<OffsetCheckpointEntry> entries = {{"a", 0, 5}, {"b.c-d", 12, 9223372036854775807}};
  std::string text = format_offset_checkpoint(entries);
  EXPECT_EQ(text, "0\n2\na 0 5\nb.c-d 12 9223372036854775807\n");
  EXPECT_EQ(parse_offset_checkpoint(text), entries);
  EXPECT_EQ(parse_offset_checkpoint("0\n0\n"), std::vector<OffsetCheckpointEntry>{});
}

TEST(Checkpoint, DamagedTextIsRefused) {
  for (const char* text : {"", "0", "0\n", "1\n0\n", "0\n2\na 0 5\n", "0\n1\na 0 5\nb 0 1\n", "0\n1\na 0\n",
                           "0\n1\na x 5\n", "0\n1\na 0 5x\n", "0\n1\na -1 5\n", "0\n-1\n",
                           "0\n99999999999999\n", "0\n1\na 0 99999999999999999999\n", "0\n1\n 0 5\n"}) {
    EXPECT_EQ(parse_offset_checkpoint(text), std::nullopt) << text;
  }
}

TEST(Checkpoint, LeaderEpochs) {
  std::vector<LeaderEpochEntry> entries = {{0, 0}, {3, 17}};
  EXPECT_EQ(format_leader_epochs(entries), "0\n2\n0 0\n3 17\n");
  EXPECT_EQ(parse_leader_epochs("0\n2\n0 0\n3 17\n"), entries);
  EXPECT_EQ(parse_leader_epochs("0\n2\n0 0\n"), std::nullopt);
  EXPECT_EQ(parse_leader_epochs("0\n1\n-1 0\n"), std::nullopt);
}

TEST(Checkpoint, PartitionMetadata) {
  Uuid id{{1, 2, 3}};
  std::string text = format_partition_metadata(id);
  EXPECT_EQ(text, "version: 0\ntopic_id: " + id.to_string());
  EXPECT_EQ(parse_partition_metadata(text), id);
  EXPECT_EQ(parse_partition_metadata(text + "\n"), id);
  EXPECT_EQ(parse_partition_metadata("version: 1\ntopic_id: " + id.to_string()), std::nullopt);
  EXPECT_EQ(parse_partition_metadata("version: 0\ntopic_id: x"), std::nullopt);
  EXPECT_EQ(format_clean_shutdown(7), "{\"version\":0,\"brokerEpoch\":7}");
}

TEST(MetaProperties, RoundTripAndKafkasOwnText) {
  MetaProperties properties{3, "abc", Uuid{{9, 9}}};
  EXPECT_EQ(*parse_meta_properties(format_meta_properties(properties)), properties);
  auto kafka = parse_meta_properties(
      "#\n#Mon Nov 30 09:00:00 UTC 2026\ncluster.id=4L6g3nShT-eMCtK--X86sw\n"
      "directory.id=AAAAAAAAAAAAAAAAAAAAAQ\nnode.id=1\nversion=1\n");
  ASSERT_TRUE(kafka.has_value());
  EXPECT_EQ(kafka->cluster_id, "4L6g3nShT-eMCtK--X86sw");
  EXPECT_EQ(kafka->node_id, 1);
  EXPECT_EQ(kafka->directory_id.to_string(), "AAAAAAAAAAAAAAAAAAAAAQ");
}

TEST(MetaProperties, SaysWhatIsWrong) {
  EXPECT_EQ(parse_meta_properties("version=0\n").error(), "its version is 0, only version 1 is known");
  EXPECT_EQ(parse_meta_properties("node.id=1\n").error(), "it has no version");
  EXPECT_EQ(parse_meta_properties("version=1\nnode.id=x\n").error(), "node.id is missing or no number");
  EXPECT_EQ(parse_meta_properties("version=1\nnode.id=1\n").error(), "cluster.id is missing");
}

TEST(Names, PartitionDirectories) {
  EXPECT_EQ(parse_partition_directory("a-b-7"), (TopicPartition{"a-b", 7}));
  EXPECT_EQ(parse_partition_directory("__cluster_metadata-0"), (TopicPartition{"__cluster_metadata", 0}));
  for (const char* name : {"a", "a-", "-1", "a-x", "a-07", "a--1x", "lost+found",
                           "t-0.0123456789abcdef0123456789abcdef-delete"}) {
    EXPECT_EQ(parse_partition_directory(name), std::nullopt) << name;
  }
  TopicPartition longest{std::string(249, 't'), 12};
  std::string deleted = deleted_directory_name(longest, Uuid{{0xab}});
  EXPECT_EQ(deleted.size(), 255u);
  EXPECT_TRUE(is_deleted_directory(deleted));
  EXPECT_TRUE(deleted.ends_with("-12.ab000000000000000000000000000000-delete"));
  EXPECT_FALSE(is_deleted_directory("topic-delete"));
  EXPECT_FALSE(is_deleted_directory("t-0.0123456789ABCDEF0123456789abcdef-delete"));
}

class IndexTest : public testing::Test {
 protected:
  pelton::test::TempDir dir_;
  PosixFiles files_;
  IndexBlockCache cache_;
  std::string path_ = dir_ / "x.index";
};

TEST_F(IndexTest, OffsetEntryBytes) {
  OffsetIndex index(files_, cache_, 1000);
  index.file().start_empty();
  index.append(1009, 0x01020304);
  ASSERT_TRUE(index.file().flush(path_));
  EXPECT_EQ(read_all(path_), std::string("\x00\x00\x00\x09\x01\x02\x03\x04", 8));
}

TEST_F(IndexTest, TimeEntryBytesAndOnlyWhenLater) {
  TimeIndex index(files_, cache_, 1000);
  index.file().start_empty();
  TimeIndexEntry none{-1, 1000};
  TimeIndexEntry first{0x0102030405060708, 1002};
  EXPECT_TRUE(index.maybe_append(none, first));
  EXPECT_FALSE(index.maybe_append(first, {first.timestamp, 1005}));
  ASSERT_TRUE(index.file().flush(path_));
  EXPECT_EQ(read_all(path_), std::string("\x01\x02\x03\x04\x05\x06\x07\x08\x00\x00\x00\x02", 12));
}

// Lookups in memory, in the file, and across both, against a linear search.
TEST_F(IndexTest, LookupEverywhere) {
  OffsetIndex index(files_, cache_, 100);
  index.file().start_empty();
  constexpr int kEntries = 5000;
  for (int i = 0; i < kEntries; ++i) {
    index.append(100 + 3 * i + 2, static_cast<uint64_t>(i) * 64);
    if (index.file().wants_flush()) {
      ASSERT_TRUE(index.file().flush(path_));
    }
  }
  EXPECT_LT(std::filesystem::file_size(path_), uint64_t{kEntries} * 8) << "some entries are in memory";
  EXPECT_EQ(std::filesystem::file_size(path_) % 8, 0u);
  for (int64_t offset = 95; offset < 100 + 3 * kEntries + 10; ++offset) {
    auto found = index.lookup(path_, offset);
    ASSERT_TRUE(found.has_value());
    int64_t number = (offset - 102 >= 0 ? (offset - 102) / 3 : -1);
    number = std::min<int64_t>(number, kEntries - 1);
    int64_t expected = number < 0 ? 0 : number * 64;
    ASSERT_EQ(found->position, static_cast<uint64_t>(expected)) << offset;
  }
  // The same from the file alone, in random order, through a fresh index.
  ASSERT_TRUE(index.file().flush(path_));
  OffsetIndex again(files_, cache_, 100);
  uint64_t state = 1;
  for (int i = 0; i < 3000; ++i) {
    state = state * 6364136223846793005u + 1;
    int64_t number = static_cast<int64_t>((state >> 33) % kEntries);
    ASSERT_EQ(again.lookup(path_, 102 + 3 * number)->position, static_cast<uint64_t>(number) * 64);
  }
  EXPECT_EQ(again.file().entries(), static_cast<uint32_t>(kEntries));
  EXPECT_EQ(again.last(path_)->position, uint64_t{kEntries - 1} * 64);
}

TEST_F(IndexTest, ACachedBlockGrowsWithItsFile) {
  OffsetIndex index(files_, cache_, 0);
  index.file().start_empty();
  index.append(1, 10);
  ASSERT_TRUE(index.file().flush(path_));
  EXPECT_EQ(index.lookup(path_, 5)->position, 10u);
  index.append(4, 40);
  ASSERT_TRUE(index.file().flush(path_));
  EXPECT_EQ(index.lookup(path_, 5)->position, 40u);
  ASSERT_TRUE(index.file().reset(path_));
  EXPECT_EQ(index.lookup(path_, 5)->position, 0u);
  EXPECT_EQ(std::filesystem::file_size(path_), 0u);
}

TEST_F(IndexTest, TransactionEntries) {
  AbortedTransaction one{0x11, 0x22, 0x33, 0x44};
  TransactionIndex index(files_, cache_);
  index.file().start_empty();
  ASSERT_TRUE(index.file().flush(path_));
  EXPECT_FALSE(std::filesystem::exists(path_)) << "only once a transaction aborted";
  index.append(one);
  ASSERT_TRUE(index.file().flush(path_));
  EXPECT_EQ(read_all(path_), std::string("\0\0"
                                         "\0\0\0\0\0\0\0\x11\0\0\0\0\0\0\0\x22"
                                         "\0\0\0\0\0\0\0\x33\0\0\0\0\0\0\0\x44",
                                         34));
  AbortedTransaction two{1, 0x25, 0x40, 0x50};
  index.append(two);
  ASSERT_TRUE(index.file().flush(path_));
  std::vector<AbortedTransaction> both{one, two};
  EXPECT_EQ(*read_transaction_index(files_, path_), both);
  EXPECT_TRUE(read_transaction_index(files_, dir_ / "none")->empty());
  ASSERT_TRUE(write_transaction_index(files_, dir_ / "again", both));
  EXPECT_EQ(read_all(dir_ / "again"), read_all(path_));
  ASSERT_TRUE(write_transaction_index(files_, dir_ / "again", {}));
  EXPECT_FALSE(std::filesystem::exists(dir_ / "again"));
}

// What each reader has to know, by the definition, against what the index tells.
TEST_F(IndexTest, AbortedTransactionsOfARange) {
  constexpr int kEntries = 500;  // several blocks of the file, and a tail
  std::vector<AbortedTransaction> all;
  TransactionIndex index(files_, cache_);
  index.file().start_empty();
  for (int i = 0; i < kEntries; ++i) {
    // Each second transaction is long and still open when the ten after it have ended.
    int64_t marker = 100 + 10 * i;
    all.push_back({i, i % 2 == 0 ? marker - 5 : marker - 95, marker, i % 2 == 0 ? marker - 40 : marker + 1});
    for (size_t at = all.size() - 1; at > 0; --at) {
      // Last stable offsets never go back.
      int64_t& before = all[at - 1].last_stable_offset;
      before = std::min(before, all[at].last_stable_offset);
    }
  }
  for (int i = 0; i < kEntries; ++i) {
    index.append(all[static_cast<size_t>(i)]);
    if (i >= 460 || i % 7 != 0) continue;
    ASSERT_TRUE(index.file().flush(path_));
  }
  for (int64_t from = 0; from < 100 + 10 * kEntries; from += 37) {
    for (int64_t upper : {from + 1, from + 10, from + 95, from + 1000}) {
      std::vector<AbortedTransaction> expected, got;
      bool complete = false;
      for (const AbortedTransaction& each : all) {
        if (each.last_offset >= from && each.first_offset < upper && !complete) expected.push_back(each);
        complete |= each.last_offset >= from && each.last_stable_offset >= upper;
      }
      Result<bool> told = index.collect(path_, from, upper, got);
      ASSERT_TRUE(told.has_value());
      EXPECT_EQ(got, expected) << from << " to " << upper;
      EXPECT_EQ(*told, complete);
    }
  }
  std::vector<AbortedTransaction> got;
  TransactionIndex none(files_, cache_);
  EXPECT_FALSE(*none.collect(dir_ / "none", 0, 1000, got));
  EXPECT_TRUE(got.empty());
}

TEST_F(IndexTest, ADamagedTransactionEntryIsNotBelieved) {
  std::string bytes(34, '\0');
  bytes[1] = 1;
  write_all(path_, bytes);
  TransactionIndex index(files_, cache_);
  std::vector<AbortedTransaction> got;
  EXPECT_EQ(index.collect(path_, 0, 10, got).error().code, EBADMSG);
  EXPECT_EQ(read_transaction_index(files_, path_).error().code, EBADMSG);
}

}  // namespace
}  // namespace pelton::storage
