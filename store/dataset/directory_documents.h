// The metadata documents of one directory.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "store/object/object_store.h"
#include "store/source/catalog_store.h"

namespace unshard {

// Longer documents are refused before they are read.
inline constexpr std::uint64_t kMaxDocumentBytes = std::uint64_t{64} << 20;

// Each document is read once, and is the same for all who ask for it. Where the store lists, that
// is when it is first asked for. Else all that may be there are requested at once when this object
// is made, those that the catalog knows where it knows any, and what they mention is added to the
// catalog. Serves one thread.
class DirectoryDocuments {
 public:
  using Document = Result<std::optional<WholeObject>>;

  // `catalog`: null where the store lists. Both outlive this object.
  DirectoryDocuments(ObjectStore& store, std::string directory, CatalogStore* catalog);

  // As ReadWhole; valid as long as this object is there. A document that may not be read is missing
  // where another one could be read: servers that hide what exists answer so for all that does not.
  const Document& Read(const std::string& name);

  [[nodiscard]] ObjectStore& store() const { return store_; }
  [[nodiscard]] const std::string& directory() const { return directory_; }
  [[nodiscard]] CatalogStore* catalog() const { return catalog_; }

 private:
  [[nodiscard]] Document ReadNow(const std::string& name, const Deadline& deadline) const;
  void ReadAllAtOnce();
  void AddMentioned(const std::string& name, const std::string& text);

  ObjectStore& store_;
  const std::string directory_;
  CatalogStore* const catalog_;
  std::map<std::string, Document> read_;  // by name
};

}  // namespace unshard
