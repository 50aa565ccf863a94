// What the help of a command says below its options: examples, which its page of the manual shows
// as well, then notes.
#pragma once

namespace unshard {

inline constexpr const char* kProgramExamples =
    "Examples:\n"
    "  unshard info demo                say what it holds\n"
    "  unshard mount demo /mnt/demo     show it as one file per chunk\n"
    "  unshard list                     see all mounts\n"
    "  unshard why /mnt/demo/8_8_8/x    see why the last request on a file failed\n"
    "  unshard flush /mnt/demo          wait until written chunks are in their shards\n"
    "  unshard umount /mnt/demo         publish the rest and unmount\n"
    "  unshard spool list               see chunks that are not published\n"
    "\n"
    "`unshard help COMMAND` explains a command. Exit status: 0 done, 1 failed or not all\n"
    "done, 2 wrong arguments.";

inline constexpr const char* kUmountExamples =
    "Examples:\n"
    "  unshard umount /mnt/demo\n"
    "\n"
    "Ends with 1 where something stays in the spool, or the mount stays.";

inline constexpr const char* kFlushExamples =
    "Examples:\n"
    "  unshard flush /mnt/demo && rsync -a segmentation backup:";

inline constexpr const char* kStatusExamples =
    "Examples:\n"
    "  unshard status /mnt/demo\n"
    "  unshard status --watch /mnt/demo\n"
    "  unshard status --json /mnt/demo | jq .write.dirty_chunks";

inline constexpr const char* kSpoolExamples =
    "Examples:\n"
    "  unshard spool list -v\n"
    "  unshard spool publish segmentation\n"
    "  unshard spool export saved segmentation";

inline constexpr const char* kInfoExamples =
    "Examples:\n"
    "  unshard info segmentation\n"
    "  unshard info --json image.zarr | jq '.datasets[] | {path, shards, chunks}'\n"
    "\n"
    "Ends with 1 where a dataset or the index of a shard is damaged. The members of the JSON\n"
    "object are described in unshard-info(1).";

inline constexpr const char* kSchemaExamples =
    "Examples:\n"
    "  unshard schema segmentation 8_8_40\n"
    "  unshard schema image.zarr 0 | jq .chunk_layout\n"
    "\n"
    "Data types, codecs and bounds as TensorStore prints them for the stored, sharded array.";

inline constexpr const char* kCreateExamples =
    "Examples:\n"
    "  unshard create new --format precomputed --shape 4096,4096,1000 --dtype uint64 \\\n"
    "      --chunk 64,64,64 --shard 1024,1024,512 --codec compressed_segmentation \\\n"
    "      --resolution 8,8,40 --scales 4 --factor 2,2,1\n"
    "  unshard create new.zarr --format zarr3 --shape 1000,4096,4096 --dtype uint16 \\\n"
    "      --chunk 32,64,64 --shard 256,1024,1024 --codec zstd --axes z,y,x\n"
    "  unshard create new.zarr --format zarr3 --schema schema.json\n"
    "  unshard create copy --like segmentation\n"
    "\n"
    "What no constraint decides is chosen as TensorStore 0.1.86 does. Nothing is left where\n"
    "it fails, and an existing dataset is never touched.";

inline constexpr const char* kCopyExamples =
    "Examples:\n"
    "  unshard copy segmentation new && unshard copy segmentation new --verify\n"
    "  unshard copy plain.zarr s3://bucket/sharded.zarr --format zarr3 --shard 256,1024,1024\n"
    "  unshard copy gs://bucket/volume local.n5 --format n5 --codec zstd\n"
    "\n"
    "What was interrupted goes on when it is run again. Shards are written whole; those\n"
    "that hold already what the source has stay as they are.";

inline constexpr const char* kListExamples =
    "Examples:\n"
    "  unshard list\n"
    "  unshard list --json | jq -r '.mounts[] | select(.state == \"dead\") | .mount_point'";

inline constexpr const char* kWhyExamples =
    "Examples:\n"
    "  unshard why /mnt/demo/segmentation/8_8_8/0-64_0-64_0-64\n"
    "  unshard why /mnt/demo";

inline constexpr const char* kHelpExamples =
    "Examples:\n  unshard help mount\n  unshard help spool export";

}  // namespace unshard
