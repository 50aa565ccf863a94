// What the probe finds out of services with manners of every kind, and through faults.
#include "store/remote/conduct.h"

#include <gtest/gtest.h>

#include <new>
#include <thread>

#include "tests/support/fake_object_writer.h"

namespace unshard {
namespace {

using Kind = WriteAnswer::Kind;

WriteTries Tries() {
  WriteTries tries;
  tries.wait = [](std::chrono::milliseconds) { return true; };
  return tries;
}

std::vector<std::string> ObjectsLeft(FakeObjectWriter& writer,
                                     const std::vector<std::string>& requests) {
  std::vector<std::string> left;
  for (const std::string& each : requests) {
    if (!each.starts_with("PUT ")) continue;
    const std::string key = each.substr(4);
    if (writer.Now(key)) left.push_back(key);
  }
  return left;
}

Conduct Found(const FakeManners& manners) {
  FakeObjectWriter writer(manners);
  const auto conduct = ProbeConduct(writer, Tries());
  EXPECT_TRUE(conduct) << conduct.error().message;
  const auto requests = writer.TakeRequests();
  EXPECT_LE(requests.size(), 20u);
  EXPECT_EQ(ObjectsLeft(writer, requests), std::vector<std::string>{});
  return conduct.value_or(Conduct{"the probe has failed"});
}

TEST(ConductTest, AServiceThatKeepsToConditionsIsKnownAsThat) {
  const Conduct conduct = Found({});
  EXPECT_EQ(conduct.missing, "");
  EXPECT_FALSE(conduct.unquoted);
  EXPECT_TRUE(conduct.removes_conditionally);
}

TEST(ConductTest, WhatAServiceIgnoresIsNamed) {
  FakeManners manners;
  manners.keeps_missing = false;
  EXPECT_NE(Found(manners).missing.find("If-None-Match"), std::string::npos);
  manners = {};
  manners.keeps_version = false;
  EXPECT_NE(Found(manners).missing.find("If-Match"), std::string::npos);
  manners = {};
  manners.keeps_metadata = false;
  EXPECT_NE(Found(manners).missing.find("metadata"), std::string::npos);
  manners = {};
  manners.keeps_removal = false;
  EXPECT_EQ(Found(manners).missing, "");
  EXPECT_FALSE(Found(manners).removes_conditionally);
}

TEST(ConductTest, AServiceThatTakesValidatorsWithoutQuotesGetsThemSo) {
  FakeManners manners;
  manners.unquoted_only = true;
  const Conduct conduct = Found(manners);
  EXPECT_EQ(conduct.missing, "");
  EXPECT_TRUE(conduct.unquoted);
  RemoteObject base;
  base.validator = "\"tag\"";
  EXPECT_EQ(ConditionFor(base, conduct).validator, "tag");
  EXPECT_EQ(ConditionFor(base, {}).validator, "\"tag\"");
  EXPECT_EQ(ConditionFor(std::nullopt, conduct).kind, WriteCondition::Kind::kMissing);
}

// Each request of the probe meets each fault once: whatever is broken, an honest service is never
// found to ignore a condition, and a service that ignores one never to keep to it.
TEST(ConductTest, FaultsThatPassProveNothing) {
  for (const bool honest : {true, false}) {
    for (const Kind kind : {Kind::kFailed, Kind::kLost, Kind::kNotSent}) {
      for (const bool applied : {false, true}) {
        if (applied && kind == Kind::kNotSent) continue;
        for (int before = 0; before < 8; ++before) {
          SCOPED_TRACE("the fault meets write " + std::to_string(before));
          FakeManners manners;
          manners.keeps_version = honest;
          FakeObjectWriter writer(manners);
          // Writes before it are answered as they are done.
          int writes = 0;
          WriteTries tries = Tries();
          class Delaying final : public ObjectWriter {
           public:
            Delaying(FakeObjectWriter& to, int before, FakeFault fault, int& writes)
                : to_(to), before_(before), fault_(std::move(fault)), writes_(writes) {}
            WriterTraits traits() const override { return to_.traits(); }
            std::string Bucket() const override { return to_.Bucket(); }
            std::string Describe(const std::string& key) const override {
              return to_.Describe(key);
            }
            Result<std::optional<RemoteObject>> Look(const std::string& key,
                                                     const Deadline& deadline) override {
              return to_.Look(key, deadline);
            }
            std::shared_ptr<ObjectVersion> Open(const std::string& key,
                                                const RemoteObject& object) override {
              return to_.Open(key, object);
            }
            WriteAnswer Put(const NewObject& object,
                            std::shared_ptr<const HttpBody> bytes) override {
              if (writes_++ == before_) to_.Next(fault_);
              return to_.Put(object, std::move(bytes));
            }
            WriteAnswer Delete(const std::string& key, const WriteCondition& condition) override {
              if (writes_++ == before_) to_.Next(fault_);
              return to_.Delete(key, condition);
            }
            Result<std::unique_ptr<PartedUpload>> BeginParts(const NewObject& object,
                                                             std::uint64_t size,
                                                             std::uint64_t part_bytes) override {
              return to_.BeginParts(object, size, part_bytes);
            }

           private:
            FakeObjectWriter& to_;
            const int before_;
            const FakeFault fault_;
            int& writes_;
          };
          Delaying delaying(writer, before, {applied, kind}, writes);
          const auto conduct = ProbeConduct(delaying, tries);
          ASSERT_TRUE(conduct) << conduct.error().message;
          EXPECT_EQ(conduct->missing.empty(), honest) << conduct->missing;
        }
      }
    }
  }
}

TEST(ConductTest, AnOutageIsNoVerdict) {
  FakeObjectWriter writer;
  for (int i = 0; i < 100; ++i) writer.Next({false, Kind::kFailed});
  const auto conduct = ProbeConduct(writer, Tries());
  ASSERT_FALSE(conduct);
  EXPECT_EQ(conduct.error().code, ErrorCode::kUnavailable);
}

TEST(ConductTest, AServiceThatRefusesConditionsIsNotWrittenTo) {
  FakeManners manners;
  manners.knows_conditions = false;
  FakeObjectWriter writer(manners);
  const auto conduct = ProbeConduct(writer, Tries());
  ASSERT_FALSE(conduct);
  EXPECT_EQ(conduct.error().code, ErrorCode::kNotSupported);
}

PartsConduct FoundParts(const FakeManners& manners) {
  FakeObjectWriter writer(manners);
  const auto conduct = ProbePartsConduct(writer, {}, Tries());
  EXPECT_TRUE(conduct) << conduct.error().message;
  EXPECT_EQ(ObjectsLeft(writer, writer.TakeRequests()), std::vector<std::string>{});
  return conduct.value_or(PartsConduct());
}

TEST(ConductTest, UploadsInPartsAreProbedOnTheirOwn) {
  EXPECT_TRUE(FoundParts({}).completes_conditionally);
  EXPECT_TRUE(FoundParts({}).copies_conditionally);
  FakeManners manners;
  manners.keeps_copies = false;
  EXPECT_TRUE(FoundParts(manners).completes_conditionally);
  EXPECT_FALSE(FoundParts(manners).copies_conditionally);
  manners = {};
  manners.keeps_parts = false;
  EXPECT_FALSE(FoundParts(manners).completes_conditionally);
  EXPECT_FALSE(FoundParts(manners).copies_conditionally);
}

TEST(KnownConductTest, ABucketIsProbedOnceByAllItsThreads) {
  FakeObjectWriter writer;
  const auto known = KnownConduct::Of(writer);
  EXPECT_EQ(known, KnownConduct::Of(writer));
  EXPECT_NE(known, KnownConduct::Of(FakeObjectWriter()));
  EXPECT_FALSE(known->Known());
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] { EXPECT_TRUE(known->Get(writer, Tries())); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(known->Known());
  const auto requests = writer.TakeRequests();
  EXPECT_TRUE(known->Get(writer, Tries()));
  EXPECT_TRUE(writer.TakeRequests().empty());
  std::vector<std::string> keys;
  for (const std::string& each : requests) {
    if (each.starts_with("PUT ")) keys.push_back(each);
  }
  std::sort(keys.begin(), keys.end());
  EXPECT_EQ(std::unique(keys.begin(), keys.end()) - keys.begin(), 1) << "one object, one probe";
}

TEST(KnownConductTest, AProbeThatThrowsHasEnded) {
  FakeObjectWriter writer;
  writer.Next({false, Kind::kApplied, [] { throw std::bad_alloc(); }});
  const auto known = KnownConduct::Of(writer);
  const auto failed = known->Get(writer, Tries());
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::kResourceExhausted);
  const auto next = known->Get(writer, Tries());
  ASSERT_FALSE(next);
  EXPECT_EQ(next.error().code, ErrorCode::kResourceExhausted) << next.error().message;
}

TEST(KnownConductTest, WhoWaitsForAProbeThatFailsFailsAsItDoes) {
  FakeObjectWriter writer;
  for (int i = 0; i < 100; ++i) writer.Next({false, Kind::kRefused});
  const auto known = KnownConduct::Of(writer);
  EXPECT_FALSE(known->Get(writer, Tries()));
  (void)writer.TakeRequests();
  EXPECT_FALSE(known->Get(writer, Tries()));
  EXPECT_TRUE(writer.TakeRequests().empty()) << "asked again at once";
}

}  // namespace
}  // namespace unshard
