#include "broker/produce/produce_order.h"

#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <vector>

namespace pelton::broker {
namespace {

struct Asked : ProduceOrder::Place {
  Asked(std::vector<int>& its_log, int its_number, uint64_t its_connection) : log(its_log), number(its_number) {
    connection = its_connection;
    start = [](ProduceOrder::Place& place) {
      auto& self = static_cast<Asked&>(place);
      self.log.push_back(self.number);
    };
  }
  std::vector<int>& log;
  int number;
};

TEST(ProduceOrder, LaterOnesWaitForEarlier) {
  ProduceOrder order;
  std::vector<int> log;
  Asked a(log, 1, 9), b(log, 2, 9), c(log, 3, 9);
  EXPECT_TRUE(order.free(9));
  order.enter(a);
  EXPECT_FALSE(order.free(9));
  EXPECT_TRUE(order.free(8)) << "other connections do not wait";
  order.enter(b);
  order.enter(c);
  order.ready(c);
  order.ready(b);
  EXPECT_TRUE(log.empty());
  order.ready(a);
  EXPECT_EQ(log, (std::vector<int>{1, 2, 3}));
  EXPECT_TRUE(order.free(9));
}

TEST(ProduceOrder, AnyOrderOfReadinessKeepsEachConnectionsOrder) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    ProduceOrder order;
    std::vector<int> log;
    std::deque<Asked> all;
    std::vector<Asked*> preparing;
    while (all.size() < 60 || !preparing.empty()) {
      if (all.size() < 60 && random() % 2 == 0) {
        all.emplace_back(log, static_cast<int>(all.size()), random() % 3);
        Asked& asked = all.back();
        if (order.free(asked.connection) && random() % 3 == 0) {
          asked.start(asked);
          continue;
        }
        order.enter(asked);
        preparing.push_back(&asked);
      } else if (!preparing.empty()) {
        size_t at = random() % preparing.size();
        Asked* asked = preparing[at];
        preparing.erase(preparing.begin() + static_cast<ptrdiff_t>(at));
        order.ready(*asked);
      }
    }
    ASSERT_EQ(log.size(), 60u);
    int last[3] = {-1, -1, -1};
    for (int number : log) {
      int& before = last[all[static_cast<size_t>(number)].connection];
      EXPECT_GT(number, before);
      before = number;
    }
    for (uint64_t connection : {0, 1, 2}) EXPECT_TRUE(order.free(connection));
  }
}

}  // namespace
}  // namespace pelton::broker
