#include "store/dataset/directory_documents.h"

#include <algorithm>
#include <vector>

#include "codec/json/parser.h"
#include "store/object/key.h"
#include "store/object/parallel.h"
#include "store/source/document_names.h"
#include "store/source/mentioned_names.h"

namespace unshard {

DirectoryDocuments::DirectoryDocuments(ObjectStore& store, std::string directory,
                                       CatalogStore* catalog)
    : store_(store), directory_(std::move(directory)), catalog_(catalog) {
  if (catalog_ != nullptr) ReadAllAtOnce();
}

DirectoryDocuments::Document DirectoryDocuments::ReadNow(const std::string& name,
                                                         const Deadline& deadline) const {
  return ReadWhole(store_, JoinPath(directory_, name), kMaxDocumentBytes, deadline);
}

const DirectoryDocuments::Document& DirectoryDocuments::Read(const std::string& name) {
  const auto found = read_.find(name);
  if (found != read_.end()) return found->second;
  Document read = catalog_ == nullptr ? ReadNow(name, CallerDeadline()) : Document(std::nullopt);
  return read_.emplace(name, std::move(read)).first->second;
}

void DirectoryDocuments::ReadAllAtOnce() {
  std::vector<std::string> names = catalog_->DocumentsIn(directory_);
  if (names.empty()) {
    names.assign(kMetadataNames.begin(), kMetadataNames.end());
    names.emplace_back(kConsolidatedDocument);
  } else if (std::any_of(names.begin(), names.end(),
                         [](const auto& name) { return name == ".zgroup"; })) {
    // Its names are in these.
    names.insert(names.end(), {".zattrs", ".zmetadata"});
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
  }
  std::vector<Document> documents(names.size());
  const Deadline deadline = CallerDeadline();
  ForEachInParallel(names.size(), names.size(),
                    [&](std::size_t i) { documents[i] = ReadNow(names[i], deadline); });
  const bool any = std::any_of(documents.begin(), documents.end(),
                               [](const Document& one) { return one && *one; });
  for (std::size_t i = 0; i < names.size(); ++i) {
    Document& document = documents[i];
    const bool denied = !document && document.error().code == ErrorCode::kPermissionDenied;
    if (denied && any) document = std::nullopt;
    if (document && *document) AddMentioned(names[i], (*document)->text);
    read_.emplace(names[i], std::move(document));
  }
}

void DirectoryDocuments::AddMentioned(const std::string& name, const std::string& text) {
  const auto document = ParseJson(text);
  if (!document) return;
  const MentionedNames mentioned = NamesMentionedIn(name, *document);
  catalog_->AddDirectory(directory_);
  for (const std::string& directory : mentioned.directories) {
    if (const auto path = ResolvePath(directory_, directory)) catalog_->AddDirectory(*path);
  }
  for (const std::string& other : mentioned.documents) {
    if (const auto path = ResolvePath(directory_, other)) catalog_->AddDocument(*path);
  }
  if (mentioned.chunks) catalog_->SetDataDirectory(directory_, *mentioned.chunks);
}

}  // namespace unshard
