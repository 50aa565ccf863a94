// Which views present something of a source, and why others present nothing.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "store/dataset/dataset_index.h"
#include "store/views/view.h"

namespace unshard {

// Used by one thread.
class ViewCoverage {
 public:
  // What the view that begins at `root` presents of a directory.
  void Note(const std::string& root, const View& view, const std::string& path,
            const Contribution& contribution);
  // By the root of the view: the first thing that it could not present, where it presents nothing.
  [[nodiscard]] std::map<std::string, Error> refused() const;
  // Whether that is all views that were noted.
  [[nodiscard]] bool is_none() const;

 private:
  struct Presented {
    bool any = false;
    std::optional<Error> refused{};
  };
  std::map<std::string, Presented> views_;
};

}  // namespace unshard
