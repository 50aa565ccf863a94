#include "store/copy/zip_output.h"

#include <fcntl.h>
#include <stdio.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "codec/json/parser.h"
#include "codec/json/writer.h"
#include "store/cache/entry.h"
#include "store/local/named_file.h"
#include "store/local/posix_file_system.h"
#include "store/object/key.h"
#include "store/source/document_names.h"
#include "store/zip/zip_writer.h"

namespace unshard {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDataset = "dataset";
constexpr const char* kArchive = "archive";
constexpr const char* kLock = "lock";
// TensorStore and Neuroglancer look no further for the end record.
constexpr std::size_t kMostComment = 4096;

// ".out.ozx.unshard-": what the names of directories for this archive begin with.
std::string PrefixFor(const std::string& name) { return '.' + name + ".unshard-"; }

std::string HexOf(const std::string& work) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  constexpr std::size_t kBytes = 8;
  const CacheDigest digest = DigestOf({work});
  std::string text;
  for (std::size_t i = 0; i < kBytes; ++i) {
    text += kDigits[digest[i] >> 4];
    text += kDigits[digest[i] & 15];
  }
  return text;
}

Status RemoveTree(const std::string& path) {
  std::error_code failed;
  fs::remove_all(path, failed);
  return failed ? FailErrno(failed.value(), path) : Status();
}

// The lock of a directory until the file is closed; null where another process has it.
Result<std::shared_ptr<File>> LockWork(FileSystem& files, const std::string& work) {
  const std::string path = JoinPath(work, kLock);
  auto lock = files.Open(path, {.write = true, .create = true});
  if (!lock && lock.error().system_errno == ENOENT) return nullptr;
  UNSHARD_RETURN_IF_ERROR(lock);
  UNSHARD_ASSIGN_OR_RETURN(const bool locked, (*lock)->Lock(false));
  if (!locked) return nullptr;
  // The copy that held it until now may have removed it.
  UNSHARD_ASSIGN_OR_RETURN(const bool is_named, IsNamed(files, path, **lock));
  return is_named ? *std::move(lock) : nullptr;
}

// What copies to this archive have left that did other work, and have ended.
Status RemoveOtherWork(FileSystem& files, const std::string& prefix, const std::string& work) {
  UNSHARD_ASSIGN_OR_RETURN(const auto names, SortedNames(files, ""));
  for (const std::string& name : names) {
    if (!name.starts_with(prefix) || name == work) continue;
    UNSHARD_ASSIGN_OR_RETURN(const auto lock, LockWork(files, name));
    if (lock) UNSHARD_RETURN_IF_ERROR(RemoveTree(files.Describe(name)));
  }
  return {};
}

Status ExpectNoArchive(const std::string& path) {
  std::error_code unknown;
  if (fs::symlink_status(path, unknown).type() == fs::file_type::not_found) return {};
  return Fail(ErrorCode::kInvalidArgument, path, ": is there already; --replace replaces it whole");
}

// zarr.json first, by depth; then by path.
bool IsPackedBefore(const std::string& a, const std::string& b) {
  const auto rank = [](const std::string& path) -> std::ptrdiff_t {
    if (BaseName(path) != kZarrDocument) return PTRDIFF_MAX;
    return std::count(path.begin(), path.end(), '/');
  };
  const auto of_a = rank(a), of_b = rank(b);
  return of_a != of_b ? of_a < of_b : a < b;
}

// The files below `root`, in the order of the archive.
Result<std::vector<std::string>> FilesBelow(const std::string& root) {
  std::vector<std::string> paths;
  std::error_code failed;
  for (fs::recursive_directory_iterator at(root, failed), end; !failed && at != end;
       at.increment(failed)) {
    if (!at->is_regular_file(failed)) continue;
    paths.push_back(at->path().string().substr(root.size() + 1));
  }
  if (failed) return FailErrno(failed.value(), root);
  std::sort(paths.begin(), paths.end(), IsPackedBefore);
  return paths;
}

// RFC-9's comment; "" where the root is no OME-Zarr.
Result<std::string> CommentFor(FileSystem& dataset) {
  UNSHARD_ASSIGN_OR_RETURN(const auto file, dataset.Open(std::string(kZarrDocument), {}));
  if (!file) return std::string();
  UNSHARD_ASSIGN_OR_RETURN(const FileStatus status, file->Stat());
  ByteVector text(static_cast<std::size_t>(status.size));
  UNSHARD_ASSIGN_OR_RETURN(const std::size_t size, file->Read(0, text));
  const auto document = ParseJson(AsText(ByteSpan(text).first(size)));
  const JsonValue* at = document ? &*document : nullptr;
  for (const char* name : {"attributes", "ome", "version"}) {
    if (at != nullptr) at = at->is_object() ? at->Find(name) : nullptr;
  }
  if (at == nullptr) return std::string();
  JsonValue directory = JsonValue::Object(), zip = JsonValue::Object(), ome = JsonValue::Object();
  JsonValue comment = JsonValue::Object();
  directory.Set("jsonFirst", JsonValue::Boolean(true));
  zip.Set("centralDirectory", std::move(directory));
  ome.Set("version", *at);
  ome.Set("zipFile", std::move(zip));
  comment.Set("ome", std::move(ome));
  std::string written = WriteJson(comment);
  return written.size() <= kMostComment ? written : std::string();
}

}  // namespace

Status ZipOutput::Check(const std::string& path, bool replaces) {
  const std::string above = fs::absolute(path).lexically_normal().parent_path().string();
  std::error_code unknown;
  if (!fs::is_directory(above, unknown)) {
    return Fail(ErrorCode::kInvalidArgument, path, ": the directory ", above,
                " does not exist; make it first");
  }
  return replaces ? Status() : ExpectNoArchive(path);
}

Result<std::unique_ptr<ZipOutput>> ZipOutput::Begin(const std::string& path,
                                                    const std::string& work, bool replaces) {
  const fs::path absolute = fs::absolute(path).lexically_normal();
  const std::string name = absolute.filename().string();
  const std::string above = absolute.parent_path().string();
  UNSHARD_RETURN_IF_ERROR(Check(path, replaces));
  UNSHARD_ASSIGN_OR_RETURN(auto files, OpenPosixFileSystem(above));
  const std::string key = PrefixFor(name) + HexOf(work);
  UNSHARD_RETURN_IF_ERROR(RemoveOtherWork(*files, PrefixFor(name), key));
  UNSHARD_RETURN_IF_ERROR(files->MakeDirectory(key));
  std::unique_ptr<ZipOutput> output(new ZipOutput(absolute.string(), replaces, files, key));
  UNSHARD_ASSIGN_OR_RETURN(output->lock_, LockWork(*files, key));
  if (!output->lock_) {
    return Fail(ErrorCode::kConflict, path, ": another process is writing it");
  }
  UNSHARD_RETURN_IF_ERROR(files->MakeDirectory(JoinPath(key, kDataset)));
  output->directory_ = files->Describe(JoinPath(key, kDataset));
  return output;
}

std::string ZipOutput::Shown(std::string text) const {
  for (const std::string& place : {directory_, files_->Describe(JoinPath(work_, kArchive))}) {
    for (std::size_t at = 0; (at = text.find(place, at)) != text.npos; at += path_.size()) {
      text.replace(at, place.size(), path_);
    }
  }
  return text;
}

Result<ZipOutput::Packed> ZipOutput::Finish() {
  UNSHARD_ASSIGN_OR_RETURN(const auto paths, FilesBelow(directory_));
  UNSHARD_ASSIGN_OR_RETURN(const auto dataset, OpenPosixFileSystem(directory_));
  UNSHARD_ASSIGN_OR_RETURN(const std::string comment, CommentFor(*dataset));
  const OpenFlags anew{.write = true, .create = true, .truncate = true};
  UNSHARD_ASSIGN_OR_RETURN(auto archive, files_->Open(JoinPath(work_, kArchive), anew));
  ZipWriter writer(std::move(archive));
  for (const std::string& path : paths) {
    UNSHARD_ASSIGN_OR_RETURN(const auto file, dataset->Open(path, {}));
    if (!file) return Fail(ErrorCode::kConflict, JoinPath(directory_, path), ": is gone");
    UNSHARD_RETURN_IF_ERROR(writer.Add(path, *file));
  }
  UNSHARD_RETURN_IF_ERROR(writer.Finish(comment));
  UNSHARD_RETURN_IF_ERROR(GiveName());
  UNSHARD_RETURN_IF_ERROR(RemoveTree(files_->Describe(work_)));
  return Packed{writer.entries(), writer.bytes()};
}

// Where nothing is to be replaced, nothing is: not an archive that came meanwhile either.
Status ZipOutput::GiveName() {
  const std::string from = JoinPath(work_, kArchive), to = BaseName(path_);
  if (!replaces_) {
    const std::string source = files_->Describe(from);
    if (renameat2(AT_FDCWD, source.c_str(), AT_FDCWD, path_.c_str(), RENAME_NOREPLACE) == 0) {
      return files_->SyncDirectory("");
    }
    if (errno == EEXIST) return ExpectNoArchive(path_);
    UNSHARD_RETURN_IF_ERROR(ExpectNoArchive(path_));  // the file system cannot
  }
  UNSHARD_RETURN_IF_ERROR(files_->Rename(from, to));
  return files_->SyncDirectory("");
}

}  // namespace unshard
