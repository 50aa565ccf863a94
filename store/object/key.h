// Joining and cutting keys: relative paths below the root of a store, components joined by '/', ""
// is the root. Pure functions; CheckKey (store/object/object_store.h) says which strings are keys.
#pragma once

#include <string>
#include <string_view>

namespace unshard {

// "a/b" and "c" give "a/b/c"; either may be empty.
std::string JoinPath(std::string_view directory, std::string_view name);
// "" for keys of one component, and for the root itself.
std::string ParentPath(std::string_view path);
std::string BaseName(std::string_view path);
// True for the directory itself and for all below it; everything is below the root.
bool IsAtOrBelow(std::string_view path, std::string_view directory);

}  // namespace unshard
