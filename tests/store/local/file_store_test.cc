#include "store/local/file_store.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/openat2.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "store/local/root_directory.h"
#include "tests/support/temporary_directory.h"

namespace unshard {
namespace {

namespace fs = std::filesystem;

class FileStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(directory_.At("root"));
    auto store = OpenFileStore(directory_.At("root"), 2);
    ASSERT_TRUE(store) << store.error().message;
    store_ = *store;
  }
  std::shared_ptr<ObjectVersion> Open(std::string_view key) {
    auto opened = store_->Open(key, RangeRequest::At(0, 0), Deadline::None());
    EXPECT_TRUE(opened) << opened.error().message;
    return opened ? opened->version : nullptr;
  }
  static ReadResult::State StateOf(ObjectVersion& handle) {
    const auto read = handle.Read(RangeRequest::At(0, 1), Deadline::None());
    EXPECT_TRUE(read) << read.error().message;
    return read ? read->state : ReadResult::State::kConditionFailed;
  }

  TemporaryDirectory directory_;
  std::shared_ptr<ObjectStore> store_;
};

class RootDirectoryTest : public testing::TestWithParam<RootDirectory::Resolver> {};
INSTANTIATE_TEST_SUITE_P(Resolvers, RootDirectoryTest,
                         testing::Values(RootDirectory::Resolver::kBest,
                                         RootDirectory::Resolver::kPortable));

TEST(RootDirectory, TheKernelIsAskedWhereItKnowsHow) {
  const TemporaryDirectory directory;
  open_how how{};
  how.flags = O_PATH;
  how.resolve = RESOLVE_BENEATH;
  const FileDescriptor available(
      static_cast<int>(::syscall(SYS_openat2, AT_FDCWD, ".", &how, sizeof(how))));
  const auto root = RootDirectory::Open(directory.path());
  ASSERT_TRUE(root);
  EXPECT_EQ((*root)->asks_kernel(), available.valid());
}

TEST_P(RootDirectoryTest, FollowsLinksThatStayInsideAndRefusesOthers) {
  const TemporaryDirectory directory;
  directory.Write("root/inside/file", "x");
  directory.Write("outside/file", "x");
  directory.Write("root-too/file", "x");
  const auto link = [&](const std::string& to, const std::string& name) {
    fs::create_symlink(to, directory.At("root/" + name));
  };
  link("inside/file", "relative");
  link(directory.At("root/inside/file"), "absolute");
  link("inside", "directory");
  link("../outside/file", "leaves");
  link(directory.At("outside"), "leaves_absolute");
  link(directory.At("root-too"), "same_prefix");
  link("nowhere", "dangling");
  const auto root = RootDirectory::Open(directory.At("root"), GetParam());
  ASSERT_TRUE(root);
  for (const char* key : {"relative", "absolute", "directory/file", "inside/file"}) {
    const auto opened = (*root)->OpenBeneath(key, O_RDONLY);
    ASSERT_TRUE(opened) << key << ": " << opened.error().message;
    EXPECT_TRUE(opened->valid()) << key;
  }
  for (const char* key :
       {"leaves", "leaves_absolute/file", "leaves_absolute", "same_prefix/file"}) {
    const auto opened = (*root)->OpenBeneath(key, O_RDONLY);
    ASSERT_FALSE(opened) << key;
    EXPECT_EQ(opened.error().code, ErrorCode::kPermissionDenied) << key;
  }
  const auto dangling = (*root)->OpenBeneath("dangling", O_RDONLY);
  ASSERT_TRUE(dangling);
  EXPECT_FALSE(dangling->valid());
}

TEST_P(RootDirectoryTest, OpensNothingOnItsOwnMount) {
  const TemporaryDirectory directory;
  directory.Write("folder/file", "x");
  fs::create_symlink("/proc/version", directory.At("absolute"));
  fs::create_symlink("absolute", directory.At("relative"));
  fs::create_symlink("/proc/self/root" + directory.At("folder"), directory.At("through"));
  struct stat status {};
  ASSERT_EQ(::stat("/proc", &status), 0);
  const auto own = std::make_shared<OwnMount>();
  const auto root = RootDirectory::Open("/", GetParam(), own);
  ASSERT_TRUE(root);
  EXPECT_TRUE((*root)->OpenBeneath("proc/version", O_RDONLY)) << "it is not known yet";
  own->Set(status.st_dev);
  const std::string here = directory.path().substr(1);
  for (const std::string& key :
       {std::string("proc"), std::string("proc/version"), std::string("proc/no/such/file"),
        here + "/absolute", here + "/relative", here + "/through/file"}) {
    const auto opened = (*root)->OpenBeneath(key, O_RDONLY);
    ASSERT_FALSE(opened) << key;
    EXPECT_EQ(opened.error().system_errno, ELOOP) << key;
    EXPECT_EQ(opened.error().message.find("/" + key + ": "), 0u) << opened.error().message;
    EXPECT_NE(opened.error().message.find(" at /proc; "), std::string::npos);
  }
  const auto file = (*root)->OpenBeneath(here + "/folder/file", O_RDONLY);
  EXPECT_TRUE(file && file->valid());
  const auto missing = (*root)->OpenBeneath(here + "/folder/none", O_RDONLY);
  EXPECT_TRUE(missing && !missing->valid());
}

TEST_P(RootDirectoryTest, ACircleOfLinksIsOne) {
  const TemporaryDirectory directory;
  fs::create_symlink("circle", directory.At("circle"));
  const auto root = RootDirectory::Open(directory.path(), GetParam());
  ASSERT_TRUE(root);
  const auto opened = (*root)->OpenBeneath("circle", O_RDONLY);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().system_errno, ELOOP);
}

TEST_F(FileStoreTest, KeepsItsRootWhenTheDirectoryIsRenamed) {
  directory_.Write("root/file", "x");
  fs::rename(directory_.At("root"), directory_.At("moved"));
  EXPECT_TRUE(Open("file"));
}

TEST_F(FileStoreTest, RefusesARootThatIsNoDirectory) {
  directory_.Write("file", "x");
  EXPECT_FALSE(OpenFileStore(directory_.At("file"), 2));
  EXPECT_FALSE(OpenFileStore(directory_.At("absent"), 2));
}

TEST_F(FileStoreTest, AnOverwriteInPlaceFailsTheCondition) {
  directory_.Write("root/file", "old");
  const auto handle = Open("file");
  ASSERT_TRUE(handle);
  EXPECT_EQ(StateOf(*handle), ReadResult::State::kFound);
  ::usleep(20000);  // beyond the resolution of file times
  directory_.Write("root/file", "new");
  EXPECT_EQ(StateOf(*handle), ReadResult::State::kConditionFailed);
  EXPECT_FALSE(handle->Slice({0, 1}));
}

TEST_F(FileStoreTest, ATruncationFailsTheCondition) {
  directory_.Write("root/file", "0123456789");
  const auto handle = Open("file");
  ASSERT_TRUE(handle);
  fs::resize_file(directory_.At("root/file"), 4);
  const auto read = handle->Read(RangeRequest::At(0, 10), Deadline::None());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->state, ReadResult::State::kConditionFailed);
}

TEST_F(FileStoreTest, ClosesTheLeastRecentlyUsedFileAndOpensItAgain) {
  for (const char* key : {"root/a", "root/b", "root/c"}) directory_.Write(key, key);
  const auto a = Open("a");
  const auto b = Open("b");
  const auto c = Open("c");
  ASSERT_TRUE(a && b && c);
  std::size_t open = 0;
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const auto target = fs::read_symlink(entry.path(), gone);
    if (!gone && target.string().starts_with(directory_.At("root/"))) ++open;
  }
  EXPECT_EQ(open, 2u);
  EXPECT_EQ(StateOf(*a), ReadResult::State::kFound);
}

TEST_F(FileStoreTest, AFileReplacedWhileItWasClosedFailsTheCondition) {
  for (const char* key : {"root/a", "root/b", "root/c"}) directory_.Write(key, key);
  const auto a = Open("a");
  const auto b = Open("b");
  const auto c = Open("c");
  ASSERT_TRUE(a && b && c);
  directory_.Replace("root/a", "other");
  EXPECT_EQ(StateOf(*a), ReadResult::State::kConditionFailed);
  directory_.Remove("root/a");
  EXPECT_EQ(StateOf(*a), ReadResult::State::kConditionFailed);
}

TEST_F(FileStoreTest, AFreshlyWrittenFileIsNotSliced) {
  directory_.Write("root/file", "0123456789");
  directory_.Age("root/file");  // its change time is still new
  const auto handle = Open("file");
  ASSERT_TRUE(handle);
  EXPECT_FALSE(handle->Slice({0, 4}));
}

TEST_F(FileStoreTest, ASettledFileIsSlicedAndItsDescriptorOutlivesTheHandle) {
  directory_.Write("root/file", "0123456789");
  directory_.Write("root/b", "b");
  directory_.Write("root/c", "c");
  ::sleep(4);
  auto handle = Open("file");
  ASSERT_TRUE(handle);
  EXPECT_FALSE(handle->Slice({8, 3})) << "beyond the end";
  const auto slice = handle->Slice({2, 3});
  ASSERT_TRUE(slice);
  handle.reset();
  const auto b = Open("b");
  const auto c = Open("c");
  char bytes[3];
  ASSERT_EQ(::pread(slice->descriptor, bytes, 3, static_cast<off_t>(slice->range.begin)), 3);
  EXPECT_EQ(std::string_view(bytes, 3), "234");
}

TEST_F(FileStoreTest, SpecialFilesNeverBlock) {
  ASSERT_EQ(::mkfifo(directory_.At("root/pipe").c_str(), 0600), 0);
  const auto opened = store_->Open("pipe", RangeRequest::At(0, 1), Deadline::None());
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::kDataLoss);
  const auto info = store_->Stat("pipe", Deadline::None());
  ASSERT_TRUE(info && *info);
  EXPECT_EQ((*info)->kind, ObjectInfo::Kind::kOther);
}

TEST_F(FileStoreTest, AnUnreadableFileIsPermissionDenied) {
  directory_.Write("root/file", "x");
  fs::permissions(directory_.At("root/file"), fs::perms::none);
  // Root reads everything; the file system's user id of this thread alone is somebody else's.
  constexpr uid_t kNobody = 65534;
  const int before = ::setfsuid(kNobody);
  const auto opened = store_->Open("file", RangeRequest::At(0, 1), Deadline::None());
  ::setfsuid(static_cast<uid_t>(before));
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::kPermissionDenied);
}

TEST_F(FileStoreTest, ListsLinksByWhatTheyLeadTo) {
  directory_.Write("root/file", "x");
  fs::create_directory(directory_.At("root/directory"));
  fs::create_symlink("file", directory_.At("root/to_file"));
  fs::create_symlink("directory", directory_.At("root/to_directory"));
  fs::create_symlink("nowhere", directory_.At("root/dangling"));
  fs::create_symlink("/", directory_.At("root/leaves"));
  std::map<std::string, ObjectInfo::Kind> kinds;
  ASSERT_TRUE(store_->List("", Deadline::None(), [&](const ListEntry& entry) {
    return kinds.emplace(entry.name, entry.kind).second;
  }));
  EXPECT_EQ(kinds,
            (std::map<std::string, ObjectInfo::Kind>{{"file", ObjectInfo::Kind::kFile},
                                                     {"directory", ObjectInfo::Kind::kDirectory},
                                                     {"to_file", ObjectInfo::Kind::kFile},
                                                     {"to_directory", ObjectInfo::Kind::kDirectory},
                                                     {"leaves", ObjectInfo::Kind::kOther}}));
}

}  // namespace
}  // namespace unshard
