// How the chunks of a view are made from those of the source: the stored bytes, with an N5 header
// more or less, or decoded and encoded again; of a copy, also JPEGs put into JPEG XL and taken out
// of it. codec/FORMATS.md, "Views". Pure; thread-safe.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "codec/array/array.h"
#include "codec/codecs/repacking.h"
#include "codec/pyramid/axis_map.h"

namespace unshard {

enum class BlockForm {
  kCopy,         // the stored bytes
  kAddHeader,    // the header of an N5 block, then the stored bytes
  kStripHeader,  // the stored N5 block without its header, where that has the shape of the chunk;
                 // else as kTranscode
  kRepack,       // of copies: what RepackingOf makes of the stored bytes; else as kTranscode
  kTranscode,    // decoded and encoded again
};

// Items one after the other, compressed as a whole.
struct PlainItems {
  std::vector<std::size_t> order;  // the stored dimension i is axis order[i]; empty: C order
  bool big_endian = false;         // of items that have a byte order
  ChainSpec compression;           // bytes-to-bytes codecs
};
// Nothing where the chain has other codecs than transposes, `bytes` and those.
std::optional<PlainItems> PlainItemsOf(const CodecChain& chain);

// The function that makes chunks of `to` of those of `from` without decoding them. Null: none.
RepackChunk RepackingOf(const Array& from, const Array& to);

// How the chunks of a copy, or of a view, are made of those of `from`: kTranscode unless
// HasSameChunks, or where the encodings differ and there is no RepackingOf them. The blocks of a
// view as N5 may reach beyond the array, as stored chunks do. `axes`: for each axis of `to`, that
// of `from`. Requires: both have codecs.
BlockForm FormOfCopy(const Array& from, const Array& to, const AxisMap& axes);
BlockForm FormOfView(const Array& from, const Array& to, const AxisMap& axes);

// Gives `presented`, which has all else, its codec: that of the stored chunks where its format can
// express it, else raw items, compressed by `compression`. Fails with kNotSupported, naming the
// codec, where the format lacks that.
Status PlanBlocks(const Array& stored, const AxisMap& axes, const ChainSpec& compression,
                  Array& presented);
// The same for the same format without compression.
Status PlanRawBlocks(const Array& stored, Array& presented);
// The compression of the chunks of a copy that are encoded again: that of the stored ones where the
// format has it, by the first compressor that it has; else zstd, in N5 gzip. Empty where stored
// chunks are not compressed, and for precomputed volumes, whose encoding `raw` has none.
ChainSpec CompressionOfCopy(const Array& stored, Dialect to);

}  // namespace unshard
