// Directories of this computer, and of network file systems that it has mounted, as sources.
#pragma once

#include "store/dataset/source.h"

namespace unshard {

// Fails, saying what to name instead, where `options.source` is no directory that can be read.
Result<SourceParts> OpenDirectorySource(const VolumeOptions& options,
                                        const ChangeWatcher::Listener& on_change);

}  // namespace unshard
