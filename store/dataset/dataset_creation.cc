// Writing the documents of a new dataset:
//
// 1. A local destination is addressed from its nearest ancestor that exists, so that the missing
//    directories are made, and synced, as those of any other object.
// 2. Nothing may be at the destination that makes it a dataset.
// 3. Each document is created on the condition that it is missing: deeper ones first, the document
//    that makes the root a dataset last. A deeper document that exists with the same text is kept:
//    another creation has made it, which was killed or is under way.
// 4. After a failure the documents that were certainly created are removed, the last one first, and
//    then the directories that were made, as far as they are empty.
#include "store/dataset/dataset_creation.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "codec/array/document_names.h"
#include "codec/json/parser.h"
#include "store/dataset/dataset_difference.h"
#include "store/dataset/directory_documents.h"
#include "store/object/key.h"
#include "store/object/log.h"
#include "store/source/mentioned_names.h"
#include "store/source/named_source.h"
#include "store/source/source.h"
#include "store/source/zip_place.h"

namespace unshard {
namespace {

// By what readers look for.
constexpr std::array<std::string_view, 7> kDocumentNames = {
    ".zattrs", ".zmetadata", ".zgroup", ".zarray", "attributes.json", "zarr.json", "info"};

std::size_t RankOf(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  const auto found = std::find(kDocumentNames.begin(), kDocumentNames.end(), name);
  return static_cast<std::size_t>(found - kDocumentNames.begin());
}

// Deeper documents first; in one directory, in the order of kDocumentNames.
bool WrittenBefore(const NewDocument& a, const NewDocument& b) {
  const auto depth = [](const std::string& path) {
    return std::count(path.begin(), path.end(), '/');
  };
  if (depth(a.path) != depth(b.path)) return depth(a.path) > depth(b.path);
  if (RankOf(a.path) != RankOf(b.path)) return RankOf(a.path) < RankOf(b.path);
  return a.path < b.path;
}

struct Destination {
  SourceParts parts;
  std::string prefix;  // the dataset's directory below the root of `parts`
  std::string shown;
};

Result<Destination> OpenUrl(const std::string& url) {
  VolumeOptions options;
  UNSHARD_RETURN_IF_ERROR(NameUrl(url, options));
  options.read_only = false;
  Destination destination;
  destination.shown = options.source;
  UNSHARD_ASSIGN_OR_RETURN(destination.parts, OpenSource(options, nullptr));
  if (!destination.parts.replacer) {
    return Fail(ErrorCode::kReadOnly, destination.shown,
                ": sources of this scheme are read-only; create the dataset in a directory");
  }
  return destination;
}

Result<Destination> OpenDirectory(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code failed;
  fs::path existing = fs::absolute(path, failed).lexically_normal();
  if (failed) return FailErrno(failed.value(), path);
  if (!existing.has_filename()) existing = existing.parent_path();
  Destination destination;
  destination.shown = existing.string();
  const auto missing = [](const fs::path& at) {
    std::error_code unknown;
    return fs::symlink_status(at, unknown).type() == fs::file_type::not_found;
  };
  while (existing.has_relative_path() && missing(existing)) {
    destination.prefix = JoinPath(existing.filename().string(), destination.prefix);
    existing = existing.parent_path();
  }
  VolumeOptions options;
  options.source = existing.string();
  options.watch = WatchMode::kOff;
  UNSHARD_ASSIGN_OR_RETURN(destination.parts, OpenSource(options, nullptr));
  return destination;
}

// ", which differs: chunks 32,32,32 there, 64,64,64 asked"; "" where that cannot be found out.
std::string DifferenceFrom(Destination& destination, const std::vector<NewDocument>& documents) {
  for (auto asked = documents.rbegin(); asked != documents.rend(); ++asked) {
    const std::string key = JoinPath(destination.prefix, asked->path);
    const auto there =
        ReadWhole(*destination.parts.store, key, kMaxDocumentBytes, CallerDeadline());
    if (!there || !*there) continue;
    const std::string name = asked->path.substr(asked->path.rfind('/') + 1);
    const std::string difference = DifferenceOf(name, (*there)->text, asked->text);
    if (!difference.empty()) return ", which differs: " + difference;
  }
  return "";
}

Status ExpectNoDataset(Destination& destination, const std::vector<NewDocument>& documents) {
  for (const std::string_view name : kDocumentNames) {
    const std::string key = JoinPath(destination.prefix, name);
    UNSHARD_ASSIGN_OR_RETURN(const auto found,
                             destination.parts.store->Stat(key, CallerDeadline()));
    if (!found) continue;
    return Fail(ErrorCode::kInvalidArgument, destination.shown, ": there is a dataset already (",
                name, ")", DifferenceFrom(destination, documents),
                "; name a directory without one, or remove it first");
  }
  return {};
}

void RemoveObject(Destination& destination, const std::string& path) {
  const std::string key = JoinPath(destination.prefix, path);
  ObjectReplacer& replacer = *destination.parts.replacer;
  auto replacement = replacer.Begin({key, std::nullopt}, CallerDeadline());
  Status removed;
  if (!replacement) {
    removed = tl::unexpected<Error>(std::move(replacement).error());
  } else if ((*replacement)->base()) {
    const auto outcome = (*replacement)->Remove([]() -> Status { return {}; });
    if (!outcome) removed = tl::unexpected<Error>(outcome.error());
    if (outcome) removed = (*replacement)->MakeDurable();
  }
  if (!removed)
    LogWarning(replacer.Describe(key) + ": cannot be removed: " + removed.error().message);
}

// The directories above `path`, the deepest first, down to that of the dataset.
std::vector<std::string> DirectoriesAbove(const std::string& path) {
  std::vector<std::string> directories;
  for (std::string at = ParentPath(path); !at.empty(); at = ParentPath(at))
    directories.push_back(at);
  return directories;
}

// Whether another process has created the same dataset meanwhile, with documents of this one.
bool IsComplete(Destination& destination, const std::vector<NewDocument>& documents) {
  if (documents.empty()) return false;
  const NewDocument& last = documents.back();
  const auto there = ReadWhole(*destination.parts.store, JoinPath(destination.prefix, last.path),
                               kMaxDocumentBytes, CallerDeadline());
  return there && *there && (*there)->text == last.text;
}

class Creation {
 public:
  explicit Creation(Destination& destination) : destination_(destination) {}

  Status Write(const std::vector<NewDocument>& documents) {
    for (const NewDocument& document : documents) {
      NoteMissing(JoinPath(destination_.prefix, document.path));
      UNSHARD_RETURN_IF_ERROR(Create(document));
    }
    // A creation by another process may have failed since, and removed its own.
    for (const NewDocument& document : documents) {
      if (adopted_.contains(document.path)) UNSHARD_RETURN_IF_ERROR(Create(document));
    }
    return {};
  }

  void Undo() {
    for (auto path = created_.rbegin(); path != created_.rend(); ++path) {
      RemoveObject(destination_, *path);
    }
    if (!destination_.parts.files) return;
    std::sort(made_.begin(), made_.end(),
              [](const auto& a, const auto& b) { return a.size() > b.size(); });
    for (const std::string& directory : made_) {
      const auto there = destination_.parts.store->Stat(directory, CallerDeadline());
      if (!there || !*there) continue;  // the failure was that it could not be made
      const auto removed = destination_.parts.files->Remove(directory);
      if (!removed) LogWarning(removed.error().message);
    }
  }

 private:
  // What another process has created is not among `created_`.
  Status Create(const NewDocument& document) {
    const std::string key = JoinPath(destination_.prefix, document.path);
    ObjectReplacer& replacer = *destination_.parts.replacer;
    UNSHARD_ASSIGN_OR_RETURN(const auto replacement,
                             replacer.Begin({key, std::nullopt}, CallerDeadline()));
    const auto taken = [&] {
      return Fail(
          ErrorCode::kConflict, replacer.Describe(key),
          ": another process has just created it; run the same command again to help with it");
    };
    if (replacement->base()) {
      UNSHARD_ASSIGN_OR_RETURN(const bool left, IsLeft(document, *replacement->base()));
      if (!left) return taken();
      adopted_.insert(document.path);
      return {};
    }
    UNSHARD_RETURN_IF_ERROR(replacement->Write(0, AsBytes(document.text)));
    UNSHARD_ASSIGN_OR_RETURN(Committed committed,
                             replacement->Commit([]() -> Status { return {}; }));
    if (committed.outcome == Committed::Outcome::kConditionFailed) return taken();
    if (committed.outcome == Committed::Outcome::kUnknown) {
      return Forward(std::move(committed.reason),
                     replacer.Describe(key) + ": it is not known whether it was created");
    }
    created_.push_back(document.path);
    return replacement->MakeDurable();
  }

  // Whether a creation that was killed has made it: a document below that of the root, and the
  // same.
  static Result<bool> IsLeft(const NewDocument& document, ObjectVersion& there) {
    const std::size_t size = document.text.size();
    if (document.path.find('/') == std::string::npos || there.info().size != size) return false;
    UNSHARD_ASSIGN_OR_RETURN(const ReadResult read,
                             there.Read(RangeRequest::At(0, size), CallerDeadline()));
    return read.state == ReadResult::State::kFound && AsText(read.value.span()) == document.text;
  }

  void NoteMissing(const std::string& key) {
    if (!destination_.parts.files) return;
    for (const std::string& directory : DirectoriesAbove(key)) {
      if (std::find(made_.begin(), made_.end(), directory) != made_.end()) return;
      const auto found = destination_.parts.store->Stat(directory, CallerDeadline());
      if (!found || *found) return;
      made_.push_back(directory);
    }
  }

  Destination& destination_;
  std::vector<std::string> created_;
  std::set<std::string> adopted_;  // made by another creation, which was killed or is under way
  std::vector<std::string> made_;
};

// --- Reading the documents of another dataset

constexpr std::size_t kMaxDepth = 16;
constexpr std::size_t kMaxDocuments = 100000;

// What the documents of one directory say of the directories below it.
struct Below {
  bool entered = true;  // false: there are chunks, and no documents
  std::vector<std::string> mentioned;
};

class DocumentWalk {
 public:
  DocumentWalk(ObjectStore& store, const Deadline& deadline) : store_(store), deadline_(deadline) {}

  Status Visit(const std::string& directory, std::size_t depth) {
    if (!visited_.insert(directory).second) return {};
    if (depth > kMaxDepth) return TooMany(directory, "16 levels of directories");
    Below below;
    for (const std::string_view name : kDocumentNames) {
      const std::string path = JoinPath(directory, name);
      UNSHARD_ASSIGN_OR_RETURN(auto object, ReadWhole(store_, path, kMaxDocumentBytes, deadline_));
      if (!object) continue;
      if (documents_.size() >= kMaxDocuments) return TooMany(directory, "100000 documents");
      const auto document = ParseJson(object->text);
      if (!document) return Forward(document.error(), store_.Describe(path));
      Describe(directory, name, *document, below);
      documents_.push_back({path, std::move(object->text)});
    }
    return below.entered ? VisitMembers(directory, below, depth) : Status();
  }

  std::vector<NewDocument> Take() { return std::move(documents_); }

 private:
  void Describe(const std::string& directory, std::string_view name, const JsonValue& document,
                Below& below) {
    const auto dialect = DialectOfDocument(name);
    const bool is_info = dialect == Dialect::kPrecomputed;
    // Beside the scales of a volume are the directories of meshes and such, each with its `info`.
    const bool has_arrays = dialect && DescribesArrays(*dialect, document);
    if (is_info ? !has_arrays : has_arrays) below.entered = false;
    for (const JsonValue& scale : ItemsOf(document, "scales")) {
      if (!is_info) break;
      if (const auto path = ResolvePath(directory, TextOf(scale, "key"))) scales_.insert(*path);
    }
    if (!store_.capabilities().lists) AddMentioned(directory, name, document, below);
  }

  // Adds each directory that the document mentions, and those between `directory` and it.
  static void AddMentioned(const std::string& directory, std::string_view name,
                           const JsonValue& document, Below& below) {
    std::vector<std::string> names = NamesMentionedIn(name, document).directories;
    if (!names.empty() && name != "info") names.emplace_back(kLabelsDirectory);
    for (const std::string& member : names) {
      std::string path = ResolvePath(directory, member).value_or(directory);
      for (; path != directory && IsAtOrBelow(path, directory); path = ParentPath(path)) {
        below.mentioned.push_back(path);
      }
    }
  }

  Status VisitMembers(const std::string& directory, const Below& below, std::size_t depth) {
    std::vector<std::string> members = below.mentioned;
    if (store_.capabilities().lists) {
      const std::size_t most = members.size() + kMaxDocuments;
      UNSHARD_RETURN_IF_ERROR(store_.List(directory, deadline_, [&](const ListEntry& entry) {
        if (entry.kind == ObjectInfo::Kind::kDirectory) {
          members.push_back(JoinPath(directory, entry.name));
        }
        return members.size() <= most;
      }));
    }
    std::sort(members.begin(), members.end());
    for (const std::string& member : members) {
      if (scales_.contains(member)) continue;
      UNSHARD_RETURN_IF_ERROR(Visit(member, depth + 1));
    }
    return {};
  }

  tl::unexpected<Error> TooMany(const std::string& directory, const char* limit) const {
    return Fail(ErrorCode::kResourceExhausted, store_.Describe(directory), ": more than ", limit,
                " in one dataset");
  }

  ObjectStore& store_;
  const Deadline& deadline_;
  std::set<std::string> visited_;
  std::set<std::string> scales_;  // directories of volumes without documents
  std::vector<NewDocument> documents_;
};

// Fails where the name says another format than that of the documents.
Result<Destination> OpenNamed(const std::string& destination,
                              const std::vector<NewDocument>& documents) {
  UNSHARD_ASSIGN_OR_RETURN(const NamedSource name, ParseNamedSource(destination));
  if (NamesZip(name)) {
    return Fail(ErrorCode::kReadOnly, IsUrl(name.place) ? ShownUrl(name.place) : name.place,
                ": ZIP archives are written whole; create the dataset in a directory, and "
                "`unshard copy` it to the archive");
  }
  UNSHARD_ASSIGN_OR_RETURN(Destination opened,
                           IsUrl(name.place) ? OpenUrl(name.place) : OpenDirectory(name.place));
  for (const NewDocument& document : documents) {
    if (name.format.empty() || IsOfFormat(BaseName(document.path), name.format)) continue;
    return Fail(ErrorCode::kInvalidArgument, opened.shown, ": its name says ", name.format,
                ", but its first document would be ", document.path);
  }
  return opened;
}

}  // namespace

Status CreateDataset(const std::string& destination, std::vector<NewDocument> documents) {
  std::sort(documents.begin(), documents.end(), WrittenBefore);
  UNSHARD_ASSIGN_OR_RETURN(Destination opened, OpenNamed(destination, documents));
  UNSHARD_RETURN_IF_ERROR(ExpectNoDataset(opened, documents));
  Creation creation(opened);
  Status written = creation.Write(documents);
  if (!written && !IsComplete(opened, documents)) creation.Undo();
  return written;
}

Status CheckNoDataset(const std::string& destination, const std::vector<NewDocument>& documents) {
  UNSHARD_ASSIGN_OR_RETURN(Destination opened, OpenNamed(destination, documents));
  return ExpectNoDataset(opened, documents);
}

Result<std::vector<NewDocument>> ReadDocuments(ObjectStore& store, const Deadline& deadline) {
  DocumentWalk walk(store, deadline);
  UNSHARD_RETURN_IF_ERROR(walk.Visit("", 0));
  std::vector<NewDocument> documents = walk.Take();
  if (!documents.empty()) return documents;
  return Fail(ErrorCode::kNotFound, store.Describe(""), ": there is no dataset");
}

}  // namespace unshard
