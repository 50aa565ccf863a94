// The errno that a program gets for an error.
#pragma once

#include <string>

#include "codec/core/error.h"

namespace unshard {

// The errno of an error. Damage is EIO, never ENOENT: programs can distinguish it from missing
// data.
int ErrnoOf(const Error& error);
// Whether something was not tried since this process, or the system, has no descriptor left.
bool FoundNoDescriptor(const Error& error);
// "EIO", "ESTALE", …; the number where it has no name here.
std::string ErrnoName(int number);

}  // namespace unshard
