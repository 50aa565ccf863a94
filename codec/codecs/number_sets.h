// Sets of numbers that are joined: the components of images. Used by one thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace unshard {

// The number 0 is in no set.
class NumberSets {
 public:
  NumberSets() : parents_(1, 0) {}

  // A new number, in a set of its own.
  std::uint32_t Add() {
    parents_.push_back(static_cast<std::uint32_t>(parents_.size()));
    return parents_.back();
  }
  // Returns the least number of the joined set.
  std::uint32_t Join(std::uint32_t a, std::uint32_t b) {
    a = Find(a);
    b = Find(b);
    const auto [least, other] = std::minmax(a, b);
    parents_[other] = least;
    return least;
  }
  // For each number, the position of its set among all sets in ascending order, from 1 on; and how
  // many sets there are.
  std::pair<std::vector<std::uint32_t>, std::uint32_t> Positions() && {
    std::uint32_t count = 0;
    for (std::size_t number = 1; number < parents_.size(); ++number) {
      const std::uint32_t parent = parents_[number];  // smaller, and replaced already, or itself
      parents_[number] = parent == number ? ++count : parents_[parent];
    }
    return {std::move(parents_), count};
  }

 private:
  std::uint32_t Find(std::uint32_t number) {
    while (parents_[number] != number) {
      parents_[number] = parents_[parents_[number]];
      number = parents_[number];
    }
    return number;
  }

  std::vector<std::uint32_t> parents_;
};

}  // namespace unshard
