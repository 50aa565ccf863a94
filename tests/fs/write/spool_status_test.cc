#include "store/volume/spool_status.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "codec/json/cursor.h"
#include "codec/json/parser.h"
#include "codec/json/writer.h"
#include "fs/cli/mount_client.h"
#include "fs/common/readable.h"

namespace unshard {
namespace {

SpoolStatus Busy() {
  SpoolStatus status;
  status.spool = "/var/spool/\"mine\"";
  status.spool_bytes = 3500000;
  status.spool_files = 12;
  status.max_spool_bytes = 4000000000;
  status.max_spool_files = 1000;
  status.dirty_chunks = 11;
  status.dirty_bytes = 3400000;
  status.dirty_shards = 2;
  status.oldest_milliseconds = 1234;
  status.running = 1;
  status.publishes = 7;
  status.bytes_published = 123456789;
  status.publish_failures = 3;
  status.last_failure = PublishFailure{"ENOSPC", "8_8_8/0.shard: no space left"};
  status.conflicts = 4;
  status.conflicting = {{"8_8_8", "0-64_0-64_0-64", 17, "/var/spool/mine/conflicts/x"}};
  status.damaged = 1;
  status.quarantined = {{"8_8_8\xff", "\x1b[2J", 18, "/var/spool/mine/damaged/\xc0\xaf"}};
  status.lost = 2;
  return status;
}

std::string Document(const SpoolStatus* write, bool read_only) {
  JsonValue status = JsonValue::Object();
  status.Set("pid", JsonValue::Number(std::uint64_t{4711}));
  status.Set("source", JsonValue::String("/data/seg"));
  status.Set("mount_point", JsonValue::String("/mnt/seg"));
  status.Set("read_only", JsonValue::Boolean(read_only));
  status.Set("write", write == nullptr ? JsonValue() : SpoolStatusObject(*write));
  status.Set("last_errors", JsonValue::Array({JsonValue::String("one line")}));
  return WriteJson(status);
}

TEST(SpoolStatusTest, WhatIsWrittenIsReadBack) {
  const SpoolStatus busy = Busy();
  const JsonValue object = SpoolStatusObject(busy);
  const auto text = ParseJson(WriteJson(object));
  ASSERT_TRUE(text);
  const auto read = ParseSpoolStatus(JsonCursor(*text, "write"));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_TRUE(SpoolStatusObject(*read) == object);
  EXPECT_EQ(read->oldest_milliseconds, 1234u);
  EXPECT_EQ(read->last_failure->errno_name, "ENOSPC");
  EXPECT_EQ(read->conflicting.at(0).sequence, 17u);
  EXPECT_EQ(read->damaged, 1u);
  EXPECT_EQ(read->lost, 2u);
  EXPECT_EQ(read->quarantined.at(0).dataset, "8_8_8\xff") << "no name is lost on the way";
  EXPECT_EQ(read->quarantined.at(0).chunk, "\x1b[2J");
  EXPECT_EQ(read->quarantined.at(0).path, "/var/spool/mine/damaged/\xc0\xaf");
  EXPECT_EQ(read->bytes_published, 123456789u);
  EXPECT_EQ(read->dirty_shards, 2u);
}

TEST(SpoolStatusTest, NothingDirtyAndNoFailureAreNull) {
  const JsonValue object = SpoolStatusObject(SpoolStatus());
  EXPECT_TRUE(object.Find("oldest_milliseconds")->is_null());
  EXPECT_TRUE(object.Find("last_failure")->is_null());
  const auto read = ParseSpoolStatus(JsonCursor(object, "write"));
  ASSERT_TRUE(read);
  EXPECT_FALSE(read->oldest_milliseconds);
  EXPECT_FALSE(read->last_failure);
}

TEST(SpoolStatusTest, EachMissingOrWrongMemberIsNamed) {
  const JsonValue object = SpoolStatusObject(Busy());
  for (const auto& [name, value] : object.members()) {
    JsonValue without = object;
    without.Erase(name);
    const auto read = ParseSpoolStatus(JsonCursor(without, "write"));
    const bool optional = name == "oldest_milliseconds" || name == "last_failure";
    EXPECT_EQ(read.has_value(), optional) << name;
    JsonValue wrong = object;
    wrong.Set(name, JsonValue::Boolean(true));
    const auto damaged = ParseSpoolStatus(JsonCursor(wrong, "write"));
    ASSERT_FALSE(damaged) << name;
    EXPECT_EQ(damaged.error().code, ErrorCode::kDataLoss);
    EXPECT_NE(damaged.error().message.find("write." + name), std::string::npos)
        << damaged.error().message;
  }
}

TEST(SpoolStatusTest, TheListOfConflictsIsBounded) {
  SpoolStatus status = Busy();
  status.conflicting.assign(SpoolStatus::kShownConflicts + 5, status.conflicting[0]);
  const JsonValue object = SpoolStatusObject(status);
  EXPECT_EQ(object.Find("set_aside")->items().size(), SpoolStatus::kShownConflicts);
  EXPECT_TRUE(ParseSpoolStatus(JsonCursor(object, "write")));
}

TEST(SpoolStatusTest, MetricsHaveTheirNamesTypesAndValues) {
  const std::string text = WriteMetricsText(Busy());
  for (const char* line :
       {"unshard_spool_bytes 3500000\n", "unshard_dirty_chunks 11\n", "unshard_dirty_shards 2\n",
        "unshard_publishes_total 7\n", "unshard_bytes_published_total 123456789\n",
        "unshard_publish_failures_total 3\n", "unshard_conflicts_total 4\n",
        "unshard_oldest_dirty_seconds 1.234\n", "# TYPE unshard_conflicts_total counter\n",
        "# TYPE unshard_spool_bytes gauge\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line;
  }
  EXPECT_NE(WriteMetricsText(SpoolStatus()).find("unshard_oldest_dirty_seconds 0.000\n"),
            std::string::npos);
}

TEST(SpoolStatusTest, AFailureIsNamedByItsErrno) {
  EXPECT_EQ(DescribeFailure(Error{ErrorCode::kResourceExhausted, "full", EDQUOT}).errno_name,
            "EDQUOT");
  EXPECT_EQ(DescribeFailure(Error{ErrorCode::kConflict, "changed", 0}).errno_name, "ESTALE");
  EXPECT_EQ(DescribeFailure(Error{ErrorCode::kConflict, "changed", 0}).message, "changed");
}

TEST(MountStatusTest, TheDocumentOfAMountIsRead) {
  const SpoolStatus busy = Busy();
  const auto status = ParseMountStatus(Document(&busy, false));
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(status->pid, 4711);
  EXPECT_EQ(status->source, "/data/seg");
  EXPECT_EQ(status->mount_point, "/mnt/seg");
  EXPECT_FALSE(status->read_only);
  EXPECT_EQ(status->write->dirty_chunks, 11u);
  EXPECT_EQ(status->last_errors, std::vector<std::string>{"one line"});
  const auto read_only = ParseMountStatus(Document(nullptr, true));
  ASSERT_TRUE(read_only);
  EXPECT_TRUE(read_only->read_only);
  EXPECT_FALSE(read_only->write);
  for (const char* text : {"", "{}", "[]", "{\"pid\": 0}"}) {
    EXPECT_FALSE(ParseMountStatus(text)) << text;
  }
}

TEST(MountStatusTest, PeopleAreToldWhatTheMountIsDoing) {
  const SpoolStatus busy = Busy();
  const auto status = ParseMountStatus(Document(&busy, false));
  ASSERT_TRUE(status);
  const std::string text = DescribeMountStatus(*status);
  for (const char* part :
       {"/data/seg", "/mnt/seg, read-write, process 4711", "11 chunks (3.4 MB) in 2 shards",
        "oldest 1.2 s", "7 shards, 123 MB written", "3 publish attempts",
        "ENOSPC: 8_8_8/0.shard: no space left", "8_8_8/0-64_0-64_0-64 (17), kept as",
        "3.5 MB of 4 GB, 12 of 1000 files", "one line"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
  }
  EXPECT_EQ(SummarizeMountStatus(*status),
            "/mnt/seg: 11 dirty chunks (3.4 MB) in 2 shards, oldest 1.2 s; 7 published, 123 MB; "
            "3 failed, last with ENOSPC; 4 conflicts");
  const auto read_only = ParseMountStatus(Document(nullptr, true));
  EXPECT_EQ(SummarizeMountStatus(*read_only), "/mnt/seg: read-only");
  EXPECT_EQ(DescribeMountStatus(*read_only).find("spool"), std::string::npos);
}

TEST(MountStatusTest, WhatIsNoMountIsNamed) {
  const auto status = ReadMountStatus("/proc");
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kNotFound);
  EXPECT_NE(status.error().message.find("/proc"), std::string::npos);
}

TEST(ReadableTest, NumbersAreShortAndNeverMoreThanWhatIsThere) {
  EXPECT_EQ(ReadableBytes(0), "0 bytes");
  EXPECT_EQ(ReadableBytes(1), "1 byte");
  EXPECT_EQ(ReadableBytes(999), "999 bytes");
  EXPECT_EQ(ReadableBytes(1000), "1 kB");
  EXPECT_EQ(ReadableBytes(1599), "1.5 kB");
  EXPECT_EQ(ReadableBytes(99999), "99 kB");
  EXPECT_EQ(ReadableBytes(999999), "999 kB");
  EXPECT_EQ(ReadableBytes(1000000), "1 MB");
  EXPECT_EQ(ReadableBytes(~std::uint64_t{0}), "18 EB");
  EXPECT_EQ(ReadableAge(0), "0 s");
  EXPECT_EQ(ReadableAge(1299), "1.2 s");
  EXPECT_EQ(ReadableAge(119999), "119 s");
  EXPECT_EQ(ReadableAge(120000), "2 min");
  EXPECT_EQ(ReadableAge(7200000), "2 h");
}

}  // namespace
}  // namespace unshard
