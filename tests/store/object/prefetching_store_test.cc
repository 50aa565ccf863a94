#include "store/object/prefetching_store.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "tests/support/counting_store.h"
#include "tests/support/faulty_store.h"
#include "tests/support/memory_store.h"

namespace unshard {
namespace {

using State = ReadResult::State;

class PrefetchingStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    for (int i = 0; i < 1000; ++i) text_ += static_cast<char>('a' + i % 23);
    memory_->Put("object", text_);
    Open();
  }
  void Open() {
    auto opened = store_.Open("object", RangeRequest::At(0, 0), Deadline::None());
    ASSERT_TRUE(opened);
    version_ = opened->version;
    counting_->Reset();
  }
  std::string Text(std::uint64_t begin, std::uint64_t size) {
    const auto read = version_->Read(RangeRequest::At(begin, size), Deadline::None());
    if (!read) return read.error().message;
    return read->state == State::kFound ? std::string(AsText(read->value.span())) : "changed";
  }
  std::uint64_t Requests() const { return counting_->total().reads; }

  std::string text_;
  const std::shared_ptr<MemoryStore> memory_ =
      std::make_shared<MemoryStore>(Capabilities{.keeps_replaced_versions = false});
  const std::shared_ptr<FaultyStore> faulty_ = std::make_shared<FaultyStore>(memory_);
  const std::shared_ptr<CountingStore> counting_ = std::make_shared<CountingStore>(faulty_);
  const std::shared_ptr<ByteBudgetCache> cache_ = std::make_shared<ByteBudgetCache>(1 << 20);
  PrefetchingStore store_{counting_, cache_};
  std::shared_ptr<ObjectVersion> version_;
};

TEST_F(PrefetchingStoreTest, WithoutPrefetchEachReadIsARequest) {
  EXPECT_EQ(Text(0, 10), text_.substr(0, 10));
  EXPECT_EQ(Text(0, 10), text_.substr(0, 10));
  EXPECT_EQ(Text(995, 10), text_.substr(995));
  EXPECT_EQ(Requests(), 3u);
  EXPECT_EQ(version_->info().size, 1000u);
}

TEST_F(PrefetchingStoreTest, OneRequestServesAllReadsWithinIt) {
  version_->Prefetch({100, 300});
  EXPECT_EQ(Text(100, 50), text_.substr(100, 50));
  EXPECT_EQ(Text(390, 10), text_.substr(390, 10));
  EXPECT_EQ(Requests(), 1u);
  EXPECT_EQ(Text(99, 2), text_.substr(99, 2)) << "partly outside";
  EXPECT_EQ(Text(399, 2), text_.substr(399, 2));
  EXPECT_EQ(Requests(), 3u);
}

TEST_F(PrefetchingStoreTest, RangesThatFollowOneAnotherAreJoined) {
  version_->Prefetch({200, 100});
  version_->Prefetch({100, 100});
  EXPECT_EQ(Text(150, 120), text_.substr(150, 120));
  EXPECT_EQ(Requests(), 2u);
}

TEST_F(PrefetchingStoreTest, ARangeIsCutOffAtTheEndOfTheObject) {
  version_->Prefetch({900, 1000});
  EXPECT_EQ(Text(950, 1000), text_.substr(950));
  version_->Prefetch({1000, 10});
  EXPECT_EQ(Requests(), 1u);
}

TEST_F(PrefetchingStoreTest, TheCacheHoldsARangeUntilItIsRead) {
  version_->Prefetch({0, 200});
  const std::uint64_t full = cache_->counters().bytes;
  EXPECT_GE(full, 200u);
  EXPECT_EQ(Text(0, 150), text_.substr(0, 150));
  EXPECT_EQ(cache_->counters().bytes, full) << "counted once, and whole";
  EXPECT_EQ(Text(150, 50), text_.substr(150, 50));
  EXPECT_EQ(cache_->counters().bytes, 0u);
  EXPECT_EQ(Text(150, 50), text_.substr(150, 50));
  EXPECT_EQ(Requests(), 2u);
}

TEST_F(PrefetchingStoreTest, WhatTheCacheHasEvictedIsReadAgain) {
  version_->Prefetch({0, 200});
  cache_->Put({NewCacheOwner(), 0, 0, 0}, {std::make_shared<int>(1), (1 << 20) - 300});
  EXPECT_EQ(Text(0, 100), text_.substr(0, 100));
  EXPECT_EQ(Requests(), 2u);
  PrefetchingStore without(counting_, std::make_shared<ByteBudgetCache>(0));
  version_ = without.Open("object", RangeRequest::At(0, 0), Deadline::None())->version;
  version_->Prefetch({0, 200});
  EXPECT_EQ(Text(0, 100), text_.substr(0, 100)) << "no room at all";
}

TEST_F(PrefetchingStoreTest, ReadsWaitForARequestUnderWay) {
  memory_->HoldReads();
  version_->Prefetch({0, 500});
  std::vector<std::string> texts(8);
  std::atomic<int> started{0};
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      threads.emplace_back([&, i] {
        ++started;
        texts[i] = Text(i * 50, 50);
      });
    }
    while (started != 8) std::this_thread::yield();
    memory_->ReleaseReads();
  }
  for (std::size_t i = 0; i < texts.size(); ++i) EXPECT_EQ(texts[i], text_.substr(i * 50, 50));
  EXPECT_EQ(Requests(), 1u);
}

TEST_F(PrefetchingStoreTest, AnInterruptedReaderDoesNotEndTheRequest) {
  memory_->HoldReads();
  version_->Prefetch({0, 500});
  std::stop_source stop;
  stop.request_stop();
  const auto interrupted =
      version_->Read(RangeRequest::At(0, 50), Deadline{Deadline::None().at, stop.get_token()});
  ASSERT_FALSE(interrupted);
  const auto late = version_->Read(RangeRequest::At(0, 50),
                                   Deadline{std::chrono::steady_clock::time_point::min(), {}});
  ASSERT_FALSE(late);
  EXPECT_EQ(memory_->held_reads(), 1u);
  memory_->ReleaseReads();
  EXPECT_EQ(Text(0, 50), text_.substr(0, 50));
  EXPECT_EQ(Requests(), 1u);
}

TEST_F(PrefetchingStoreTest, AfterAFailedRequestEachReadIsOneOfItsOwn) {
  for (const Fault fault : {Fault::kError, Fault::kShort}) {
    counting_->Reset();
    faulty_->FailAfter(0, fault);
    version_->Prefetch({0, 500});
    EXPECT_EQ(Text(0, 50), text_.substr(0, 50));
    EXPECT_EQ(Text(50, 50), text_.substr(50, 50));
    EXPECT_EQ(Requests(), 3u);
  }
}

TEST_F(PrefetchingStoreTest, ReadsThatWaitForARequestThatFailsAskThemselves) {
  memory_->HoldReads();
  faulty_->FailAfter(0, Fault::kShort);
  version_->Prefetch({0, 500});
  std::string text;
  std::atomic<bool> started{false};
  {
    const std::jthread reader([&] {
      started = true;
      text = Text(0, 50);
    });
    while (!started) std::this_thread::yield();
    memory_->ReleaseReads();
  }
  EXPECT_EQ(text, text_.substr(0, 50));
  EXPECT_EQ(Requests(), 2u);
}

// As where memory runs out in a callback of the request.
TEST_F(PrefetchingStoreTest, ARequestThatEndsWithoutACallKeepsNobodyWaiting) {
  memory_->HoldReads();
  version_->Prefetch({0, 500});
  std::string text;
  version_->StartRead(RangeRequest::At(0, 50), Deadline::None(), [&](Result<ReadResult> read) {
    text = read ? AsText(read->value.span()) : read.error().message;
  });
  ASSERT_EQ(memory_->held_reads(), 1u);
  memory_->DropReads();
  EXPECT_EQ(text, text_.substr(0, 50));
}

TEST_F(PrefetchingStoreTest, AReplacedVersionIsNeverMixed) {
  version_->Prefetch({0, 500});
  memory_->Put("object", std::string(1000, 'N'));
  EXPECT_EQ(Text(0, 50), text_.substr(0, 50)) << "of the version that was opened";
  EXPECT_EQ(Text(500, 50), "changed");
  version_->Prefetch({500, 100});
  EXPECT_EQ(Text(500, 50), "changed");
  EXPECT_EQ(Text(450, 100), "changed") << "half of it is there";
  Open();
  EXPECT_EQ(Text(0, 50), std::string(50, 'N'));
}

TEST_F(PrefetchingStoreTest, AReadSaysHowOldItsBytesAre) {
  const auto fresh = version_->Read(RangeRequest::At(0, 10), Deadline::None());
  ASSERT_TRUE(fresh);
  EXPECT_EQ(fresh->age.count(), 0);
  const auto before = std::chrono::steady_clock::now();
  version_->Prefetch({0, 100});
  const auto between = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() == between) {
  }
  const auto from = std::chrono::steady_clock::now();
  const auto read = version_->Read(RangeRequest::At(0, 10), Deadline::None());
  ASSERT_TRUE(read);
  EXPECT_GE(read->age, from - between);
  EXPECT_LE(read->age, std::chrono::steady_clock::now() - before);
}

}  // namespace
}  // namespace unshard
