// What every FileSystem does: run for that of this machine and for the simulated disk, so that
// what holds on the simulated disk means something.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <set>
#include <thread>

#include "store/local/file_system.h"
#include "store/local/posix_file_system.h"
#include "tests/support/simulated_disk.h"
#include "tests/support/temporary_directory.h"

namespace unshard {
namespace {

constexpr OpenFlags kWrite{.write = true};
constexpr OpenFlags kCreate{.write = true, .create = true};
constexpr OpenFlags kExclusive{.write = true, .create = true, .exclusive = true};
constexpr OpenFlags kReplace{.write = true, .create = true, .truncate = true};

// `owner` lives as long as the file system does.
struct Subject {
  std::shared_ptr<FileSystem> files;
  std::shared_ptr<void> owner;
};

Subject OnThisMachine() {
  auto directory = std::make_shared<TemporaryDirectory>();
  return {OpenPosixFileSystem(directory->path()).value_or(nullptr), directory};
}

Subject WithDirectoriesKeptOpen() {
  auto directory = std::make_shared<TemporaryDirectory>();
  return {
      OpenPosixFileSystem(directory->path(), NewFiles::kPrivate, nullptr, Directories::kKeptOpen)
          .value_or(nullptr),
      directory};
}

Subject Simulated() { return {std::make_shared<SimulatedDisk>(), nullptr}; }

struct Maker {
  const char* name;
  Subject (*make)();
};

class FileSystemContract : public testing::TestWithParam<Maker> {
 protected:
  void SetUp() override {
    subject_ = GetParam().make();
    ASSERT_TRUE(subject_.files);
  }
  FileSystem& files() { return *subject_.files; }

  std::shared_ptr<File> Open(const std::string& path, const OpenFlags& flags) {
    auto file = files().Open(path, flags);
    EXPECT_TRUE(file) << file.error().message;
    return file ? *file : nullptr;
  }
  void Put(const std::string& path, std::string_view text) {
    const auto file = Open(path, kReplace);
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->Write(0, AsBytes(text)));
  }
  static std::string TextOf(File& file) {
    ByteVector bytes(1000);
    const auto size = file.Read(0, bytes);
    EXPECT_TRUE(size) << size.error().message;
    return std::string(AsText(ByteSpan(bytes).first(size.value_or(0))));
  }
  std::string Text(const std::string& path) {
    const auto file = Open(path, {});
    return file ? TextOf(*file) : "(missing)";
  }
  std::set<std::string> Names(const std::string& path) {
    std::set<std::string> names;
    EXPECT_TRUE(files().List(path, [&](std::string_view name) {
      EXPECT_TRUE(names.insert(std::string(name)).second) << name;
      return true;
    }));
    return names;
  }

 private:
  Subject subject_;
};

INSTANTIATE_TEST_SUITE_P(FileSystems, FileSystemContract,
                         testing::Values(Maker{"OnThisMachine", OnThisMachine},
                                         Maker{"KeptOpen", WithDirectoriesKeptOpen},
                                         Maker{"Simulated", Simulated}),
                         [](const auto& test) { return std::string(test.param.name); });

TEST_P(FileSystemContract, WhatIsMissingIsAResultWhereNothingIsMade) {
  Put("file", "x");
  for (const char* path : {"absent", "absent/below", "file/below"}) {
    const auto opened = files().Open(path, {});
    ASSERT_TRUE(opened) << opened.error().message;
    EXPECT_FALSE(*opened) << path;
    const auto status = files().Stat(path);
    ASSERT_TRUE(status) << status.error().message;
    EXPECT_FALSE(*status) << path;
    const auto removed = files().Remove(path);
    ASSERT_TRUE(removed) << removed.error().message;
    EXPECT_FALSE(*removed) << path;
    EXPECT_TRUE(Names(path).empty()) << path;
  }
}

TEST_P(FileSystemContract, NamesAreMadeOnlyInDirectoriesThatAreThere) {
  Put("file", "x");
  const auto errno_of = [](const auto& result) { return result ? 0 : result.error().system_errno; };
  EXPECT_EQ(errno_of(files().Open("absent/file", kCreate)), ENOENT);
  EXPECT_EQ(errno_of(files().MakeDirectory("absent/below")), ENOENT);
  EXPECT_EQ(errno_of(files().Rename("file", "absent/file")), ENOENT);
  EXPECT_EQ(errno_of(files().Link("file", "absent/file")), ENOENT);
  EXPECT_EQ(errno_of(files().SyncDirectory("absent")), ENOENT);
  EXPECT_EQ(Text("file"), "x");
}

TEST_P(FileSystemContract, PathsThatAreNoKeysAreRefused) {
  for (const char* path : {"/file", "../file", "a//b", "a/", ".", "a/./b"}) {
    for (const auto& code :
         {files().Open(path, kCreate).map([](auto&&) {}), files().Stat(path).map([](auto&&) {}),
          files().Remove(path).map([](auto&&) {}), files().MakeDirectory(path).map([](auto&&) {}),
          files().Rename(path, "x"), files().Link(path, "x"), files().SyncDirectory(path)}) {
      ASSERT_FALSE(code) << path;
      EXPECT_EQ(code.error().code, ErrorCode::kInvalidArgument) << path;
    }
  }
}

TEST_P(FileSystemContract, WritesAreReadBack) {
  const auto file = Open("file", kCreate);
  ASSERT_TRUE(file->Write(0, AsBytes("hello world")));
  ASSERT_TRUE(file->Write(6, AsBytes("there")));
  EXPECT_EQ(TextOf(*file), "hello there");
  EXPECT_EQ(Text("file"), "hello there");
  ASSERT_TRUE(file->Write(13, AsBytes("!")));
  EXPECT_EQ(Text("file"), std::string("hello there\0\0!", 14));
  ByteVector four(4);
  EXPECT_EQ(file->Read(12, four).value_or(99), 2U);
  EXPECT_EQ(file->Read(14, four).value_or(99), 0U);
  EXPECT_EQ(file->Read(1000, four).value_or(99), 0U);
}

TEST_P(FileSystemContract, WhatIsAppendedComesAfterWhatOthersHaveWritten) {
  const auto one = Open("file", kCreate), two = Open("file", kWrite);
  ASSERT_TRUE(one && two);
  EXPECT_TRUE(one->Append(AsBytes("a")));
  EXPECT_TRUE(two->Append(AsBytes("bc")));
  EXPECT_TRUE(one->Write(3, AsBytes("d")));
  EXPECT_TRUE(two->Append(AsBytes("e")));
  EXPECT_EQ(one->Stat()->size, 5U);
  std::string text(5, '-');
  EXPECT_TRUE(two->Read(0, {reinterpret_cast<std::uint8_t*>(text.data()), text.size()}));
  EXPECT_EQ(text, "abcde");
}

TEST_P(FileSystemContract, TruncationCutsAndFillsWithZeros) {
  const auto file = Open("file", kCreate);
  ASSERT_TRUE(file->Write(0, AsBytes("hello")));
  ASSERT_TRUE(file->Truncate(2));
  ASSERT_TRUE(file->Truncate(4));
  EXPECT_EQ(Text("file"), std::string("he\0\0", 4));
  EXPECT_EQ(file->Stat()->size, 4U);
  ASSERT_TRUE(file->Sync());
}

TEST_P(FileSystemContract, OpenFlagsMeanWhatTheySay) {
  Put("file", "text");
  EXPECT_EQ(TextOf(*Open("file", kCreate)), "text");
  const auto taken = files().Open("file", kExclusive);
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().system_errno, EEXIST);
  EXPECT_TRUE(Open("new", kExclusive));
  EXPECT_EQ(TextOf(*Open("file", kReplace)), "");
  const auto read_only = Open("file", {});
  const auto refused = read_only->Write(0, AsBytes("x"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().system_errno, EBADF);
}

TEST_P(FileSystemContract, ADirectoryIsNoFile) {
  ASSERT_TRUE(files().MakeDirectory("directory"));
  for (const OpenFlags& flags : {OpenFlags{}, kWrite, kCreate}) {
    const auto opened = files().Open("directory", flags);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().system_errno, EISDIR);
  }
  EXPECT_EQ((*files().Stat("directory"))->kind, FileStatus::Kind::kDirectory);
  Put("file", "x");
  const auto made = files().MakeDirectory("file");
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().system_errno, EEXIST);
}

TEST_P(FileSystemContract, DirectoriesAreMadeOnceAndListed) {
  EXPECT_TRUE(files().MakeDirectory("directory").value_or(false));
  EXPECT_FALSE(files().MakeDirectory("directory").value_or(true));
  Put("directory/b", "");
  Put("directory/a", "");
  EXPECT_EQ(Names("directory"), (std::set<std::string>{"a", "b"}));
  EXPECT_EQ(Names(""), (std::set<std::string>{"directory"}));
  int seen = 0;
  ASSERT_TRUE(files().List("directory", [&](std::string_view) { return ++seen < 1; }));
  EXPECT_EQ(seen, 1);
  const auto removed = files().Remove("directory");
  ASSERT_FALSE(removed);
  EXPECT_EQ(removed.error().system_errno, ENOTEMPTY);
  ASSERT_TRUE(files().Remove("directory/a"));
  ASSERT_TRUE(files().Remove("directory/b"));
  EXPECT_TRUE(files().Remove("directory").value_or(false));
  ASSERT_TRUE(MakeDirectories(files(), "one/two/three"));
  ASSERT_TRUE(MakeDirectories(files(), "one/two/three"));
  EXPECT_EQ(Names("one/two"), (std::set<std::string>{"three"}));
}

TEST_P(FileSystemContract, RenameReplacesAndOpenFilesKeepTheirBytes) {
  Put("old", "old");
  Put("new", "new");
  const auto old = Open("old", {});
  const auto identity = Open("new", {})->Stat();
  ASSERT_TRUE(files().Rename("new", "old"));
  EXPECT_EQ(Text("old"), "new");
  EXPECT_EQ(Text("new"), "(missing)");
  EXPECT_EQ(TextOf(*old), "old");
  EXPECT_EQ(old->Stat()->links, 0U);
  const auto status = files().Stat("old");
  EXPECT_EQ((*status)->inode, identity->inode);
  EXPECT_EQ((*status)->device, identity->device);
  const auto missing = files().Rename("new", "old");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().system_errno, ENOENT);
  ASSERT_TRUE(files().MakeDirectory("directory"));
  ASSERT_TRUE(files().Rename("old", "directory/moved"));
  EXPECT_EQ(Text("directory/moved"), "new");
  ASSERT_TRUE(files().SyncDirectory("directory"));
  ASSERT_TRUE(files().SyncDirectory(""));
}

TEST_P(FileSystemContract, LinksAreSecondNames) {
  Put("one", "text");
  Put("taken", "");
  ASSERT_TRUE(files().Link("one", "two"));
  EXPECT_EQ((*files().Stat("one"))->links, 2U);
  EXPECT_EQ((*files().Stat("one"))->inode, (*files().Stat("two"))->inode);
  const auto refused = files().Link("one", "taken");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().system_errno, EEXIST);
  ASSERT_TRUE(files().Remove("one"));
  EXPECT_EQ(Text("two"), "text");
}

TEST_P(FileSystemContract, CopiesComeFromTheirSource) {
  Put("source", "0123456789");
  const auto source = Open("source", {});
  const auto copy = Open("copy", kCreate);
  ASSERT_TRUE(copy->CopyFrom(*source, ByteRange{2, 5}, 3));
  EXPECT_EQ(TextOf(*copy), std::string("\0\0\0", 3) + "23456");
  ASSERT_TRUE(copy->CopyFrom(*source, ByteRange{0, 0}, 100));
  EXPECT_EQ(copy->Stat()->size, 8U);
  const auto beyond = copy->CopyFrom(*source, ByteRange{8, 3}, 0);
  ASSERT_FALSE(beyond);
  EXPECT_EQ(beyond.error().code, ErrorCode::kDataLoss);
}

TEST_P(FileSystemContract, LargeCopiesAreWhole) {
  ByteVector bytes((std::size_t{3} << 20) + 77);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i * 7 >> 3);
  const auto source = Open("source", kCreate);
  ASSERT_TRUE(source->Write(0, bytes));
  const auto copy = Open("copy", kCreate);
  ASSERT_TRUE(copy->CopyFrom(*source, ByteRange{1, bytes.size() - 1}, 0));
  ByteVector copied(bytes.size());
  ASSERT_EQ(copy->Read(0, copied).value_or(0), bytes.size() - 1);
  EXPECT_TRUE(std::equal(bytes.begin() + 1, bytes.end(), copied.begin()));
}

TEST_P(FileSystemContract, ACloneIsWholeOrNotMade) {
  Put("source", "0123456789");
  Put("clone", "something that was longer");
  const auto clone = Open("clone", kWrite);
  const auto cloned = clone->CloneFrom(*Open("source", {}));
  ASSERT_TRUE(cloned) << cloned.error().message;
  EXPECT_EQ(TextOf(*clone), *cloned ? "0123456789" : "something that was longer");
}

TEST_P(FileSystemContract, LocksBelongToOpenFiles) {
  auto first = Open("lock", kCreate);
  const auto second = Open("lock", kWrite);
  EXPECT_TRUE(first->Lock(false).value_or(false));
  EXPECT_TRUE(first->Lock(false).value_or(false));
  EXPECT_FALSE(second->Lock(false).value_or(true));
  std::thread waiting([&] { EXPECT_TRUE(second->Lock(true).value_or(false)); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  first.reset();
  waiting.join();
  EXPECT_FALSE(Open("lock", kWrite)->Lock(false).value_or(true));
}

TEST_P(FileSystemContract, FreeSpaceIsKnown) { EXPECT_GT(files().FreeBytes().value_or(0), 0U); }

TEST_P(FileSystemContract, ADirectoryThatWasRemovedOrRenamedIsNotUsedUnderItsOldPath) {
  ASSERT_TRUE(files().MakeDirectory("a"));
  Put("a/file", "1");
  ASSERT_TRUE(files().Rename("a/file", "a/other"));
  ASSERT_TRUE(files().Remove("a/other").value_or(false));
  ASSERT_TRUE(files().Remove("a").value_or(false));
  EXPECT_EQ(files().Rename("a/file", "a/other").error().system_errno, ENOENT);
  EXPECT_FALSE(files().SyncDirectory("a"));
  ASSERT_TRUE(files().MakeDirectory("a"));
  Put("a/file", "2");
  ASSERT_TRUE(files().Rename("a/file", "a/other"));
  ASSERT_TRUE(files().SyncDirectory("a"));
  EXPECT_EQ(Text("a/other"), "2");
  ASSERT_TRUE(files().Rename("a", "b"));
  ASSERT_TRUE(files().MakeDirectory("a"));
  Put("a/file", "3");
  ASSERT_TRUE(files().Rename("a/file", "a/other"));
  EXPECT_EQ(Text("a/other"), "3");
  EXPECT_EQ(Text("b/other"), "2");
}

TEST_P(FileSystemContract, MoreDirectoriesThanAreKeptOpenAreUsedInTurn) {
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 40; ++i) {
      const std::string directory = "d" + std::to_string(i);
      ASSERT_TRUE(files().MakeDirectory(directory));
      Put(directory + "/from", std::to_string(i));
      ASSERT_TRUE(files().Rename(directory + "/from", directory + "/to"));
      ASSERT_TRUE(files().SyncDirectory(directory));
    }
  }
  for (int i = 0; i < 40; ++i) {
    EXPECT_EQ(Text("d" + std::to_string(i) + "/to"), std::to_string(i));
  }
}

TEST(PosixFileSystem, ADirectoryThatIsKeptOpenAndRemovedByAPersonIsFoundAnewOnceItIsThereAgain) {
  const TemporaryDirectory root;
  const auto files =
      OpenPosixFileSystem(root.path(), NewFiles::kPrivate, nullptr, Directories::kKeptOpen);
  ASSERT_TRUE(files);
  const auto rename = [&] { return (*files)->Rename("a/from", "a/to"); };
  for (const bool by_us : {true, false}) {
    ASSERT_TRUE((*files)->MakeDirectory("a"));
    root.Write("a/from", "1");
    ASSERT_TRUE(rename());
    std::filesystem::remove_all(root.At("a"));
    if (!by_us) {
      EXPECT_FALSE(rename());
      std::filesystem::create_directory(root.At("a"));
    } else {
      ASSERT_TRUE((*files)->MakeDirectory("a"));
    }
    root.Write("a/from", "2");
    ASSERT_TRUE(rename());
    EXPECT_TRUE(std::filesystem::exists(root.At("a/to")));
    std::filesystem::remove_all(root.At("a"));
  }
}

TEST(PosixFileSystem, PrivateFilesHaveThatModeWhateverTheUmask) {
  const TemporaryDirectory root;
  for (const mode_t mask : {mode_t{0}, mode_t{0777}}) {
    const auto files = OpenPosixFileSystem(root.path(), NewFiles::kPrivate);
    ASSERT_TRUE(files);
    for (const std::string each : {"first", "second"}) {
      const std::string name = each + std::to_string(mask);
      const mode_t before = ::umask(mask);
      const auto file = (*files)->Open(name, kExclusive);
      ::umask(before);
      ASSERT_TRUE(file && *file);
      EXPECT_EQ((*file)->Stat().value_or(FileStatus{}).mode & 0777, 0600U) << mask;
    }
  }
}

// Linux tells a descriptor only of failed writes since it was opened.
TEST(PosixFileSystem, AllIsSyncedThroughADescriptorFromBeforeTheFirstWrite) {
  const TemporaryDirectory root;
  std::filesystem::create_directory(root.At("folder"));
  const auto files = OpenPosixFileSystem(root.At("folder"));
  ASSERT_TRUE(files);
  std::filesystem::remove(root.At("folder"));
  const Status synced = (*files)->SyncAll();
  EXPECT_TRUE(synced) << synced.error().message << ": the folder was opened for this call";
}

TEST(PosixFileSystem, LinksOutOfTheRootAreNotFollowed) {
  const TemporaryDirectory outside;
  const TemporaryDirectory root;
  outside.Write("file", "secret");
  std::filesystem::create_symlink(outside.path(), root.At("out"));
  std::filesystem::create_symlink(outside.At("new"), root.At("dangling"));
  const auto files = OpenPosixFileSystem(root.path());
  ASSERT_TRUE(files);
  EXPECT_EQ((*files)->Open("out/file", {}).error().code, ErrorCode::kPermissionDenied);
  EXPECT_EQ((*files)->Open("out/made", kCreate).error().code, ErrorCode::kPermissionDenied);
  EXPECT_EQ((*files)->Remove("out/file").error().code, ErrorCode::kPermissionDenied);
  EXPECT_FALSE((*files)->Open("dangling", kCreate));
  EXPECT_FALSE(std::filesystem::exists(outside.At("new")));
  EXPECT_TRUE(std::filesystem::exists(outside.At("file")));
  // A link itself can go.
  EXPECT_TRUE((*files)->Remove("out").value_or(false));
  EXPECT_TRUE(std::filesystem::exists(outside.At("file")));
}

TEST(PosixFileSystem, SpecialFilesAreRefused) {
  const TemporaryDirectory root;
  ASSERT_EQ(::mkfifo(root.At("pipe").c_str(), 0600), 0);
  const auto files = OpenPosixFileSystem(root.path());
  ASSERT_TRUE(files);
  const auto opened = (*files)->Open("pipe", kWrite);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::kDataLoss);
}

TEST(PosixFileSystem, CopiesBetweenFileSystemsFallBackToReading) {
  const TemporaryDirectory here;
  const auto files = OpenPosixFileSystem(here.path());
  const auto system = OpenPosixFileSystem("/proc/self");
  ASSERT_TRUE(files && system);
  // The kernel refuses to copy from a file that it makes up, or claims that it is empty.
  const auto source = (*system)->Open("cmdline", {});
  ASSERT_TRUE(source && *source);
  ByteVector expected(5);
  ASSERT_EQ((*source)->Read(0, expected).value_or(0), 5U);
  const auto copy = (*files)->Open("copy", kCreate);
  ASSERT_TRUE(copy);
  const auto copied = (*copy)->CopyFrom(**source, ByteRange{0, 5}, 0);
  ASSERT_TRUE(copied) << copied.error().message;
  ByteVector found(5);
  ASSERT_EQ((*copy)->Read(0, found).value_or(0), 5U);
  EXPECT_EQ(found, expected);
}

}  // namespace
}  // namespace unshard
