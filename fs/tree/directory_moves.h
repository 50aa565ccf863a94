// Lets look-ups below directories of the source detect that one was renamed meanwhile.
#pragma once

#include <atomic>
#include <cstdint>

namespace unshard {

// A look-up that begins with the old path and ends after the rename finds nothing, or another file
// of that name. The kernel already has the directory under its new name when it gets that answer,
// so the answer must have no time to live. Thread-safe.
class DirectoryMoves {
 public:
  // Held from before the rename in the source until the nodes have their new paths.
  class Move {
   public:
    explicit Move(DirectoryMoves& moves) : moves_(moves) {
      ++moves_.under_way_;
      ++moves_.count_;
    }
    ~Move() {
      ++moves_.count_;
      --moves_.under_way_;
    }
    Move(const Move&) = delete;
    Move& operator=(const Move&) = delete;

   private:
    DirectoryMoves& moves_;
  };

  [[nodiscard]] std::uint64_t Count() const { return count_; }
  // Whether nothing has moved since Count() was `count`.
  [[nodiscard]] bool NoneSince(std::uint64_t count) const {
    return under_way_ == 0 && count_ == count;
  }

 private:
  std::atomic<std::uint64_t> under_way_{0};
  std::atomic<std::uint64_t> count_{0};  // of beginnings and ends
};

}  // namespace unshard
