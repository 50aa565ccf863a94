#compdef unshard
# Completion of unshard's commands, options and values for zsh.

# BEGIN commands: packaging/update-texts writes these lines
_unshard_commands() {
  local -a commands=(
    'mount:Show a sharded dataset as files'
    'umount:Publish written chunks and unmount'
    'flush:Wait until all written chunks are in their shards'
    'status:Say what a mount is doing'
    'list:List all mounts and their unpublished chunks'
    'why:Say why the last request on a path failed'
    'spool:Inspect or publish chunks that mounts left in the spool'
    'info:Say what a source holds'
    'schema:Print the TensorStore Schema of an array'
    'create:Make a new dataset without chunks'
    'copy:Copy a dataset into another one, in any format'
    'help:Explain a command'
  )
  _describe command commands
}
_unshard_mount_arguments() {
  local -a arguments=(
    '(-h --help)-h[Print this help message and exit]'
    '(-h --help)--help[Print this help message and exit]'
    '*-o[Options, separated by commas]:o: _unshard_offer OPTIONS'
    '(-f --foreground)-f[Stay in the foreground and log to standard error]'
    '(-f --foreground)--foreground[Stay in the foreground and log to standard error]'
    '(-v --verbose)-v[Log more]'
    '(-v --verbose)--verbose[Log more]'
    ':source: _unshard_offer DIR'
    ':mount_point: _unshard_offer DIR'
  )
  _arguments -s $arguments
}
_unshard_umount_arguments() {
  local -a arguments=(
    '(-h --help)-h[Print this help message and exit]'
    '(-h --help)--help[Print this help message and exit]'
    ':mount_point: _unshard_offer MOUNT'
  )
  _arguments -s $arguments
}
_unshard_flush_arguments() {
  local -a arguments=(
    '(-h --help)-h[Print this help message and exit]'
    '(-h --help)--help[Print this help message and exit]'
    ':mount_point: _unshard_offer MOUNT'
  )
  _arguments -s $arguments
}
_unshard_status_arguments() {
  local -a arguments=(
    '(-h --help)-h[Print this help message and exit]'
    '(-h --help)--help[Print this help message and exit]'
    '(--watch)--watch[Repeat every second, until stopped]'
    '(--json)--json[One JSON object, for programs]'
    ':mount_point: _unshard_offer MOUNT'
  )
  _arguments -s $arguments
}
_unshard_list_arguments() {
  local -a arguments=(
    '(-h --help)-h[Print this help message and exit]'
    '(-h --help)--help[Print this help message and exit]'
    '(--json)--json[One JSON object, for programs]'
  )
  _arguments -s $arguments
}
_unshard_why_arguments() {
  local -a arguments=(
    '(-h --help)-h[Print this help message and exit]'
    '(-h --help)--help[Print this help message and exit]'
    ':path: _unshard_offer MOUNT FILE'
  )
  _arguments -s $arguments
}
_unshard_spool_commands() {
  local -a commands=(
    'list:List the spools and their chunks'
    'publish:Publish the chunks that dead mounts left'
    'export:Copy every chunk to plain files'
    'drop:Remove quarantined chunks for good'
  )
  _describe command commands
}
_unshard_spool_list_arguments() {
  local -a arguments=(
    '(-h --help)-h[Print this help message and exit]'
    '(-h --help)--help[Print this help message and exit]'
    '(--spool)--spool=[Folder of spools, as given to mount with -o spool=]:spool: _unshard_offer DIR'
    '(-v --verbose)-v[List every chunk]'
    '(-v --verbose)--verbose[List every chunk]'
    '::source: _unshard_offer DIR'
  )
  _arguments -s $arguments
}
_unshard_spool_publish_arguments() {
  local -a arguments=(
    '(-h --help)-h[Print this help message and exit]'
    '(-h --help)--help[Print this help message and exit]'
    '(--spool)--spool=[Folder of spools, as given to mount with -o spool=]:spool: _unshard_offer DIR'
    ':source: _unshard_offer DIR'
  )
  _arguments -s $arguments
}
_unshard_spool_export_arguments() {
  local -a arguments=(
    '(-h --help)-h[Print this help message and exit]'
    '(-h --help)--help[Print this help message and exit]'
    '(--spool)--spool=[Folder of spools, as given to mount with -o spool=]:spool: _unshard_offer DIR'
    ':directory: _unshard_offer DIR'
    '::source: _unshard_offer DIR'
  )
  _arguments -s $arguments
}
_unshard_spool_drop_arguments() {
  local -a arguments=(
    '(-h --help)-h[Print this help message and exit]'
    '(-h --help)--help[Print this help message and exit]'
    '(--spool)--spool=[Folder of spools, as given to mount with -o spool=]:spool: _unshard_offer DIR'
    '(--all)--all[Every quarantined chunk of this source]'
    ':source: _unshard_offer DIR'
    '*:chunk: _unshard_offer'
  )
  _arguments -s $arguments
}
_unshard_info_arguments() {
  local -a arguments=(
    '(-h --help)-h[Print this help message and exit]'
    '(-h --help)--help[Print this help message and exit]'
    '(--json)--json[One JSON object, for programs]'
    ':source: _unshard_offer DIR'
  )
  _arguments -s $arguments
}
_unshard_schema_arguments() {
  local -a arguments=(
    '(-h --help)-h[Print this help message and exit]'
    '(-h --help)--help[Print this help message and exit]'
    ':source: _unshard_offer DIR'
    '::array: _unshard_offer'
  )
  _arguments -s $arguments
}
_unshard_create_arguments() {
  local -a arguments=(
    '(-h --help)-h[Print this help message and exit]'
    '(-h --help)--help[Print this help message and exit]'
    '(--format)--format=[The format of the new dataset]:format: _unshard_offer precomputed zarr3 zarr2 n5'
    '(--like)--like=[Copy the metadata of this dataset]:like: _unshard_offer DIR'
    '(--schema)--schema=[A TensorStore Schema, which the other options are merged with and must not contradict]:schema: _unshard_offer FILE'
    '(--shape)--shape=[Extents]:shape: _unshard_offer'
    '(--offset)--offset=[The first voxel of a volume, as in --offset=-8,0,0]:offset: _unshard_offer'
    '(--dtype)--dtype=[The data type, such as uint8, uint64 or float32]:dtype: _unshard_offer bool int2 int4 int8 uint8 int16 uint16 int32 uint32 int64 uint64 float4_e2m1fn float8_e3m4 float8_e4m3fn float8_e4m3fnuz float8_e4m3b11fnuz float8_e5m2 float8_e5m2fnuz bfloat16 float16 float32 float64 complex64 complex128'
    '(--chunk)--chunk=[Extents of chunks, or of the inner chunks of shards]:chunk: _unshard_offer'
    '(--shard)--shard=[Extents of shards (for a volume, the nearest possible), or about how many bytes of voxels a shard holds, as in 1GB or 512MiB, or auto (1GB)]:shard: _unshard_offer'
    '(--codec)--codec=[raw, gzip, zstd, blosc and others, also with a level, as in zstd\:5]:codec: _unshard_offer raw compressed_segmentation jpeg png jxl zstd gzip blosc zlib bz2 bzip2 xz'
    '(--fill)--fill=[The value of absent chunks (Zarr)]:fill: _unshard_offer'
    '(--axes)--axes=[Names of the dimensions (Zarr v3, N5)]:axes: _unshard_offer'
    '(--resolution)--resolution=[Size of a voxel along each dimension, in nanometres or with a unit ("0.5 s")]:resolution: _unshard_offer'
    '(--ome)--ome=[Version of OME-Zarr of a pyramid]:ome: _unshard_offer'
    '(--scales)--scales=[Number of resolutions of the volume, or of levels of the pyramid]:scales: _unshard_offer'
    '*--factor=[How much coarser the next scale is, as in 2,2,1]:factor: _unshard_offer'
    ':destination: _unshard_offer DIR'
  )
  _arguments -s $arguments
}
_unshard_copy_arguments() {
  local -a arguments=(
    '(-h --help)-h[Print this help message and exit]'
    '(-h --help)--help[Print this help message and exit]'
    '*--exclude=[Leave out this path below the source, such as labels]:exclude: _unshard_offer'
    '(--verify)--verify[Afterwards read both again and compare every voxel]'
    '(--delete)--delete[Remove chunks of DESTINATION that SOURCE lacks]'
    '(--replace)--replace[Copy also the chunks and files that DESTINATION has already]'
    '(--strict)--strict[Copy nothing if the format cannot express an array]'
    '(-n --dry-run)-n[Print what would be written, and write nothing]'
    '(-n --dry-run)--dry-run[Print what would be written, and write nothing]'
    '(-q --quiet)-q[Show no plan and no progress]'
    '(-q --quiet)--quiet[Show no plan and no progress]'
    '(--format)--format=[The format of the new dataset]:format: _unshard_offer precomputed zarr3 zarr2 n5'
    '(--like)--like=[Copy the metadata of this dataset]:like: _unshard_offer DIR'
    '(--schema)--schema=[A TensorStore Schema, which the other options are merged with and must not contradict]:schema: _unshard_offer FILE'
    '(--shape)--shape=[Extents]:shape: _unshard_offer'
    '(--offset)--offset=[The first voxel of a volume, as in --offset=-8,0,0]:offset: _unshard_offer'
    '(--dtype)--dtype=[The data type, such as uint8, uint64 or float32]:dtype: _unshard_offer bool int2 int4 int8 uint8 int16 uint16 int32 uint32 int64 uint64 float4_e2m1fn float8_e3m4 float8_e4m3fn float8_e4m3fnuz float8_e4m3b11fnuz float8_e5m2 float8_e5m2fnuz bfloat16 float16 float32 float64 complex64 complex128'
    '(--chunk)--chunk=[Extents of chunks, or of the inner chunks of shards]:chunk: _unshard_offer'
    '(--shard)--shard=[Extents of shards (for a volume, the nearest possible), or about how many bytes of voxels a shard holds, as in 1GB or 512MiB, or auto (1GB)]:shard: _unshard_offer'
    '(--codec)--codec=[raw, gzip, zstd, blosc and others, also with a level, as in zstd\:5]:codec: _unshard_offer raw compressed_segmentation jpeg png jxl zstd gzip blosc zlib bz2 bzip2 xz'
    '(--fill)--fill=[The value of absent chunks (Zarr)]:fill: _unshard_offer'
    '(--axes)--axes=[Names of the dimensions (Zarr v3, N5)]:axes: _unshard_offer'
    '(--resolution)--resolution=[Size of a voxel along each dimension, in nanometres or with a unit ("0.5 s")]:resolution: _unshard_offer'
    '(--ome)--ome=[Version of OME-Zarr of a pyramid]:ome: _unshard_offer'
    '(--scales)--scales=[Number of resolutions of the volume, or of levels of the pyramid]:scales: _unshard_offer'
    '*--factor=[How much coarser the next scale is, as in 2,2,1]:factor: _unshard_offer'
    ':source: _unshard_offer DIR'
    ':destination: _unshard_offer DIR'
  )
  _arguments -s $arguments
}
_unshard_help_arguments() {
  local -a arguments=(
    '(-h --help)-h[Print this help message and exit]'
    '(-h --help)--help[Print this help message and exit]'
    '(--json)--json[The same as one JSON object, with what each option takes, for programs]'
    '*:command: _unshard_offer COMMAND'
  )
  _arguments -s $arguments
}
# END commands

# The entries of a list of mount options.
_unshard_mount_options() {
  local -a options=(
    # BEGIN mount options: packaging/update-texts writes these lines
    'view[Format in which the mount shows datasets]:view: _unshard_offer native raw precomputed zarr3 zarr2 n5 all'
    'view_codec[Compression of the chunks that a view in another format has to encode again]:view_codec: _unshard_offer none gzip zstd blosc'
    'ome[Version of OME-Zarr that the views zarr2 (0.4) and zarr3 (0.5, 0.6) show]:ome: _unshard_offer'
    'files[Also show each array as one file of all its voxels, files/PATH.FORMAT]:files: _unshard_offer npy nii nrrd raw'
    'zip[How ZIP archives (.ozx, .zip) below a directory are shown]:zip: _unshard_offer file enter'
    'lossy[Whether chunks that are written into a view may be stored in a lossy encoding (jpeg, jxl)]:lossy: _unshard_offer yes no'
    'list[What chunk directories list]:list: _unshard_offer present grid none'
    'morton[Rule that numbers precomputed chunks]:morton: _unshard_offer detect standard legacy'
    'watch[Follow changes that other programs make in the source, by inotify(7)]:watch: _unshard_offer on off'
    'ttl[How long the mount trusts what it has read where inotify reports no changes]:ttl: _unshard_offer'
    'immutable[The source never changes\: watch nothing and revalidate nothing]'
    'ro[Forbid writing]'
    'rw[Fail if the source cannot be written]'
    'spool[Folder in which written chunks wait until their shard is rewritten]:spool: _unshard_offer DIR'
    'spool_size[Cap on the bytes in the spool]:spool_size: _unshard_offer'
    'spool_files[Cap on the files in the spool]:spool_files: _unshard_offer'
    'publish_after[Rewrite a shard once none of its chunks has been written for this long]:publish_after: _unshard_offer'
    'publish_threads[How many shards are rewritten at the same time]:publish_threads: _unshard_offer'
    'sync[What fsync(2) waits for]:sync: _unshard_offer spool store'
    'strict[Never replace a chunk that another program has changed since it was read here\: quarantine the new chunk instead]'
    'single_writer[Promise that no other host writes the source]'
    'shard[Store new Zarr v3 arrays in shards of this shape\: in elements (256x1024x1024) or in chunks (8c, 1cx8cx8c)]:shard: _unshard_offer'
    'anonymous[s3\://, gs\://\: look for no credentials and sign no request]'
    'allow_http[s3\://\: send requests by plain http also to other hosts]'
    'endpoint[s3\://, gs\://\: the service that has the bucket]:endpoint: _unshard_offer'
    'region[s3\://\: the region of the bucket]:region: _unshard_offer'
    'profile[s3\://\: the profile of ~/.aws/config and ~/.aws/credentials that signs requests]:profile: _unshard_offer'
    'cache[Keep indexes and chunks of remote sources in this folder, also for later mounts]:cache: _unshard_offer DIR'
    'cache_size[Cap on the bytes in the folder of cache=]:cache_size: _unshard_offer'
    'memory[Cap on the memory of all caches together\: shard indexes and decoded data]:memory: _unshard_offer'
    'uid[Owner of the files shown]:uid: _unshard_offer'
    'gid[Group of the files shown]:gid: _unshard_offer'
    'umask[Permissions that files and directories lack\: 002 lets the group write]:umask: _unshard_offer'
    'fmask[The same for files alone]:fmask: _unshard_offer'
    'dmask[The same for directories alone]:dmask: _unshard_offer'
    'allow_other[Let other users enter the mount]'
    'no_io_uring[Read requests from /dev/fuse, also where the kernel offers them over io_uring, which is faster]'
    # END mount options
  )
  _values -s , 'mount option' $options
}

# Where datasets are mounted.
_unshard_mount_points() {
  local -a points
  local line
  while read -r line; do
    [[ $line != *' - fuse.unshard '* ]] || points+=("${(g:o:)${(s: :)line}[5]}")
  done </proc/self/mountinfo
  compadd -a points
}

# Offers the names that it is given; of words in capitals what they say.
_unshard_offer() {
  local word
  local -a names
  for word; do
    case $word in
      DIR) _files -/ ;;
      FILE) _files ;;
      MOUNT) _unshard_mount_points ;;
      OPTIONS) _unshard_mount_options ;;
      COMMAND)
        local function=_${(j:_:)${(@)words[1,CURRENT-1]/#help/unshard}}_commands
        (( ! $+functions[$function] )) || $function
        ;;
      *) names+=($word) ;;
    esac
  done
  # Lists of formats have colons between them.
  (( ! $#names )) || { compset -P '*:'; compadd -a names }
}

# Completes what stands behind the command $1, whose names have "_" between them.
_unshard_behind() {
  local curcontext=$curcontext state line
  typeset -A opt_args
  if (( ! $+functions[_$1_commands] )); then
    (( ! $+functions[_$1_arguments] )) || _$1_arguments
    return
  fi
  _arguments -C '(- *)'{-h,--help}'[Explain it]' '(- *)--version[Print the version]' '1:command:->command' \
    '*:: :->rest'
  case $state in
    command) _$1_commands ;;
    rest) _unshard_behind $1_$line[1] ;;
  esac
}

_unshard() {
  _unshard_behind unshard
}

_unshard "$@"
