// What many threads hand over to one thread, in order. No thread waits for another.
#pragma once

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

namespace unshard {

// Put is thread-safe; the rest is for the thread that takes.
template <class Item>
class HandOver {
 public:
  HandOver() = default;
  ~HandOver() { Close(); }
  HandOver(const HandOver&) = delete;
  HandOver& operator=(const HandOver&) = delete;

  // False: it is closed, and the item is still the caller's.
  bool Put(Item& item) {
    Node* before = latest_.load();
    if (before == &closed_) return false;
    auto* const node = new Node{std::move(item), nullptr};
    do {
      if (before == &closed_) {
        item = std::move(node->item);
        delete node;
        return false;
      }
      node->before = before;
    } while (!latest_.compare_exchange_weak(before, node));
    return true;
  }
  [[nodiscard]] bool empty() const { return latest_.load() == nullptr; }
  // In the order of Put. Requires: it is not closed.
  std::vector<Item> Take() { return ItemsOf(latest_.exchange(nullptr)); }
  // The same of what was put until now; there will be no more.
  std::vector<Item> Close() { return ItemsOf(latest_.exchange(&closed_)); }

 private:
  struct Node {
    Item item;
    Node* before;
  };

  std::vector<Item> ItemsOf(Node* node) {
    std::vector<Item> items;
    while (node != nullptr && node != &closed_) {
      items.push_back(std::move(node->item));
      delete std::exchange(node, node->before);
    }
    std::reverse(items.begin(), items.end());
    return items;
  }

  Node closed_{};
  std::atomic<Node*> latest_{nullptr};
};

}  // namespace unshard
