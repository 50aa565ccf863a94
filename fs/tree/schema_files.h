// `.unshard/schema.json` and `.unshard/schema/ARRAY.json`: the TensorStore Schema of each array, as
// `unshard schema` prints it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fs/tree/array_names.h"
#include "fs/tree/name.h"
#include "fs/tree/node.h"

namespace unshard {

inline constexpr std::string_view kSchemaDirectory = "schema";
inline constexpr std::string_view kSchemaSuffix = ".json";

// The names of `.unshard` that are there, as far as arrays have been found: "schema" where one is
// below the source, "schema.json" where the source is one.
std::vector<std::string> SchemaNames(Superblock& superblock);

// A directory of these files.
class SchemaDirectory final : public ArraysDirectory {
 public:
  SchemaDirectory(Superblock& superblock, NodeId id, std::uint64_t inode, std::string arrays)
      : ArraysDirectory(superblock, id, inode, std::move(arrays)) {}
  [[nodiscard]] std::string Path() const override;
  Result<std::unique_ptr<Name>> Find(std::string_view name) override;
  // Lists arrays that have been found so far.
  Status List(const Listing& listing) override;

 protected:
  Result<Entry> Stat() override;
};

// A file of the array at `array`, or the directory of those below it.
class SchemaFileName final : public Name {
 public:
  SchemaFileName(Superblock& superblock, std::string directory, std::string_view name,
                 std::string array)
      : Name(superblock, std::move(directory), name), array_(std::move(array)) {}
  // Reads the document of the array.
  Result<Entry> Lookup(pid_t thread) override;

 private:
  const std::string array_;
};
class SchemaDirectoryName final : public Name {
 public:
  SchemaDirectoryName(Superblock& superblock, std::string directory, std::string_view name,
                      std::string arrays)
      : Name(superblock, std::move(directory), name), arrays_(std::move(arrays)) {}
  Result<Entry> Lookup(pid_t thread) override;

 private:
  const std::string arrays_;
};

}  // namespace unshard
