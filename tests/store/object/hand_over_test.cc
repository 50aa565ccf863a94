#include "store/object/hand_over.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

namespace unshard {
namespace {

TEST(HandOverTest, IsInOrder) {
  HandOver<int> items;
  EXPECT_TRUE(items.empty());
  for (int item : {1, 2, 3}) EXPECT_TRUE(items.Put(item));
  EXPECT_FALSE(items.empty());
  EXPECT_EQ(items.Take(), (std::vector<int>{1, 2, 3}));
  EXPECT_TRUE(items.empty());
  EXPECT_TRUE(items.Take().empty());
}

TEST(HandOverTest, AfterItsEndItemsStayWithTheirOwner) {
  HandOver<std::unique_ptr<int>> items;
  auto early = std::make_unique<int>(1);
  EXPECT_TRUE(items.Put(early));
  EXPECT_FALSE(early);
  EXPECT_EQ(items.Close().size(), 1u);
  auto late = std::make_unique<int>(2);
  EXPECT_FALSE(items.Put(late));
  ASSERT_TRUE(late);
  EXPECT_EQ(*late, 2);
  EXPECT_TRUE(items.Close().empty());
}

TEST(HandOverTest, WhatIsLeftIsFreed) {
  const auto item = std::make_shared<int>(1);
  {
    HandOver<std::shared_ptr<int>> items;
    for (int i = 0; i < 3; ++i) {
      auto copy = item;
      items.Put(copy);
    }
    EXPECT_EQ(item.use_count(), 4);
  }
  EXPECT_EQ(item.use_count(), 1);
}

// Each arrives once, or is refused; those of one thread in its order.
TEST(HandOverTest, ManyThreadsHandOverToOne) {
  constexpr std::size_t kThreads = 4;
  constexpr std::size_t kEach = 5000;
  struct Item {
    std::size_t thread = 0;
    std::size_t number = 0;
  };
  HandOver<Item> items;
  std::vector<std::size_t> put(kThreads);
  std::vector<std::jthread> threads;
  for (std::size_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (Item item{thread, 0}; item.number < kEach && items.Put(item); ++item.number) {
        ++put[thread];
      }
    });
  }
  std::vector<std::size_t> taken(kThreads);
  std::size_t count = 0;
  const auto take = [&](const std::vector<Item>& some) {
    for (const Item& item : some) {
      EXPECT_EQ(item.number, taken[item.thread]++);
      ++count;
    }
  };
  while (count < kThreads * kEach / 2) take(items.Take());
  take(items.Close());
  threads.clear();
  EXPECT_EQ(taken, put);
  EXPECT_TRUE(items.Close().empty());
}

}  // namespace
}  // namespace unshard
