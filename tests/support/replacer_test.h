// A fixture for the replacers of real services: each test replaces one object, in a directory of
// its own, through a proxy that loses, cuts or repeats requests and answers.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "store/object/object_replacement.h"
#include "store/object/object_store.h"
#include "tests/support/http_servers.h"

namespace unshard {

// The same bytes for the same seed.
inline std::string RandomText(std::size_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::string text(size, ' ');
  for (char& c : text) c = static_cast<char>(random());
  return text;
}

class ReplacerTest : public testing::Test {
 protected:
  using Outcome = Committed::Outcome;
  using Requests = std::vector<std::string>;

  static constexpr const char* kKey = "a/0.shard";

  struct Store {
    std::shared_ptr<ObjectStore> objects;
    std::shared_ptr<ObjectReplacer> replacer;
  };

  // One for all tests of a service. Called only where the service is installed.
  [[nodiscard]] virtual FaultProxy& Proxy() const = 0;
  // A store that does not go through the proxy.
  [[nodiscard]] virtual std::shared_ptr<ObjectStore> OpenBesides() const = 0;

  // Takes the store that the service has opened, and lets the replacer probe which conditions the
  // service honours, so that no request of the probe is among those of the test.
  template <class Opened>
  void Use(Result<Opened> opened) {
    ASSERT_TRUE(opened) << opened.error().message;
    store_ = {std::move(opened->objects), std::move(opened->replacer)};
    const Status can = store_.replacer->CanReplace(kKey);
    ASSERT_TRUE(can) << can.error().message;
    Proxy().TakeRequests();
  }
  std::unique_ptr<ObjectReplacement> Begin() {
    auto begun = store_.replacer->Begin({kKey, std::nullopt}, {});
    EXPECT_TRUE(begun) << begun.error().message;
    return std::move(begun).value();
  }
  Result<Committed> Commit(std::string_view text) {
    const auto replacement = Begin();
    UNSHARD_RETURN_IF_ERROR(replacement->Write(0, AsBytes(text)));
    return replacement->Commit([]() -> Status { return {}; });
  }
  void ExpectCommit(std::string_view text, Outcome outcome = Outcome::kCommitted) {
    const auto committed = Commit(text);
    ASSERT_TRUE(committed) << committed.error().message;
    EXPECT_EQ(committed->outcome, outcome) << committed->reason.message;
    if (outcome != Outcome::kCommitted) return;
    EXPECT_TRUE(Text() == text);
    const auto info = store_.objects->Stat(kKey, Deadline::None());
    ASSERT_TRUE(info && *info);
    EXPECT_EQ(committed->object->generation, (*info)->generation);
    EXPECT_NE(committed->object->modified.tv_sec, 0) << "its chunks have its time";
  }
  // The methods of the requests since the last call, without those that the test sends.
  Requests Methods() {
    Requests methods;
    for (const std::string& line : Proxy().TakeRequests()) {
      methods.push_back(line.substr(0, line.find(' ')));
    }
    return methods;
  }
  // The object as it is now.
  [[nodiscard]] std::string Text() const {
    const auto whole = ReadWhole(*OpenBesides(), kKey, std::uint64_t{1} << 30, Deadline::None());
    EXPECT_TRUE(whole) << whole.error().message;
    return whole && *whole ? (*whole)->text : "missing";
  }

  static inline int started_ = 0;
  // Of this run of the test alone.
  const std::string directory_ = testing::UnitTest::GetInstance()->current_test_info()->name() +
                                 ('-' + std::to_string(started_++));
  Store store_;
};

}  // namespace unshard
