// The central directory of a ZIP archive, held in memory for look-ups and listings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codec/core/error.h"
#include "store/object/object_store.h"
#include "store/zip/zip_records.h"

namespace unshard {

// Immutable; thread-safe. An entry takes 40 bytes and its name. Names are keys.
class ZipDirectory {
 public:
  struct Entry {
    std::uint64_t offset = 0;  // of the local header in the archive, what is prepended included
    std::uint64_t stored_bytes = 0;
    std::uint64_t size = 0;
    std::uint32_t crc = 0;
    std::uint32_t name = 0;  // where the name begins among all names
    std::uint16_t name_bytes = 0;
    std::uint16_t method = 0;
    bool is_encrypted = false;
    bool is_directory = false;
  };

  // The number of the file `key` among the entries; nothing where it is missing.
  [[nodiscard]] std::optional<std::size_t> Find(std::string_view key) const;
  // Whether `key` is a directory: an entry says so, or one lies below it. "" always is.
  [[nodiscard]] bool IsDirectory(std::string_view key) const;
  // As ObjectStore::ListFrom. Skips the entries below each directory without reading them.
  void ListFrom(std::string_view key, std::uint64_t resume,
                const ObjectStore::ListVisitor& visitor) const;

  [[nodiscard]] const Entry& entry(std::size_t number) const { return entries_[number]; }
  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  // Where entries lie in their directories as their names say.
  [[nodiscard]] std::string_view NameOf(const Entry& entry) const {
    return std::string_view(names_).substr(entry.name, entry.name_bytes);
  }

 private:
  friend class ZipDirectoryReader;
  // The number of the first entry whose name is not before `name`.
  [[nodiscard]] std::size_t LowerBound(std::string_view name, std::size_t from = 0) const;
  // The number of the first entry after all below `directory`, which ends with '/'.
  [[nodiscard]] std::size_t EndOf(std::string_view directory, std::size_t from) const;

  std::string names_;
  // In the order of their names, '/' before all other bytes: what is below a directory follows it.
  std::vector<Entry> entries_;
};

// Makes a directory from the bytes of a central directory, which come in pieces. Used by one
// thread.
class ZipDirectoryReader {
 public:
  // More entries, and more bytes of records, are kResourceExhausted.
  static constexpr std::uint64_t kMostEntries = std::uint64_t{1} << 24;
  static constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 31;

  // Fails where there is more than that.
  static Result<ZipDirectoryReader> Begin(const ZipEnd& end);
  // The next bytes. Fails, naming the entry, like ParseZipRecord; where a name is absolute, or has
  // "." or ".."; and where an entry does not lie before the directory.
  Status Add(ByteSpan piece);
  // Once all of end.directory was added. Of several entries of one name the last one counts. Fails
  // where records are missing, and where a file has the name of a directory.
  Result<ZipDirectory> Finish();

 private:
  explicit ZipDirectoryReader(const ZipEnd& end) : end_(end) {}
  // Takes the records that `bytes` have whole; returns how many bytes they are.
  Result<std::size_t> Take(ByteSpan bytes);
  Status AddRecord(const ZipRecord& record);
  Status CheckNames() const;

  ZipEnd end_;
  std::uint64_t records_ = 0;
  ByteVector rest_;  // the begin of a record that the next piece ends
  ZipDirectory directory_;
};

}  // namespace unshard
