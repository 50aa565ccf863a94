#include "store/local/descriptor_pool.h"

#include <algorithm>

namespace unshard {

SharedDescriptor DescriptorPool::Get(Slot& slot) {
  const std::lock_guard lock(mutex_);
  if (!slot.descriptor_) return nullptr;
  slots_.splice(slots_.begin(), slots_, slot.position_);
  return slot.descriptor_;
}

SharedDescriptor DescriptorPool::Put(Slot& slot, SharedDescriptor descriptor) {
  std::list<SharedDescriptor> dropped;  // closed after the lock
  const std::lock_guard lock(mutex_);
  if (slot.descriptor_) return slot.descriptor_;
  slots_.push_front(&slot);
  slot.position_ = slots_.begin();
  slot.descriptor_ = descriptor;
  dropped = DropAbove(std::max<std::size_t>(max_descriptors_, 1));
  return descriptor;
}

void DescriptorPool::Remove(Slot& slot) {
  SharedDescriptor dropped;  // closed after the lock
  const std::lock_guard lock(mutex_);
  if (!slot.descriptor_) return;
  slots_.erase(slot.position_);
  dropped = std::move(slot.descriptor_);
}

bool DescriptorPool::Shrink() {
  std::list<SharedDescriptor> dropped;  // closed after the lock
  const std::lock_guard lock(mutex_);
  dropped = DropAbove(slots_.size() / 2);
  return !dropped.empty();
}

std::size_t DescriptorPool::size() const {
  const std::lock_guard lock(mutex_);
  return slots_.size();
}

std::list<SharedDescriptor> DescriptorPool::DropAbove(std::size_t bound) {
  std::list<SharedDescriptor> dropped;
  while (slots_.size() > bound) {
    dropped.push_back(std::move(slots_.back()->descriptor_));
    slots_.pop_back();
  }
  return dropped;
}

}  // namespace unshard
