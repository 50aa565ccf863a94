// The errno that an error ends with, for programs.
#pragma once

#include <string>

#include "codec/core/error.h"

namespace unshard {

// The errno that a program sees for an error. Missing and damaged data are told apart: damage is
// EIO, never ENOENT.
int ErrnoOf(const Error& error);
// "EIO", "ESTALE", …; the number where it has no name here.
std::string ErrnoName(int number);

}  // namespace unshard
