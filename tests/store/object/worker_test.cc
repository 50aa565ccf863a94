#include "store/object/worker.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tests/support/no_more_threads.h"

namespace unshard {
namespace {

TEST(WorkerTest, MakesAllCallsInTheirOrderOnOneOtherThread) {
  std::vector<int> order;
  std::thread::id thread;
  {
    Worker worker;
    for (int i = 0; i < 100; ++i) {
      worker.Add([&, i] {
        if (i == 0) thread = std::this_thread::get_id();
        if (std::this_thread::get_id() == thread) order.push_back(i);
        throw std::runtime_error("ignored");
      });
    }
  }
  ASSERT_EQ(order.size(), 100u);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
  EXPECT_NE(thread, std::this_thread::get_id());
}

TEST(WorkerTest, MayEndInACall) {
  std::promise<void> is_last, ended;
  auto worker = std::make_shared<Worker>();
  auto held = std::make_shared<std::shared_ptr<Worker>>(worker);
  worker->Add([&, held] {
    is_last.get_future().wait();
    held->reset();
    ended.set_value();
  });
  worker.reset();
  is_last.set_value();
  ended.get_future().wait();
}

TEST(WorkerTest, WithoutAThreadTheCallerMakesTheCall) {
  Worker worker;
  const NoMoreThreads none;
  bool called = false;
  worker.Add([&] { called = true; });
  EXPECT_TRUE(called);
}

}  // namespace
}  // namespace unshard
