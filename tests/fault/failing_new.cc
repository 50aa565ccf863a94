// For LD_PRELOAD: operator new fails now and then, as where memory runs out.
//
// FAILING_NEW names a file of four bytes, a number that can be changed at any time: of so many
// allocations one fails, on average; 0: none.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace {

const std::atomic<std::uint32_t>* OneOf() {
  static const std::atomic<std::uint32_t>* const mapped = [] {
    const char* const path = std::getenv("FAILING_NEW");
    const int file = path == nullptr ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return static_cast<const std::atomic<std::uint32_t>*>(nullptr);
    void* const at = mmap(nullptr, 4096, PROT_READ, MAP_SHARED, file, 0);
    close(file);
    return at == MAP_FAILED ? nullptr : static_cast<const std::atomic<std::uint32_t>*>(at);
  }();
  return mapped;
}

thread_local std::uint64_t state = 0;

bool Fails() {
  const auto* const one_of = OneOf();
  if (one_of == nullptr) return false;
  const std::uint32_t of = one_of->load(std::memory_order_relaxed);
  if (of == 0) return false;
  // xorshift, which allocates nothing.
  if (state == 0)
    state = reinterpret_cast<std::uintptr_t>(&state) ^ static_cast<unsigned>(getpid());
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state % of == 0;
}

void* New(std::size_t size) {
  if (Fails()) throw std::bad_alloc();
  if (void* const at = std::malloc(size == 0 ? 1 : size)) return at;
  throw std::bad_alloc();
}

void* New(std::size_t size, std::align_val_t alignment) {
  if (Fails()) throw std::bad_alloc();
  const auto align = static_cast<std::size_t>(alignment);
  if (void* const at = std::aligned_alloc(align, (size + align - 1) / align * align)) return at;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t size) { return New(size); }
void* operator new[](std::size_t size) { return New(size); }
void* operator new(std::size_t size, std::align_val_t alignment) { return New(size, alignment); }
void* operator new[](std::size_t size, std::align_val_t alignment) { return New(size, alignment); }
void operator delete(void* at) noexcept { std::free(at); }
void operator delete[](void* at) noexcept { std::free(at); }
void operator delete(void* at, std::size_t) noexcept { std::free(at); }
void operator delete[](void* at, std::size_t) noexcept { std::free(at); }
void operator delete(void* at, std::align_val_t) noexcept { std::free(at); }
void operator delete[](void* at, std::align_val_t) noexcept { std::free(at); }
void operator delete(void* at, std::size_t, std::align_val_t) noexcept { std::free(at); }
void operator delete[](void* at, std::size_t, std::align_val_t) noexcept { std::free(at); }
