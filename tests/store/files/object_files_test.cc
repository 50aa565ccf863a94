// Files of an object store, written through a mount's spool and put whole.
#include "store/files/object_files.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cerrno>
#include <future>
#include <map>
#include <set>
#include <thread>

#include "store/files/document_replacer.h"
#include "store/files/file_publishing.h"
#include "tests/support/memory_replacer.h"
#include "tests/support/memory_store.h"
#include "tests/support/simulated_disk.h"
#include "tests/support/store_that_goes_away.h"

namespace unshard {
namespace {

constexpr OpenFlags kNew{.write = true, .create = true, .exclusive = false, .truncate = true};
constexpr OpenFlags kWrite{.write = true};

class ObjectFilesTest : public testing::Test {
 protected:
  ObjectFilesTest() { Start(); }

  // Kills what stands for the mount, and starts the next one on the same spool and store.
  void Restart() {
    publishing_.reset();
    attempts_.reset();
    files_.reset();
    spool_.reset();
    disk_ = disk_->AfterKill();
    dirty_.clear();
    Start();
    attempts_->Adopt(spool_);
    for (const SpooledChunk& chunk : spool_->TakeRecovered()) publishing_->Replay(spool_, chunk);
  }

  void Start() {
    SpoolOptions options;
    options.source = "test";
    auto spool = Spool::Open(disk_, options);
    ASSERT_TRUE(spool) << spool.error().message;
    spool_ = *std::move(spool);
    files_ = std::make_shared<ObjectFiles>(store_, replacer_, std::chrono::milliseconds(0));
    ObjectFiles::Committing committing;
    committing.spool = spool_;
    committing.add_dirty = [this](std::uint64_t number, std::int64_t files, std::int64_t bytes) {
      dirty_.insert(number);
      dirty_files_ += files;
      dirty_bytes_ += bytes;
    };
    committing.changed = [this](const std::string& key) { changed_.insert(key); };
    files_->Start(std::move(committing));
    attempts_ = std::make_unique<AttemptRecords>(replacer_);
    publishing_ = std::make_unique<FilePublishing>(files_, *attempts_, false);
  }

  void SetAway(bool away) {
    store_->away = away;
    replacer_->SetAway(away);
  }
  std::shared_ptr<File> Open(const std::string& path, const OpenFlags& flags) {
    auto file = files_->Open(path, flags);
    EXPECT_TRUE(file) << file.error().message;
    return file.value_or(nullptr);
  }
  void Write(const std::string& path, std::string_view text) {
    const auto file = Open(path, kNew);
    ASSERT_TRUE(file);
    EXPECT_TRUE(file->Write(0, AsBytes(text)));
    EXPECT_TRUE(file->Flush());
  }
  static std::string Text(File& file) {
    std::string text(1000, '\0');
    const auto read = file.Read(0, {reinterpret_cast<std::uint8_t*>(text.data()), text.size()});
    if (!read) return read.error().message;
    text.resize(*read);
    return text;
  }
  // What programs see; "-" where there is no such file.
  std::string Text(const std::string& path) {
    const auto file = Open(path, {});
    return file ? Text(*file) : "-";
  }
  static std::string Text(ObjectStore& store, const std::string& key) {
    const auto whole = ReadWhole(store, key, 1000, Deadline::None());
    if (!whole) return whole.error().message;
    return *whole ? (*whole)->text : "-";
  }
  std::string Stored(const std::string& key) { return Text(*memory_, key); }
  std::string Committed(const std::string& key) { return Text(*files_->over(), key); }
  std::uint64_t Inode(const std::string& path) {
    const auto status = files_->Stat(path);
    EXPECT_TRUE(status && *status) << path;
    return status && *status ? (*status)->inode : 0;
  }
  Status Publish() {
    Status first;
    for (const std::uint64_t number : std::exchange(dirty_, {})) {
      const auto done = publishing_->Publish(number, Deadline::None());
      if (done) continue;
      dirty_.insert(number);
      if (first) first = tl::unexpected<Error>(done.error());
    }
    return first;
  }
  std::string Names(const std::string& directory) {
    std::set<std::string> names;
    EXPECT_TRUE(files_->List(directory, [&](std::string_view name) {
      EXPECT_TRUE(names.emplace(name).second) << name;
      return true;
    }));
    std::string all;
    for (const std::string& name : names) all += (all.empty() ? "" : " ") + name;
    return all;
  }
  [[nodiscard]] std::size_t FilesIn(const std::string& folder) const {
    std::size_t count = 0;
    for (const std::string& path : disk_->Paths()) {
      count += path.rfind(folder, 0) == 0 && path.find(".path") == std::string::npos ? 1U : 0U;
    }
    return count;
  }

  const std::shared_ptr<MemoryStore> memory_ =
      std::make_shared<MemoryStore>(Capabilities{true, false, Capabilities::Writes::kConditional});
  const std::shared_ptr<StoreThatGoesAway> store_ = std::make_shared<StoreThatGoesAway>(memory_);
  const std::shared_ptr<MemoryReplacer> replacer_ = std::make_shared<MemoryReplacer>(memory_);
  std::shared_ptr<SimulatedDisk> disk_ = std::make_shared<SimulatedDisk>();
  std::shared_ptr<Spool> spool_;
  std::shared_ptr<ObjectFiles> files_;
  std::unique_ptr<AttemptRecords> attempts_;
  std::unique_ptr<FilePublishing> publishing_;
  std::set<std::uint64_t> dirty_;
  std::int64_t dirty_files_ = 0, dirty_bytes_ = 0;  // that were ever added
  std::set<std::string> changed_;
};

// While the store is away nobody can tell whether there is a file.
TEST_F(ObjectFilesTest, AFileThatMayExistIsReplacedWithoutAskingTheStore) {
  memory_->Put("there", "theirs");
  memory_->Put("temporary", "theirs, too");
  SetAway(true);
  EXPECT_FALSE(files_->Open("there", {})) << "for reading its bytes have to be known";
  EXPECT_FALSE(files_->Open("there", kWrite));
  EXPECT_FALSE(files_->Stat("there"));
  EXPECT_FALSE(files_->Remove("there"));
  Write("there", "ours");
  Write("new", "");
  Write("temporary", "moved");
  EXPECT_EQ(Text("there"), "ours");
  ASSERT_TRUE(files_->Rename("temporary", "target"));
  EXPECT_EQ(Text("target"), "moved");
  EXPECT_FALSE(Publish());
  SetAway(false);
  ASSERT_TRUE(Publish());
  EXPECT_EQ(Stored("there"), "ours");
  EXPECT_EQ(Stored("new"), "");
  EXPECT_EQ(Stored("target"), "moved");
  EXPECT_EQ(Stored("temporary"), "-");
  EXPECT_EQ(publishing_->counters().conflicts, 0U);
  EXPECT_EQ(FilesIn("chunks/"), 0U);
}

TEST_F(ObjectFilesTest, WhatMayExistIsReplacedByTheNextMountAsWell) {
  memory_->Put("there", "theirs");
  SetAway(true);
  Write("there", "ours");
  SetAway(false);
  Restart();
  EXPECT_EQ(Text("there"), "ours");
  ASSERT_TRUE(Publish());
  EXPECT_EQ(Stored("there"), "ours");
}

TEST_F(ObjectFilesTest, InStrictModeAFileThatWasThereWithoutOurKnowledgeStays) {
  memory_->Put("there", "theirs");
  SetAway(true);
  Write("there", "ours");
  Write("new", "ours");
  SetAway(false);
  publishing_ = std::make_unique<FilePublishing>(files_, *attempts_, true);
  EXPECT_FALSE(Publish());
  EXPECT_EQ(Stored("there"), "theirs");
  EXPECT_EQ(Stored("new"), "ours");
  EXPECT_EQ(FilesIn("conflicts/"), 1U);
  EXPECT_EQ(Text("there"), "theirs");
}

TEST_F(ObjectFilesTest, ANewFileIsSeenWhenItIsClosedAndPutOnce) {
  const auto file = Open("a/b", kNew);
  ASSERT_TRUE(file->Write(0, AsBytes("one")));
  EXPECT_EQ(Text("a/b"), "one");     // one file, as on a disk
  EXPECT_EQ(Committed("a/b"), "-");  // nothing is committed
  EXPECT_EQ(Names("a"), "b");
  ASSERT_TRUE(file->Flush());
  EXPECT_EQ(Committed("a/b"), "one");
  EXPECT_EQ(changed_, std::set<std::string>{"a/b"});
  EXPECT_EQ(Stored("a/b"), "-");
  ASSERT_TRUE(file->Flush());
  EXPECT_EQ(dirty_.size(), 1U);
  ASSERT_TRUE(Publish());
  EXPECT_EQ(Stored("a/b"), "one");
  EXPECT_EQ(replacer_->puts(), 1U);
  EXPECT_EQ(Text("a/b"), "one");
  EXPECT_EQ(FilesIn("chunks/"), 0U);
  EXPECT_EQ(FilesIn("attempts/"), 0U);
}

TEST_F(ObjectFilesTest, ATemporaryFileThatIsRenamedNeverReachesTheStore) {
  memory_->Put("target", "old");
  Write("target.partial", "new");
  const std::uint64_t inode = Inode("target.partial");
  ASSERT_TRUE(files_->Rename("target.partial", "target"));
  EXPECT_EQ(Text("target"), "new");
  EXPECT_EQ(Text("target.partial"), "-");
  EXPECT_EQ(Inode("target"), inode);
  EXPECT_EQ(Names(""), "target");
  ASSERT_TRUE(Publish());
  EXPECT_EQ(replacer_->puts(), 1U);
  EXPECT_EQ(Stored("target"), "new");
  EXPECT_EQ(Stored("target.partial"), "-");
  EXPECT_EQ(Inode("target"), inode);  // programs compare it with what they have written
}

TEST_F(ObjectFilesTest, AnOpenFileIsWrittenAfterItsRename) {
  const auto file = Open("x.__lock", kNew);
  ASSERT_TRUE(file->Write(0, AsBytes("1")));
  ASSERT_TRUE(files_->Rename("x.__lock", "x"));
  ASSERT_TRUE(file->Write(1, AsBytes("2")));
  ASSERT_TRUE(file->Flush());
  ASSERT_TRUE(Publish());
  EXPECT_EQ(Stored("x"), "12");
  EXPECT_EQ(Stored("x.__lock"), "-");
}

TEST_F(ObjectFilesTest, AFileOfTheStoreIsRenamedByAPutAndARemoval) {
  memory_->Put("from", "bytes");
  memory_->Put("to", "old");
  ASSERT_TRUE(files_->Rename("from", "to"));
  EXPECT_EQ(Text("to"), "bytes");
  EXPECT_EQ(Text("from"), "-");
  ASSERT_TRUE(Publish());
  EXPECT_EQ(Stored("to"), "bytes");
  EXPECT_EQ(Stored("from"), "-");
  EXPECT_EQ(publishing_->counters().conflicts, 0U);
}

TEST_F(ObjectFilesTest, APartIsWrittenIntoWhatTheStoreHas) {
  memory_->Put("log", "one two");
  const auto file = Open("log", kWrite);
  ASSERT_TRUE(file->Write(7, AsBytes(" three")));
  ASSERT_TRUE(file->Write(0, AsBytes("O")));
  ASSERT_TRUE(file->Truncate(11));
  ASSERT_TRUE(file->Flush());
  ASSERT_TRUE(Publish());
  EXPECT_EQ(Stored("log"), "One two thr");
  EXPECT_EQ(publishing_->counters().conflicts, 0U);
  // It is open all the time, and was put: later writes begin with what the store has.
  ASSERT_TRUE(file->Write(11, AsBytes("ee")));
  ASSERT_TRUE(file->Flush());
  ASSERT_TRUE(Publish());
  EXPECT_EQ(Stored("log"), "One two three");
  EXPECT_EQ(publishing_->counters().conflicts, 0U);
}

TEST_F(ObjectFilesTest, WhatIsRewrittenWhileItIsPutIsPutAgain) {
  Write("f", "1");
  ASSERT_TRUE(Publish());
  Write("f", "2");
  Write("f", "3");
  ASSERT_TRUE(Publish());
  Write("f", "4");
  ASSERT_TRUE(Publish());
  EXPECT_EQ(Stored("f"), "4");
  EXPECT_EQ(replacer_->puts(), 3U);
  EXPECT_EQ(publishing_->counters().conflicts, 0U);
}

TEST_F(ObjectFilesTest, Removals) {
  memory_->Put("d/kept", "1");
  memory_->Put("d/gone", "2");
  Write("d/new", "3");
  EXPECT_EQ(files_->Remove("d/gone"), true);
  EXPECT_EQ(files_->Remove("d/new"), true);
  EXPECT_EQ(files_->Remove("d/absent"), false);
  EXPECT_EQ(Names("d"), "kept");
  EXPECT_EQ(Text("d/gone"), "-");
  EXPECT_EQ(Committed("d/gone"), "-");
  EXPECT_EQ(files_->Remove("d/gone"), false);
  ASSERT_TRUE(Publish());
  EXPECT_EQ(Stored("d/gone"), "-");
  EXPECT_EQ(Stored("d/new"), "-");
  EXPECT_EQ(Stored("d/kept"), "1");
  EXPECT_EQ(FilesIn("chunks/"), 0U);
}

TEST_F(ObjectFilesTest, AFileThatIsMadeAgainReplacesTheOneThatWaitsToBeRemoved) {
  memory_->Put("f", "old");
  EXPECT_EQ(files_->Remove("f"), true);
  Write("f", "new");
  EXPECT_EQ(Text("f"), "new");
  ASSERT_TRUE(Publish());
  EXPECT_EQ(Stored("f"), "new");
  EXPECT_EQ(publishing_->counters().conflicts, 0U);
}

TEST_F(ObjectFilesTest, WhatIsOpenCanBeReadAfterItIsRemoved) {
  memory_->Put("f", "bytes");
  const auto reader = Open("f", {});
  const auto writer = Open("g", kNew);
  ASSERT_TRUE(writer->Write(0, AsBytes("more")));
  EXPECT_EQ(files_->Remove("f"), true);
  EXPECT_EQ(files_->Remove("g"), true);
  ASSERT_TRUE(writer->Write(4, AsBytes("!")));
  ASSERT_TRUE(writer->Flush());
  ASSERT_TRUE(Publish());
  EXPECT_EQ(Text(*reader), "bytes");
  EXPECT_EQ(Text(*writer), "more!");
  EXPECT_EQ(Stored("f"), "-");
  EXPECT_EQ(Stored("g"), "-");
  EXPECT_EQ(Names(""), "");
}

TEST_F(ObjectFilesTest, Directories) {
  EXPECT_EQ(files_->MakeDirectory("d"), true);
  EXPECT_EQ(files_->MakeDirectory("d"), false);
  EXPECT_EQ(files_->MakeDirectory("d/e"), true);
  EXPECT_EQ(Names(""), "d");
  EXPECT_EQ(Names("d"), "e");
  const auto status = files_->Stat("d/e");
  ASSERT_TRUE(status && *status);
  EXPECT_EQ((*status)->kind, FileStatus::Kind::kDirectory);
  const auto holds = files_->Remove("d");
  ASSERT_FALSE(holds);
  EXPECT_EQ(holds.error().system_errno, ENOTEMPTY);
  EXPECT_EQ(files_->Remove("d/e"), true);
  Write("d/f", "1");
  EXPECT_EQ(files_->Remove("d/f"), true);
  EXPECT_EQ(Names(""), "d");  // it stays without its last file
  EXPECT_EQ(files_->Remove("d"), true);
  EXPECT_EQ(Names(""), "");
  EXPECT_EQ(files_->Remove("d"), false);
}

TEST_F(ObjectFilesTest, ADirectoryOfTheStoreGoesWithItsFiles) {
  memory_->Put("d/e/f", "1");
  EXPECT_EQ(files_->Remove("d/e/f"), true);
  EXPECT_EQ(files_->Remove("d/e"), true);
  EXPECT_EQ(Names("d"), "");
  EXPECT_EQ(files_->Remove("d"), true);
  EXPECT_EQ(Names(""), "");
  const auto gone = files_->Stat("d");
  ASSERT_TRUE(gone);
  EXPECT_FALSE(*gone);
  ASSERT_TRUE(Publish());
  // Another host may use the name again.
  memory_->Put("d/g", "2");
  EXPECT_EQ(Names(""), "d");
  EXPECT_EQ(Names("d"), "g");
}

TEST_F(ObjectFilesTest, WhatObjectStoresCannotDo) {
  memory_->Put("d/f", "1");
  const Status directory = files_->Rename("d", "e");
  ASSERT_FALSE(directory);
  EXPECT_EQ(directory.error().system_errno, EXDEV);
  const Status link = files_->Link("d/f", "g");
  ASSERT_FALSE(link);
  EXPECT_EQ(link.error().system_errno, EPERM);
  const Status missing = files_->Rename("x", "y");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().system_errno, ENOENT);
  OpenFlags exclusive = kNew;
  exclusive.exclusive = true;
  const auto there = files_->Open("d/f", exclusive);
  ASSERT_FALSE(there);
  EXPECT_EQ(there.error().system_errno, EEXIST);
}

TEST_F(ObjectFilesTest, AFileThatWasCreatedIsLinkedToANameThatIsFree) {
  memory_->Put("there", "1");
  Write("d/temporary", "bytes");
  for (const char* taken : {"there", "d", "d/temporary"}) {
    const Status refused = files_->Link("d/temporary", taken);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().system_errno, EEXIST) << taken;
  }
  ASSERT_TRUE(files_->Link("d/temporary", "d/name"));
  EXPECT_EQ(files_->Remove("d/temporary"), true);
  EXPECT_EQ(Names("d"), "name");
  ASSERT_TRUE(Publish());
  EXPECT_EQ(Stored("d/name"), "bytes");
  EXPECT_EQ(Stored("d/temporary"), "-");
  // Also once it has been put.
  ASSERT_TRUE(files_->Link("d/name", "d/another"));
  EXPECT_EQ(Names("d"), "another name");
  const Status missing = files_->Link("x", "y");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().system_errno, ENOENT);
}

TEST_F(ObjectFilesTest, TimesStayWhileTheStoreHasTheVersion) {
  Write("f", "1");
  ASSERT_TRUE(Open("f", kWrite)->SetModified({1000, 5}));
  const auto modified = [&] {
    const auto status = files_->Stat("f");
    return status && *status ? (*status)->modified.tv_sec : 0;
  };
  EXPECT_EQ(modified(), 1000);
  ASSERT_TRUE(Publish());
  EXPECT_EQ(modified(), 1000);
  memory_->Put("f", "2");
  EXPECT_NE(modified(), 1000);
  memory_->Put("stored", "2");
  ASSERT_TRUE(Open("stored", kWrite)->SetModified({2000, 5}));
  const auto status = files_->Stat("stored");
  ASSERT_TRUE(status && *status);
  EXPECT_EQ((*status)->modified.tv_sec, 2000);
  EXPECT_TRUE(dirty_.empty());
}

TEST_F(ObjectFilesTest, AnotherHostsVersionIsReplacedAndCounted) {
  memory_->Put("f", "old");
  const auto file = Open("f", kWrite);
  ASSERT_TRUE(file->Write(0, AsBytes("new")));
  memory_->Put("f", "other");
  ASSERT_TRUE(file->Flush());
  ASSERT_TRUE(Publish());
  EXPECT_EQ(Stored("f"), "new");
  EXPECT_EQ(publishing_->counters().conflicts, 1U);
}

TEST_F(ObjectFilesTest, AnotherHostsVersionStaysInStrictMode) {
  publishing_ = std::make_unique<FilePublishing>(files_, *attempts_, true);
  memory_->Put("f", "old");
  const auto file = Open("f", kWrite);
  ASSERT_TRUE(file->Write(0, AsBytes("new")));
  ASSERT_TRUE(file->Flush());
  memory_->Put("f", "other");
  const Status refused = Publish();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
  EXPECT_EQ(Stored("f"), "other");
  EXPECT_EQ(FilesIn("conflicts/"), 1U);
}

TEST_F(ObjectFilesTest, OfTwoVersionsInASpoolOneIsDirty) {
  for (const char* text : {"1", "second"}) {
    const auto staged = spool_->Stage();
    ASSERT_TRUE(staged && (*staged)->Write(0, AsBytes(text)));
    SealTerms terms;
    terms.whole_file = true;
    const auto sealed = spool_->Seal(staged->get(), "d", "f", terms);
    ASSERT_TRUE(sealed) << sealed.error().message;
    publishing_->Replay(spool_, *sealed);
  }
  EXPECT_EQ(dirty_files_, 1);
  EXPECT_EQ(dirty_bytes_, 6);
  EXPECT_EQ(FilesIn("chunks/"), 1U);
  ASSERT_TRUE(Publish());
  EXPECT_EQ(Stored("d/f"), "second");
}

TEST_F(ObjectFilesTest, WhatCannotBeQuarantinedStaysInItsSpool) {
  publishing_ = std::make_unique<FilePublishing>(files_, *attempts_, true);
  memory_->Put("f", "old");
  const auto file = Open("f", kWrite);
  ASSERT_TRUE(file->Write(0, AsBytes("new")));
  ASSERT_TRUE(file->Flush());
  memory_->Put("f", "other");
  disk_->FailEvery(DiskOperation::kMakeDirectory, EIO);
  ASSERT_FALSE(Publish());
  EXPECT_EQ(FilesIn("chunks/"), 1U);
  EXPECT_EQ(Committed("f"), "new");
  disk_->ClearFaults();
  const Status refused = Publish();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
  EXPECT_EQ(Stored("f"), "other");
  EXPECT_EQ(FilesIn("chunks/"), 0U);
  EXPECT_EQ(FilesIn("conflicts/"), 1U);
}

TEST_F(ObjectFilesTest, FilesWaitWhileTheStoreIsAway) {
  replacer_->SetAway(true);
  Write("f", "1");
  const auto file = Open("f", kWrite);
  EXPECT_TRUE(file->Sync());
  const Status away = Publish();
  ASSERT_FALSE(away);
  EXPECT_EQ(away.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(Committed("f"), "1");
  replacer_->SetAway(false);
  ASSERT_TRUE(Publish());
  EXPECT_EQ(Stored("f"), "1");
}

TEST_F(ObjectFilesTest, ClosedFilesSurviveTheEndOfTheProcess) {
  memory_->Put("gone", "1");
  memory_->Put("changed", "1");
  Write("d/new", "2");
  Write("changed", "3");
  EXPECT_EQ(files_->Remove("gone"), true);
  const auto never_closed = Open("never", kNew);
  ASSERT_TRUE(never_closed->Write(0, AsBytes("4")));
  Restart();
  EXPECT_EQ(Text("d/new"), "2");
  EXPECT_EQ(Text("changed"), "3");
  EXPECT_EQ(Text("gone"), "-");
  ASSERT_TRUE(Publish());
  EXPECT_EQ(Stored("d/new"), "2");
  EXPECT_EQ(Stored("changed"), "3");
  EXPECT_EQ(Stored("gone"), "-");
  EXPECT_EQ(publishing_->counters().conflicts, 0U);
  EXPECT_EQ(FilesIn("chunks/"), 0U);
}

TEST_F(ObjectFilesTest, WhatOthersChangedMeanwhileIsNotReplacedByTheNextProcess) {
  memory_->Put("f", "old");
  Write("f", "mine");
  memory_->Put("f", "theirs");
  Restart();
  ASSERT_TRUE(Publish());
  EXPECT_EQ(Stored("f"), "theirs");
  EXPECT_EQ(FilesIn("conflicts/"), 1U);
}

TEST_F(ObjectFilesTest, WhatOthersChangeWhileAnAdoptedFileWaitsIsNotReplaced) {
  memory_->Put("f", "old");
  Write("f", "mine");
  Restart();
  memory_->Put("f", "theirs");
  EXPECT_FALSE(Publish());
  EXPECT_EQ(Stored("f"), "theirs");
  EXPECT_EQ(FilesIn("conflicts/"), 1U);
}

// The answer to a put is lost; then another host replaces what it has stored.
TEST_F(ObjectFilesTest, AWriteWhoseAnswerWasLostIsNotPutOverALaterOne) {
  Write("f", "mine");
  replacer_->LoseNext(MemoryReplacer::Lost::kAnswer);
  ASSERT_FALSE(Publish());
  EXPECT_EQ(Stored("f"), "mine");
  EXPECT_EQ(FilesIn("attempts/"), 1U);
  memory_->Put("f", "theirs");
  ASSERT_TRUE(Publish());
  EXPECT_EQ(Stored("f"), "theirs");
  EXPECT_EQ(Text("f"), "theirs");
  EXPECT_EQ(FilesIn("chunks/"), 0U);
  EXPECT_EQ(FilesIn("attempts/"), 0U);
}

TEST_F(ObjectFilesTest, ThePutOfAKilledProcessIsNotPutOverALaterOne) {
  Write("f", "mine");
  replacer_->LoseNext(MemoryReplacer::Lost::kAnswer);
  ASSERT_FALSE(Publish());
  memory_->Put("f", "theirs");
  Restart();
  ASSERT_TRUE(Publish());
  EXPECT_EQ(Stored("f"), "theirs");
  EXPECT_EQ(FilesIn("chunks/"), 0U);
  EXPECT_EQ(FilesIn("conflicts/"), 0U);
}

TEST_F(ObjectFilesTest, ARequestThatWasLostIsRepeated) {
  Write("f", "mine");
  replacer_->LoseNext(MemoryReplacer::Lost::kRequest);
  ASSERT_FALSE(Publish());
  EXPECT_EQ(Stored("f"), "-");
  Restart();
  ASSERT_TRUE(Publish());
  EXPECT_EQ(Stored("f"), "mine");
}

// As after the last close(2) of both, with what was written through a mapping since.
TEST_F(ObjectFilesTest, OfTwoLastClosesOneCommits) {
  for (int round = 0; round < 300; ++round) {
    const std::string path = "file" + std::to_string(round);
    Write(path, "before");
    auto first = Open(path, kWrite), second = Open(path, kWrite);
    ASSERT_TRUE(first->Write(0, AsBytes("mapped")));
    std::barrier together(2);
    const auto close = [&](std::shared_ptr<File>& file) {
      together.arrive_and_wait();
      file.reset();
    };
    std::thread other([&] { close(first); });
    close(second);
    other.join();
    ASSERT_EQ(Committed(path), "mapped") << "round " << round;
  }
}

TEST_F(ObjectFilesTest, WhatIsAppendedByTwoIsThere) {
  Write("log", "");
  std::atomic<int> failed = 0;
  const auto append = [&] {
    const auto file = *files_->Open("log", kWrite);
    for (int i = 0; i < 500; ++i) failed += file->Append(AsBytes("0123456789abcde\n")) ? 0 : 1;
  };
  std::thread other(append);
  append();
  other.join();
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(files_->Stat("log").value()->size, 2U * 500 * 16);
}

TEST_F(ObjectFilesTest, ADocumentThatCannotBeWrittenStaysAsItWas) {
  memory_->Put("zarr.json", "old");
  DocumentReplacer documents(files_);
  disk_->FailEvery(DiskOperation::kWrite, ENOSPC);
  EXPECT_FALSE(ReplaceObject(documents, "zarr.json", AsBytes("new")));
  disk_->ClearFaults();
  EXPECT_EQ(Committed("zarr.json"), "old");
  EXPECT_TRUE(dirty_.empty());
}

// A rename waits for the disk; other names do not wait for that.
TEST_F(ObjectFilesTest, FilesAreCreatedWhileARenameIsSynced) {
  memory_->Put("old", "text");
  Write("first", "makes the directory of the spool, which is synced");
  std::atomic<bool> created = false;
  std::future<void> other;
  disk_->BeforeEachSync([&] {
    if (created.exchange(true)) return;
    other = std::async(std::launch::async, [&] { Write("other", "created"); });
    EXPECT_EQ(other.wait_for(std::chrono::seconds(10)), std::future_status::ready);
  });
  EXPECT_TRUE(files_->Rename("old", "new"));
  disk_->BeforeEachSync(nullptr);
  EXPECT_TRUE(created) << "the new name is made durable before the old one is removed";
  EXPECT_EQ(Committed("other"), "created");
  EXPECT_EQ(Committed("new"), "text");
  EXPECT_EQ(Committed("old"), "-");
}

TEST_F(ObjectFilesTest, DocumentsAreReplacedAsWhatProgramsSee) {
  memory_->Put("zarr.json", "old");
  DocumentReplacer documents(files_);
  ASSERT_TRUE(ReplaceObject(documents, "zarr.json", AsBytes("new")));
  EXPECT_EQ(Committed("zarr.json"), "new");
  EXPECT_EQ(Stored("zarr.json"), "old");
  ASSERT_TRUE(ReplaceObject(documents, "zarr.json", AsBytes("newer")));
  ASSERT_TRUE(Publish());
  EXPECT_EQ(Stored("zarr.json"), "newer");
  EXPECT_EQ(publishing_->counters().conflicts, 0U);
  EXPECT_EQ(replacer_->puts(), 1U);
}

}  // namespace
}  // namespace unshard
