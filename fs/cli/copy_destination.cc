#include "fs/cli/copy_destination.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "codec/schema/copied_documents.h"
#include "fs/cli/mount_command.h"
#include "store/object/key.h"
#include "store/source/document_names.h"
#include "store/source/zip_place.h"

namespace unshard {
namespace {

// Of a group without a document of its own, so many of its datasets are looked for.
constexpr std::size_t kMostLookedFor = 8;

// Nothing where a local destination is missing.
Result<std::shared_ptr<ObjectStore>> StoreOf(VolumeOptions options) {
  std::error_code unknown;
  if (options.url.empty() && !std::filesystem::is_directory(options.source, unknown) &&
      !FindZip(options)) {
    return nullptr;
  }
  options.read_only = true;
  UNSHARD_ASSIGN_OR_RETURN(SourceParts parts, OpenSource(options, nullptr));
  return std::move(parts.store);
}

// Of a source that is one dataset. What is wrong with that names its document.
Result<std::vector<NewDocument>> DocumentsOfOne(const CreateCommand& create,
                                                const OpenedDataset& source) {
  const ViewSource& one = source.datasets().front().source;
  auto documents = DocumentsFor(create, one.dataset, "", source.store()->Describe(""));
  if (documents || documents.error().code == ErrorCode::kInvalidArgument) return documents;
  return Forward(std::move(documents).error(), source.store()->Describe(one.document));
}

// A path with a typing error makes no directories.
Status ExpectDirectoryAbove(const std::string& destination) {
  namespace fs = std::filesystem;
  UNSHARD_ASSIGN_OR_RETURN(const VolumeOptions options, CopyPlaceOf(destination));
  if (!options.url.empty()) return {};
  fs::path path = fs::path(options.source).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  const std::string above = path.parent_path().string();
  std::error_code unknown;
  if (fs::exists(path, unknown) || fs::is_directory(above, unknown)) return {};
  return Fail(ErrorCode::kNotFound, destination, ": the directory ", above,
              " does not exist; make it first");
}

}  // namespace

Result<VolumeOptions> CopyPlaceOf(const std::string& given) {
  if (given.empty()) {
    return Fail(ErrorCode::kInvalidArgument, "an empty name: expected a directory or a URL");
  }
  VolumeOptions options;
  UNSHARD_RETURN_IF_ERROR(NameSource(given, options));
  options.watch = WatchMode::kOff;
  return options;
}

Status ExpectApart(const VolumeOptions& source, const VolumeOptions& destination) {
  namespace fs = std::filesystem;
  if (source.url.empty() != destination.url.empty()) return {};
  const auto place = [](const VolumeOptions& options) {
    if (!options.url.empty()) return options.source;
    std::error_code unknown;
    const fs::path path = fs::weakly_canonical(fs::absolute(options.source, unknown), unknown);
    return (path.has_filename() ? path : path.parent_path()).string();
  };
  const std::string from = place(source), to = place(destination);
  if (from.empty() || !IsAtOrBelow(to, from)) return {};
  return Fail(ErrorCode::kInvalidArgument, destination.source,
              ": lies in the source; name a place outside it");
}

Result<bool> IsThere(const VolumeOptions& destination, const OpenedDataset& source) {
  UNSHARD_ASSIGN_OR_RETURN(const auto store, StoreOf(destination));
  if (!store) return false;
  std::vector<std::string> paths{""};
  for (const DatasetMember& dataset : source.datasets()) {
    if (paths.size() <= kMostLookedFor && !dataset.path.empty()) paths.push_back(dataset.path);
  }
  for (const std::string& path : paths) {
    for (const std::string_view name : kMetadataNames) {
      UNSHARD_ASSIGN_OR_RETURN(const auto found,
                               store->Stat(JoinPath(path, name), CallerDeadline()));
      if (found) return true;
    }
  }
  return false;
}

Result<std::vector<NewDocument>> DocumentsOfDestination(const CreateCommand& create,
                                                        OpenedDataset& source,
                                                        const std::set<std::string>& excluded) {
  UNSHARD_ASSIGN_OR_RETURN(
      std::vector<NewDocument> documents,
      source.is_single() ? DocumentsOfOne(create, source) : DocumentsForGroup(create, source));
  std::set<std::string> left_out = excluded;
  for (const SkippedMember& skipped : source.members().skipped) left_out.insert(skipped.path);
  std::erase_if(documents, [&](const NewDocument& document) {
    return std::any_of(left_out.begin(), left_out.end(),
                       [&](const std::string& path) { return IsAtOrBelow(document.path, path); });
  });
  return documents;
}

Status LeaveOutOf(OpenedDataset& source, const VolumeOptions& destination) {
  UNSHARD_ASSIGN_OR_RETURN(const auto store, StoreOf(destination));
  if (!store || source.is_single()) return {};
  std::optional<Dialect> format;
  std::vector<DatasetMember> missing;
  for (const DatasetMember& dataset : source.datasets()) {
    UNSHARD_ASSIGN_OR_RETURN(const auto there,
                             ReadViewSource(*store, dataset.path, nullptr, Arrays::kChunks));
    if (there) format = there->dataset.dialect;
    if (!there) missing.push_back(dataset);
  }
  for (const DatasetMember& dataset : missing) {
    if (!format) return {};
    const auto made = LevelsOfCopy(dataset.source.dataset, *format);
    if (made || made.error().code != ErrorCode::kNotSupported) continue;
    source.LeaveOut(dataset.path,
                    Error(made.error()).Annotate(source.store()->Describe(dataset.path)));
  }
  return {};
}

Result<bool> IsCreated(const std::string& destination, const std::vector<NewDocument>& documents) {
  UNSHARD_ASSIGN_OR_RETURN(const VolumeOptions options, CopyPlaceOf(destination));
  UNSHARD_ASSIGN_OR_RETURN(const auto store, StoreOf(options));
  if (!store) return false;
  for (const NewDocument& document : documents) {
    UNSHARD_ASSIGN_OR_RETURN(
        const auto there,
        ReadWhole(*store, document.path, document.text.size() + 1, CallerDeadline()));
    if (!there || there->text != document.text) return false;
  }
  return true;
}

Status CreateDestination(const std::string& destination, std::vector<NewDocument> documents) {
  if (const auto created = IsCreated(destination, documents); created && *created) return {};
  UNSHARD_RETURN_IF_ERROR(ExpectDirectoryAbove(destination));
  Status created = CreateDataset(destination, documents);
  if (created) return created;
  // Another copy may have begun at the same moment, and have created it before or after this one
  // looked.
  const auto there = IsCreated(destination, documents);
  return there && *there ? Status() : created;
}

}  // namespace unshard
