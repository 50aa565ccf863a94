"""Random TensorStore schemas: sets of constraints that may or may not be satisfiable."""

import random

DTYPES = {"zarr3": ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
                    "float16", "bfloat16", "float32", "float64", "complex64", "int4"],
          "zarr2": ["bool", "int8", "uint8", "uint16", "int64", "float16", "float32", "float64",
                    "complex128"],
          "n5": ["int8", "uint8", "uint16", "int32", "uint64", "float32", "float64"],
          "precomputed": ["uint8", "int8", "uint16", "uint32", "int32", "uint64", "float32"]}
FILLS = {"bool": [True, False], "float16": [0.1, 65520, "NaN", -2], "bfloat16": [0.1, 3.3e38, 1e39],
         "float32": [0.1, 1, 1e39, "NaN", "-Infinity", 16777217], "float64": [0.1, "Infinity", 1e300],
         "uint64": [2**64 - 1, 0], "int64": [-2**63, 5], "int4": [-8, 7]}


class Schemas:
    def __init__(self, seed):
        self._random = random.Random(seed)

    def choose(self, *items):
        return self._random.choice(items)

    def often(self, probability):
        return self._random.random() < probability

    def extent(self):
        size = int(10 ** self._random.uniform(0, self.choose(1, 2, 3, 4, 5)))
        return self.choose(size, size, 2 ** self._random.randrange(12), 1)

    def vector(self, rank, make, absent=0.4):
        return [None if self.often(absent) else make() for _ in range(rank)]

    def _chunk(self, rank, extents):
        chunk = {}
        small = lambda: max(1, int(10 ** self._random.uniform(0, 3)))
        if self.often(0.6):
            make = lambda: self.choose(small(), small(), 2 ** self._random.randrange(10), -1, 0)
            chunk[self.choose("shape", "shape_soft_constraint")] = self.vector(rank, make)
        if self.often(0.15):
            chunk["shape_soft_constraint"] = self.vector(rank, small)
        if self.often(0.35):
            make = lambda: self.choose(1, 2, 0.5, 1.5, 3, 4, round(self._random.uniform(0.01, 9), 3))
            key = self.choose("aspect_ratio", "aspect_ratio_soft_constraint")
            chunk[key] = self.vector(rank, make)
        if self.often(0.4):
            key = self.choose("elements", "elements_soft_constraint")
            chunk[key] = int(10 ** self._random.uniform(0, 8))
        return chunk

    def layout(self, rank, extents):
        layout = {}
        for name, probability in (("chunk", 0.4), ("read_chunk", 0.45), ("write_chunk", 0.5)):
            if self.often(probability):
                layout[name] = self._chunk(rank, extents)
        return layout

    def units(self, rank):
        make = lambda: self.choose("nm", "4 nm", [8.5, "nm"], "40nm", [1, "um"], 3, "0.5 s", "")
        return self.vector(rank, make, 0.3)

    def labels(self, rank):
        names = ["z", "y", "x", "c", "t", "w", "v"][:rank]
        return [name if self.often(0.8) else "" for name in names]

    def _order(self, rank):
        order = list(range(rank))
        self.choose(lambda: None, order.reverse, lambda: self._random.shuffle(order))()
        return order

    def _zarr3_codecs(self, rank):
        named = lambda name, **options: {"name": name, "configuration": options}
        last = self.choose([], ["gzip"], [named("gzip", level=3)], ["zstd"], ["crc32c"], ["blosc"],
                           [named("zstd", level=-3, checksum=True)], ["zstd", "crc32c"],
                           [named("blosc", cname="zstd", shuffle="bitshuffle")],
                           [named("blosc", shuffle="noshuffle", typesize=4)], ["gzip", "blosc"])
        codecs = self.choose([], [], ["bytes"], [named("bytes", endian="big")]) + last
        if self.often(0.25):
            order = self.choose("C", "F", self._order(rank))
            codecs = [named("transpose", order=order)] + codecs
        if self.often(0.2):
            options = {"codecs": codecs}
            if self.often(0.3):
                options["index_location"] = self.choose("start", "end")
            if self.often(0.4):
                options["chunk_shape"] = [self.choose(1, 2, 4, 5, 10) for _ in range(rank)]
            if self.often(0.2):
                options["index_codecs"] = self.choose(["bytes"], ["bytes", "crc32c"], ["gzip"],
                                                      [named("bytes", endian="big"), "crc32c"])
            codecs = [named("sharding_indexed", **options)]
        return codecs

    def _codec(self, form, rank):
        if form == "zarr3":
            return {"driver": "zarr3", "codecs": self._zarr3_codecs(rank)}
        if form == "zarr2":
            compressor = self.choose(None, {"id": "zlib"}, {"id": "gzip", "level": 9}, {"id": "zstd"},
                                     {"id": "bz2"}, {"id": "blosc", "shuffle": 2, "clevel": 1},
                                     {"id": "lzma"})
            return {"driver": self.choose("zarr", "zarr2"), "compressor": compressor}
        if form == "n5":
            compression = self.choose({"type": "raw"}, {"type": "gzip"}, {"type": "xz", "preset": 2},
                                      {"type": "zstd", "level": 5}, {"type": "bzip2"},
                                      {"type": "gzip", "useZlib": True}, {"type": "blosc"},
                                      {"type": "blosc", "cname": "zstd", "clevel": 3, "shuffle": 0})
            return {"driver": "n5", "compression": compression}
        codec = {"driver": "neuroglancer_precomputed"}
        codec.update(self.choose({}, {"encoding": "raw"}, {"encoding": "jpeg"}, {"encoding": "png"},
                                 {"encoding": "compressed_segmentation"},
                                 {"encoding": "jpeg", "jpeg_quality": 90},
                                 {"encoding": "png", "png_level": 3}))
        if self.often(0.3):
            codec["shard_data_encoding"] = self.choose("raw", "gzip")
        return codec

    def next(self, form):
        rank = 4 if form == "precomputed" else self.choose(1, 2, 3, 3, 3, 4, 5)
        shape = [self.extent() for _ in range(rank)]
        if form == "precomputed":
            shape[3] = self.choose(1, 1, 1, 2, 3)
        dtype = self.choose(*DTYPES[form])
        schema = {"dtype": dtype, "domain": {"shape": shape}}
        if form == "precomputed" and self.often(0.4):
            schema["domain"]["inclusive_min"] = [self._random.randrange(-500, 500)
                                                 for _ in range(3)] + [0]
        if self.often(0.2):
            schema["domain"]["labels"] = ["x", "y", "z", "channel"] if form == "precomputed" \
                else self.labels(rank)
        schema["chunk_layout"] = self.layout(rank, shape)
        if self.often(0.2):
            order = [3, 2, 1, 0] if form == "precomputed" else self._order(rank)
            schema["chunk_layout"][self.choose("inner_order", "inner_order_soft_constraint")] = order
        if self.often(0.1):
            origin = [self.choose(0, 0, 5) for _ in range(rank)]
            schema["chunk_layout"][self.choose("grid_origin", "grid_origin_soft_constraint")] = origin
        if self.often(0.15):
            schema["chunk_layout"]["codec_chunk"] = self.choose(
                {"elements": 64}, {"shape_soft_constraint": [4] * rank}, {"shape": [8] * rank},
                {"shape": [4] * 3 + [1]} if rank == 4 else {"aspect_ratio": [2] * rank})
        if self.often(0.5):
            schema["codec"] = self._codec(form, rank)
        if self.often(0.15):
            schema["dimension_units"] = self.units(rank) if form != "precomputed" or self.often(0.2) \
                else ["4 nm", [8.5, "nm"], self.choose("40 nm", "1234567.5nm"), None]
        if self.often(0.2):
            schema["fill_value"] = self.choose(*FILLS.get(dtype, [0, 5, -1, 7.0, "3"]))
        return schema
