# Completion of unshard's commands, options and values for fish.

# Whether the words on the line are `unshard` and this group of commands.
function __unshard_group
    set -l words (commandline -opc)
    test "$words[2..]" = "$argv"
end

# Whether the line is one of this command.
function __unshard_in
    set -l words (commandline -opc)
    test "$words[2..$(math (count $argv) + 1)]" = "$argv"
end

# Whether argument number $place comes next ("2+": it or a later one), of a command of $depth names, whose
# options with a value are the other arguments.
function __unshard_argument -a place depth
    set -l words (commandline -opc)
    set -l first (math $depth + 2)
    set -l number 1
    set -l waits no
    for word in $words[$first..]
        if test $waits = yes
            set waits no
        else if contains -- $word $argv[3..]
            set waits yes
        else if not string match -q -- '-*' $word
            set number (math $number + 1)
        end
    end
    test $waits = no; or return
    if string match -q '*+' $place
        test $number -ge (string trim -rc + $place)
    else
        test $number -eq $place
    end
end

# Where datasets are mounted.
function __unshard_mount_points
    string match -r '.* - fuse\.unshard .*' </proc/self/mountinfo | string split -f 5 ' ' | string unescape
end

# The names that it is given; of words in capitals what they say.
function __unshard_offer
    for word in $argv
        switch $word
            case DIR
                __fish_complete_directories (commandline -ct)
            case FILE
                __fish_complete_path (commandline -ct)
            case MOUNT
                __unshard_mount_points
            case COMMAND
                set -l words (commandline -opc)
                complete -C "unshard $(string join ' ' -- $words[3..]) "
            case OPTIONS
                __unshard_mount_options
            case '*'
                echo $word
        end
    end
end

# What the last entry of a list of mount options can become.
function __unshard_mount_options
    set -l names
    set -l texts
    set -l values
    # BEGIN mount options: packaging/update-texts writes these lines
    set -a names view=; set -a texts 'Format in which the mount shows datasets'; set -a values 'native raw precomputed zarr3 zarr2 n5 all'
    set -a names view_codec=; set -a texts 'Compression of the chunks that a view in another format has to encode again'; set -a values 'none gzip zstd blosc'
    set -a names ome=; set -a texts 'Version of OME-Zarr that the views zarr2 (0.4) and zarr3 (0.5, 0.6) show'; set -a values ''
    set -a names files=; set -a texts 'Also show each array as one file of all its voxels, files/PATH.FORMAT'; set -a values 'npy nii nrrd raw'
    set -a names zip=; set -a texts 'How ZIP archives (.ozx, .zip) below a directory are shown'; set -a values 'file enter'
    set -a names lossy=; set -a texts 'Whether chunks that are written into a view may be stored in a lossy encoding (jpeg, jxl)'; set -a values 'yes no'
    set -a names list=; set -a texts 'What chunk directories list'; set -a values 'present grid none'
    set -a names morton=; set -a texts 'Rule that numbers precomputed chunks'; set -a values 'detect standard legacy'
    set -a names watch=; set -a texts 'Follow changes that other programs make in the source, by inotify(7)'; set -a values 'on off'
    set -a names ttl=; set -a texts 'How long the mount trusts what it has read where inotify reports no changes'; set -a values ''
    set -a names immutable; set -a texts 'The source never changes: watch nothing and revalidate nothing'; set -a values ''
    set -a names ro; set -a texts 'Forbid writing'; set -a values ''
    set -a names rw; set -a texts 'Fail if the source cannot be written'; set -a values ''
    set -a names spool=; set -a texts 'Folder in which written chunks wait until their shard is rewritten'; set -a values 'DIR'
    set -a names spool_size=; set -a texts 'Cap on the bytes in the spool'; set -a values ''
    set -a names spool_files=; set -a texts 'Cap on the files in the spool'; set -a values ''
    set -a names publish_after=; set -a texts 'Rewrite a shard once none of its chunks has been written for this long'; set -a values ''
    set -a names publish_threads=; set -a texts 'How many shards are rewritten at the same time'; set -a values ''
    set -a names sync=; set -a texts 'What fsync(2) waits for'; set -a values 'spool store'
    set -a names strict; set -a texts 'Never replace a chunk that another program has changed since it was read here: quarantine the new chunk instead'; set -a values ''
    set -a names single_writer; set -a texts 'Promise that no other host writes the source'; set -a values ''
    set -a names shard=; set -a texts 'Store new Zarr v3 arrays in shards of this shape: in elements (256x1024x1024) or in chunks (8c, 1cx8cx8c)'; set -a values ''
    set -a names anonymous; set -a texts 's3://, gs://: look for no credentials and sign no request'; set -a values ''
    set -a names allow_http; set -a texts 's3://: send requests by plain http also to other hosts'; set -a values ''
    set -a names endpoint=; set -a texts 's3://, gs://: the service that has the bucket'; set -a values ''
    set -a names region=; set -a texts 's3://: the region of the bucket'; set -a values ''
    set -a names profile=; set -a texts 's3://: the profile of ~/.aws/config and ~/.aws/credentials that signs requests'; set -a values ''
    set -a names cache=; set -a texts 'Keep indexes and chunks of remote sources in this folder, also for later mounts'; set -a values 'DIR'
    set -a names cache_size=; set -a texts 'Cap on the bytes in the folder of cache='; set -a values ''
    set -a names memory=; set -a texts 'Cap on the memory of all caches together: shard indexes and decoded data'; set -a values ''
    set -a names uid=; set -a texts 'Owner of the files shown'; set -a values ''
    set -a names gid=; set -a texts 'Group of the files shown'; set -a values ''
    set -a names umask=; set -a texts 'Permissions that files and directories lack: 002 lets the group write'; set -a values ''
    set -a names fmask=; set -a texts 'The same for files alone'; set -a values ''
    set -a names dmask=; set -a texts 'The same for directories alone'; set -a values ''
    set -a names allow_other; set -a texts 'Let other users enter the mount'; set -a values ''
    set -a names no_io_uring; set -a texts 'Read requests from /dev/fuse, also where the kernel offers them over io_uring, which is faster'; set -a values ''
    # END mount options
    set -l list (commandline -ct)
    set -l before (string replace -r '[^,]*$' '' -- $list)
    set -l last (string replace -r '.*,' '' -- $list)
    if not string match -q '*=*' -- $last
        for i in (seq (count $names))
            printf '%s%s\t%s\n' $before $names[$i] $texts[$i]
        end
        return
    end
    set -l name (string replace -r '=.*' '=' -- $last)
    set -l i (contains -i -- $name $names); or return
    for value in (string split -n ' ' -- $values[$i])
        if test $value = DIR
            printf "$before$name%s\n" (__fish_complete_directories (string replace -- $name '' $last))
        else if test $name = files=
            # Lists of formats have colons between them.
            printf '%s%s%s\n' $before (string replace -r '[^=:]*$' '' -- $last) $value
        else
            printf '%s%s%s\n' $before $name $value
        end
    end
end

complete -c unshard -f
# BEGIN commands: packaging/update-texts writes these lines
complete -c unshard -n '__unshard_group' -a mount -d 'Show a sharded dataset as files'
complete -c unshard -n '__unshard_group' -a umount -d 'Publish written chunks and unmount'
complete -c unshard -n '__unshard_group' -a flush -d 'Wait until all written chunks are in their shards'
complete -c unshard -n '__unshard_group' -a status -d 'Say what a mount is doing'
complete -c unshard -n '__unshard_group' -a list -d 'List all mounts and their unpublished chunks'
complete -c unshard -n '__unshard_group' -a why -d 'Say why the last request on a path failed'
complete -c unshard -n '__unshard_group' -a spool -d 'Inspect or publish chunks that mounts left in the spool'
complete -c unshard -n '__unshard_group' -a info -d 'Say what a source holds'
complete -c unshard -n '__unshard_group' -a schema -d 'Print the TensorStore Schema of an array'
complete -c unshard -n '__unshard_group' -a create -d 'Make a new dataset without chunks'
complete -c unshard -n '__unshard_group' -a copy -d 'Copy a dataset into another one, in any format'
complete -c unshard -n '__unshard_group' -a help -d 'Explain a command'
complete -c unshard -n '__unshard_group' -s h -l help -d 'Print this help message and exit'
complete -c unshard -n '__unshard_group' -l version -d 'Print the version, and which libraries this build has and lacks'
complete -c unshard -n '__unshard_in mount' -s h -l help -d 'Print this help message and exit'
complete -c unshard -n '__unshard_in mount' -s o -d 'Options, separated by commas' -x -a '(__unshard_offer OPTIONS)'
complete -c unshard -n '__unshard_in mount' -s f -l foreground -d 'Stay in the foreground and log to standard error'
complete -c unshard -n '__unshard_in mount' -s v -l verbose -d 'Log more'
complete -c unshard -n '__unshard_in mount; and __unshard_argument 1 1 -o' -a '(__unshard_offer DIR)'
complete -c unshard -n '__unshard_in mount; and __unshard_argument 2 1 -o' -a '(__unshard_offer DIR)'
complete -c unshard -n '__unshard_in umount' -s h -l help -d 'Print this help message and exit'
complete -c unshard -n '__unshard_in umount; and __unshard_argument 1 1' -a '(__unshard_offer MOUNT)'
complete -c unshard -n '__unshard_in flush' -s h -l help -d 'Print this help message and exit'
complete -c unshard -n '__unshard_in flush; and __unshard_argument 1 1' -a '(__unshard_offer MOUNT)'
complete -c unshard -n '__unshard_in status' -s h -l help -d 'Print this help message and exit'
complete -c unshard -n '__unshard_in status' -l watch -d 'Repeat every second, until stopped'
complete -c unshard -n '__unshard_in status' -l json -d 'One JSON object, for programs'
complete -c unshard -n '__unshard_in status; and __unshard_argument 1 1' -a '(__unshard_offer MOUNT)'
complete -c unshard -n '__unshard_in list' -s h -l help -d 'Print this help message and exit'
complete -c unshard -n '__unshard_in list' -l json -d 'One JSON object, for programs'
complete -c unshard -n '__unshard_in why' -s h -l help -d 'Print this help message and exit'
complete -c unshard -n '__unshard_in why; and __unshard_argument 1 1' -a '(__unshard_offer MOUNT FILE)'
complete -c unshard -n '__unshard_group spool' -a list -d 'List the spools and their chunks'
complete -c unshard -n '__unshard_group spool' -a publish -d 'Publish the chunks that dead mounts left'
complete -c unshard -n '__unshard_group spool' -a export -d 'Copy every chunk to plain files'
complete -c unshard -n '__unshard_group spool' -a drop -d 'Remove quarantined chunks for good'
complete -c unshard -n '__unshard_group spool' -s h -l help -d 'Print this help message and exit'
complete -c unshard -n '__unshard_in spool list' -s h -l help -d 'Print this help message and exit'
complete -c unshard -n '__unshard_in spool list' -l spool -d 'Folder of spools, as given to mount with -o spool=' -x -a '(__unshard_offer DIR)'
complete -c unshard -n '__unshard_in spool list' -s v -l verbose -d 'List every chunk'
complete -c unshard -n '__unshard_in spool list; and __unshard_argument 1 2 --spool' -a '(__unshard_offer DIR)'
complete -c unshard -n '__unshard_in spool publish' -s h -l help -d 'Print this help message and exit'
complete -c unshard -n '__unshard_in spool publish' -l spool -d 'Folder of spools, as given to mount with -o spool=' -x -a '(__unshard_offer DIR)'
complete -c unshard -n '__unshard_in spool publish; and __unshard_argument 1 2 --spool' -a '(__unshard_offer DIR)'
complete -c unshard -n '__unshard_in spool export' -s h -l help -d 'Print this help message and exit'
complete -c unshard -n '__unshard_in spool export' -l spool -d 'Folder of spools, as given to mount with -o spool=' -x -a '(__unshard_offer DIR)'
complete -c unshard -n '__unshard_in spool export; and __unshard_argument 1 2 --spool' -a '(__unshard_offer DIR)'
complete -c unshard -n '__unshard_in spool export; and __unshard_argument 2 2 --spool' -a '(__unshard_offer DIR)'
complete -c unshard -n '__unshard_in spool drop' -s h -l help -d 'Print this help message and exit'
complete -c unshard -n '__unshard_in spool drop' -l spool -d 'Folder of spools, as given to mount with -o spool=' -x -a '(__unshard_offer DIR)'
complete -c unshard -n '__unshard_in spool drop' -l all -d 'Every quarantined chunk of this source'
complete -c unshard -n '__unshard_in spool drop; and __unshard_argument 1 2 --spool' -a '(__unshard_offer DIR)'
complete -c unshard -n '__unshard_in info' -s h -l help -d 'Print this help message and exit'
complete -c unshard -n '__unshard_in info' -l json -d 'One JSON object, for programs'
complete -c unshard -n '__unshard_in info; and __unshard_argument 1 1' -a '(__unshard_offer DIR)'
complete -c unshard -n '__unshard_in schema' -s h -l help -d 'Print this help message and exit'
complete -c unshard -n '__unshard_in schema; and __unshard_argument 1 1' -a '(__unshard_offer DIR)'
complete -c unshard -n '__unshard_in create' -s h -l help -d 'Print this help message and exit'
complete -c unshard -n '__unshard_in create' -l format -d 'The format of the new dataset' -x -a '(__unshard_offer precomputed zarr3 zarr2 n5)'
complete -c unshard -n '__unshard_in create' -l like -d 'Copy the metadata of this dataset' -x -a '(__unshard_offer DIR)'
complete -c unshard -n '__unshard_in create' -l schema -d 'A TensorStore Schema, which the other options are merged with and must not contradict' -x -a '(__unshard_offer FILE)'
complete -c unshard -n '__unshard_in create' -l shape -d 'Extents' -x
complete -c unshard -n '__unshard_in create' -l offset -d 'The first voxel of a volume, as in --offset=-8,0,0' -x
complete -c unshard -n '__unshard_in create' -l dtype -d 'The data type, such as uint8, uint64 or float32' -x -a '(__unshard_offer bool int2 int4 int8 uint8 int16 uint16 int32 uint32 int64 uint64 float4_e2m1fn float8_e3m4 float8_e4m3fn float8_e4m3fnuz float8_e4m3b11fnuz float8_e5m2 float8_e5m2fnuz bfloat16 float16 float32 float64 complex64 complex128)'
complete -c unshard -n '__unshard_in create' -l chunk -d 'Extents of chunks, or of the inner chunks of shards' -x
complete -c unshard -n '__unshard_in create' -l shard -d 'Extents of shards (for a volume, the nearest possible), or about how many bytes of voxels a shard holds, as in 1GB or 512MiB, or auto (1GB)' -x
complete -c unshard -n '__unshard_in create' -l codec -d 'raw, gzip, zstd, blosc and others, also with a level, as in zstd:5' -x -a '(__unshard_offer raw compressed_segmentation jpeg png jxl zstd gzip blosc zlib bz2 bzip2 xz)'
complete -c unshard -n '__unshard_in create' -l fill -d 'The value of absent chunks (Zarr)' -x
complete -c unshard -n '__unshard_in create' -l axes -d 'Names of the dimensions (Zarr v3, N5)' -x
complete -c unshard -n '__unshard_in create' -l resolution -d 'Size of a voxel along each dimension, in nanometres or with a unit ("0.5 s")' -x
complete -c unshard -n '__unshard_in create' -l ome -d 'Version of OME-Zarr of a pyramid' -x
complete -c unshard -n '__unshard_in create' -l scales -d 'Number of resolutions of the volume, or of levels of the pyramid' -x
complete -c unshard -n '__unshard_in create' -l factor -d 'How much coarser the next scale is, as in 2,2,1' -x
complete -c unshard -n '__unshard_in create; and __unshard_argument 1 1 --format --like --schema --shape --offset --dtype --chunk --shard --codec --fill --axes --resolution --ome --scales --factor' -a '(__unshard_offer DIR)'
complete -c unshard -n '__unshard_in copy' -s h -l help -d 'Print this help message and exit'
complete -c unshard -n '__unshard_in copy' -l exclude -d 'Leave out this path below the source, such as labels' -x
complete -c unshard -n '__unshard_in copy' -l verify -d 'Afterwards read both again and compare every voxel'
complete -c unshard -n '__unshard_in copy' -l delete -d 'Remove chunks of DESTINATION that SOURCE lacks'
complete -c unshard -n '__unshard_in copy' -l replace -d 'Copy also the chunks and files that DESTINATION has already'
complete -c unshard -n '__unshard_in copy' -l strict -d 'Copy nothing if the format cannot express an array'
complete -c unshard -n '__unshard_in copy' -s n -l dry-run -d 'Print what would be written, and write nothing'
complete -c unshard -n '__unshard_in copy' -s q -l quiet -d 'Show no plan and no progress'
complete -c unshard -n '__unshard_in copy' -l format -d 'The format of the new dataset' -x -a '(__unshard_offer precomputed zarr3 zarr2 n5)'
complete -c unshard -n '__unshard_in copy' -l like -d 'Copy the metadata of this dataset' -x -a '(__unshard_offer DIR)'
complete -c unshard -n '__unshard_in copy' -l schema -d 'A TensorStore Schema, which the other options are merged with and must not contradict' -x -a '(__unshard_offer FILE)'
complete -c unshard -n '__unshard_in copy' -l shape -d 'Extents' -x
complete -c unshard -n '__unshard_in copy' -l offset -d 'The first voxel of a volume, as in --offset=-8,0,0' -x
complete -c unshard -n '__unshard_in copy' -l dtype -d 'The data type, such as uint8, uint64 or float32' -x -a '(__unshard_offer bool int2 int4 int8 uint8 int16 uint16 int32 uint32 int64 uint64 float4_e2m1fn float8_e3m4 float8_e4m3fn float8_e4m3fnuz float8_e4m3b11fnuz float8_e5m2 float8_e5m2fnuz bfloat16 float16 float32 float64 complex64 complex128)'
complete -c unshard -n '__unshard_in copy' -l chunk -d 'Extents of chunks, or of the inner chunks of shards' -x
complete -c unshard -n '__unshard_in copy' -l shard -d 'Extents of shards (for a volume, the nearest possible), or about how many bytes of voxels a shard holds, as in 1GB or 512MiB, or auto (1GB)' -x
complete -c unshard -n '__unshard_in copy' -l codec -d 'raw, gzip, zstd, blosc and others, also with a level, as in zstd:5' -x -a '(__unshard_offer raw compressed_segmentation jpeg png jxl zstd gzip blosc zlib bz2 bzip2 xz)'
complete -c unshard -n '__unshard_in copy' -l fill -d 'The value of absent chunks (Zarr)' -x
complete -c unshard -n '__unshard_in copy' -l axes -d 'Names of the dimensions (Zarr v3, N5)' -x
complete -c unshard -n '__unshard_in copy' -l resolution -d 'Size of a voxel along each dimension, in nanometres or with a unit ("0.5 s")' -x
complete -c unshard -n '__unshard_in copy' -l ome -d 'Version of OME-Zarr of a pyramid' -x
complete -c unshard -n '__unshard_in copy' -l scales -d 'Number of resolutions of the volume, or of levels of the pyramid' -x
complete -c unshard -n '__unshard_in copy' -l factor -d 'How much coarser the next scale is, as in 2,2,1' -x
complete -c unshard -n '__unshard_in copy; and __unshard_argument 1 1 --exclude --format --like --schema --shape --offset --dtype --chunk --shard --codec --fill --axes --resolution --ome --scales --factor' -a '(__unshard_offer DIR)'
complete -c unshard -n '__unshard_in copy; and __unshard_argument 2 1 --exclude --format --like --schema --shape --offset --dtype --chunk --shard --codec --fill --axes --resolution --ome --scales --factor' -a '(__unshard_offer DIR)'
complete -c unshard -n '__unshard_in help' -s h -l help -d 'Print this help message and exit'
complete -c unshard -n '__unshard_in help' -l json -d 'The same as one JSON object, with what each option takes, for programs'
complete -c unshard -n '__unshard_in help; and __unshard_argument 1+ 1' -a '(__unshard_offer COMMAND)'
# END commands
