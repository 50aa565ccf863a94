// Which keys of an ordered container lie below a directory.
#pragma once

#include <string>

namespace unshard {

template <class Iterator>
class KeyRange {
 public:
  KeyRange(Iterator begin, Iterator end) : begin_(begin), end_(end) {}
  [[nodiscard]] Iterator begin() const { return begin_; }
  [[nodiscard]] Iterator end() const { return end_; }
  [[nodiscard]] bool empty() const { return begin_ == end_; }

 private:
  Iterator begin_;
  Iterator end_;
};

// The elements of a std::set or std::map of keys that lie below `directory`, which itself is not
// among them; in order. Valid until the container is changed.
template <class Keys>
auto KeysBelow(const Keys& keys, const std::string& directory) {
  if (directory.empty()) return KeyRange(keys.upper_bound(directory), keys.end());
  constexpr char kAfterSlash = '/' + 1;
  return KeyRange(keys.lower_bound(directory + '/'), keys.lower_bound(directory + kAfterSlash));
}

}  // namespace unshard
