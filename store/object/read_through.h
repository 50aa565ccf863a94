// Reading bytes of an open file, and through a function: into a buffer, and as an object.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "store/object/object_store.h"

namespace unshard {

// Fills `to` from byte `at` of an open file; the count is smaller only where the file ends.
// Messages name `described`.
Result<std::size_t> ReadDescriptor(int descriptor, std::uint64_t at, std::span<std::uint8_t> to,
                                   const std::string& described);

// Fills `to` from `at` on; the count is smaller where the bytes end.
using ReadBytes = std::function<Result<std::size_t>(std::uint64_t at, std::span<std::uint8_t> to)>;

// The bytes of `range`; fewer where they end. Fails with kResourceExhausted, naming `described`,
// where memory cannot hold them.
Result<ByteVector> ReadRange(const ByteRange& range, const std::string& described,
                             const ReadBytes& read);

// An object whose bytes `read` reads: kConditionFailed where they end before `info.size`.
std::shared_ptr<ObjectVersion> MakeObjectOf(const ObjectInfo& info, std::string described,
                                            ReadBytes read);
// The same of bytes in memory: reads return slices of them, not copies.
std::shared_ptr<ObjectVersion> MakeObjectOf(const ObjectInfo& info, Bytes bytes);

}  // namespace unshard
