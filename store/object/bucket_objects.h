// The objects of a bucket: read through one store, and listed page by page.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "store/object/object_store.h"
#include "store/object/paged_listings.h"

namespace unshard {

// Asks for a page of `directory`, of at most `most` names. `next`: what the page before it named as
// its next page; "": the first page. Thread-safe. A page may be empty although others follow.
using ListBucket = std::function<Result<ListedPage>(
    std::string_view directory, const std::string& next, std::size_t most, const Deadline&)>;

// Objects are those of `files`. A directory is what the keys of objects go through, or end with
// ("d/" is the directory d, and no file in it): Stat finds one by a listing, where there is no
// object of that key; Open takes one for missing, since looking for it would double the requests
// for absent chunks. Without `list` there are no directories, and listings are empty. Keeps no
// replaced versions; writes are conditional, by a replacer.
std::shared_ptr<ObjectStore> MakeBucketObjects(std::shared_ptr<ObjectStore> files, ListBucket list);

}  // namespace unshard
