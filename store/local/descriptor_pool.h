// Bounds the number of files that object handles keep open.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>

#include "store/local/file_descriptor.h"

namespace unshard {

using SharedDescriptor = std::shared_ptr<const FileDescriptor>;

// Keeps the most recently used descriptors. Thread-safe. A descriptor is closed when the pool has
// dropped it and no caller holds it, so that one in use stays valid.
class DescriptorPool {
 public:
  // One file's place in the pool; guarded by the pool. The owner calls Remove before it dies.
  class Slot {
    friend class DescriptorPool;
    SharedDescriptor descriptor_;
    std::list<Slot*>::iterator position_;
  };

  explicit DescriptorPool(std::size_t max_descriptors) : max_descriptors_(max_descriptors) {}

  // The slot's descriptor, which becomes the most recently used one; null where it was closed.
  SharedDescriptor Get(Slot& slot);
  // Fills an empty slot, or finds that another thread did, and returns what the slot holds now.
  SharedDescriptor Put(Slot& slot, SharedDescriptor descriptor);
  void Remove(Slot& slot);
  // Drops half of the descriptors, for when the system has none left. False where there are none.
  bool Shrink();
  [[nodiscard]] std::size_t size() const;

 private:
  std::list<SharedDescriptor> DropAbove(std::size_t bound);

  const std::size_t max_descriptors_;
  mutable std::mutex mutex_;
  std::list<Slot*> slots_;  // guarded by mutex_; most recently used first
};

}  // namespace unshard
