// The version of a shard that a publish starts from.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "store/object/object_store.h"
#include "store/publish/publisher.h"
#include "store/shard/object.h"

namespace unshard {

// Used by one thread. Its files stay open, so that it can be read whatever becomes of their names.
class BaseShard {
 public:
  // Opens the shard, or the obsolete pair where the shard is missing. kDataLoss where only one half
  // of the pair is there.
  static Result<BaseShard> Open(FileSystem& files, const PublishRequest& request);

  [[nodiscard]] bool missing() const { return pieces_.empty(); }
  [[nodiscard]] bool is_pair() const { return pieces_.size() == 2; }
  // Of the stored bytes, in one piece or two.
  [[nodiscard]] const ShardObject& object() const { return object_; }
  // The index where it is a pair. Requires: not missing.
  [[nodiscard]] const std::shared_ptr<File>& file() const { return pieces_[0].file; }
  [[nodiscard]] const FileStatus& status() const { return pieces_[0].status; }
  // As stores of files tell it to their readers; nothing where the shard is missing.
  [[nodiscard]] std::optional<Generation> generation() const;
  // False where another version stands there by now, or this one has been written to.
  Result<bool> StillThere(FileSystem& files) const;

 private:
  struct Piece {
    std::string key;
    std::shared_ptr<File> file;
    FileStatus status;
  };
  explicit BaseShard(std::string described) : object_(std::move(described)) {}
  static Result<std::optional<Piece>> OpenPiece(FileSystem& files, const std::string& key);

  std::string key_;
  std::vector<Piece> pieces_;
  ShardObject object_;
};

}  // namespace unshard
