// What is io_uring's own: buffers that stay warm, and a flag that the kernel raises late.
#include "reactor/uring_ring.h"

#include <atomic>
#include <set>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "reactor/uring_buffers.h"
#include "reactor/uring_io.h"

namespace pelton {
namespace {

class UringRingTest : public testing::Test {
 protected:
  UringRingTest() {
    auto made = ring_.set_up(8, 32, read_host_facts());
    CHECK(made.has_value());
    ring_.enable(1, 1);
  }
  void start_nop() {
    io_uring_sqe& sqe = ring_.next();
    io_uring_prep_nop(&sqe);
  }

  int ended_ = 0;
  UringRing ring_{this, [](void* self, const io_uring_cqe&) {
                    ++static_cast<UringRingTest*>(self)->ended_;
                  }};
};

TEST_F(UringRingTest, AFlagThatStaysUpDoesNotHoldATurn) {
  start_nop();
  ring_.poll(0);
  EXPECT_EQ(ended_, 1);
  // As when the kernel raises it after the work was taken: nothing will take it down.
  std::atomic_ref<unsigned> flags(*ring_.raw().sq.kflags);
  flags.fetch_or(IORING_SQ_TASKRUN);
  ring_.poll(0);
  start_nop();
  flags.fetch_or(IORING_SQ_TASKRUN);
  ring_.poll(0);
  EXPECT_EQ(ended_, 2);
}

TEST_F(UringRingTest, MoreThanTheQueueHoldsGoesOutBetween) {
  for (int i = 0; i < 100; ++i) start_nop();
  while (ended_ < 100) ring_.poll(0);
  EXPECT_EQ(ended_, 100);
}

class UringBuffersTest : public testing::Test {
 protected:
  static constexpr uint32_t kCount = 16;

  UringBuffersTest() {
    auto made = ring_.set_up(64, 256, read_host_facts());
    CHECK(made.has_value());
    CHECK(buffers_.register_with(ring_.raw(), kCount, 4096).has_value());
    ring_.enable(1, 1);
    CHECK(::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, pair_) == 0);
  }
  ~UringBuffersTest() override {
    ::close(pair_[0]);
    ::close(pair_[1]);
  }

  void on_entry(const io_uring_cqe& entry) {
    ++ended_;
    if (entry.res == -ENOBUFS) {
      ++ran_out_;
      return buffers_.ran_out();
    }
    ASSERT_EQ(entry.res, 1);
    leases_.push_back(buffers_.taken(entry.flags >> IORING_CQE_BUFFER_SHIFT, 1));
    used_.insert(leases_.back().data);
  }
  // `count` receives of a byte each, in one poll.
  void receive(int count) {
    int before = ended_;
    for (int i = 0; i < count; ++i) {
      CHECK(::send(pair_[1], "x", 1, 0) == 1);
      io_uring_sqe& sqe = ring_.next();
      io_uring_prep_recv(&sqe, pair_[0], nullptr, 4096, 0);
      sqe.flags |= IOSQE_BUFFER_SELECT;
      sqe.buf_group = UringBuffers::kGroup;
    }
    buffers_.refill();
    while (ended_ < before + count) ring_.poll(0);
  }
  void release_all() {
    for (const Lease& lease : leases_) buffers_.release(lease);
    leases_.clear();
  }

  int pair_[2];
  int ended_ = 0;
  int ran_out_ = 0;
  std::vector<Lease> leases_;
  std::set<uint8_t*> used_;
  UringBuffers buffers_;
  UringRing ring_{this, [](void* self, const io_uring_cqe& entry) {
                    static_cast<UringBuffersTest*>(self)->on_entry(entry);
                  }};
};

TEST_F(UringBuffersTest, FewAreUsedAgainAndAgain) {
  for (int i = 0; i < 500; ++i) {
    receive(1);
    release_all();
  }
  EXPECT_EQ(ran_out_, 0);
  EXPECT_LE(used_.size(), 3u);
}

TEST_F(UringBuffersTest, ManyAtOnceAreServedSoonAndFewAgainLater) {
  for (int i = 0; i < 10; ++i) {
    receive(kCount - 2);
    release_all();
    char byte;
    while (::recv(pair_[0], &byte, 1, MSG_DONTWAIT) == 1) {
    }
  }
  int before = ran_out_;
  receive(kCount - 2);
  release_all();
  EXPECT_EQ(ran_out_, before) << "it has learned";
  for (int i = 0; i < 5'000; ++i) {
    receive(1);
    release_all();
  }
  EXPECT_LE(buffers_.given(), 2u);
  used_.clear();
  for (int i = 0; i < 500; ++i) {
    receive(1);
    release_all();
  }
  EXPECT_LE(used_.size(), 3u);
}

TEST_F(UringBuffersTest, ABufferIsLentOnce) {
  receive(1);
  std::set<uint8_t*> all{leases_.front().data};
  while (auto lease = buffers_.take()) EXPECT_TRUE(all.insert(lease->data).second);
  EXPECT_TRUE(buffers_.scarce());
  EXPECT_EQ(all.size(), kCount - kCount / 4);
}

}  // namespace
}  // namespace pelton
