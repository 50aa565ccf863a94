# Completion of unshard's commands, options and values for bash. It needs nothing but bash.

# Sets `options`, `commands` and `arguments` of the command $1, and `values` of its options: names to
# offer, and the words in capitals of _unshard_offer.
_unshard_describe() {
  options="" commands="" arguments=() values=()
  case $1 in
    # BEGIN commands: packaging/update-texts writes these lines
    "unshard")
      options="--help --version"
      commands="mount umount flush status list why spool info schema create copy help"
      ;;
    "unshard mount")
      options="--help -o -f --foreground -v --verbose"
      arguments=("DIR" "DIR")
      values[-o]="OPTIONS"
      ;;
    "unshard umount")
      options="--help"
      arguments=("MOUNT")
      ;;
    "unshard flush")
      options="--help"
      arguments=("MOUNT")
      ;;
    "unshard status")
      options="--help --watch --json"
      arguments=("MOUNT")
      ;;
    "unshard list")
      options="--help --json"
      ;;
    "unshard why")
      options="--help"
      arguments=("MOUNT FILE")
      ;;
    "unshard spool")
      options="--help"
      commands="list publish export drop"
      ;;
    "unshard spool list")
      options="--help --spool -v --verbose"
      arguments=("DIR")
      values[--spool]="DIR"
      ;;
    "unshard spool publish")
      options="--help --spool"
      arguments=("DIR")
      values[--spool]="DIR"
      ;;
    "unshard spool export")
      options="--help --spool"
      arguments=("DIR" "DIR")
      values[--spool]="DIR"
      ;;
    "unshard spool drop")
      options="--help --spool --all"
      arguments=("DIR" "")
      values[--spool]="DIR"
      ;;
    "unshard info")
      options="--help --json"
      arguments=("DIR")
      ;;
    "unshard schema")
      options="--help"
      arguments=("DIR" "")
      ;;
    "unshard create")
      options="--help --format --like --schema --shape --offset --dtype --chunk --shard --codec --fill --axes --resolution --ome --scales --factor"
      arguments=("DIR")
      values[--format]="precomputed zarr3 zarr2 n5"
      values[--like]="DIR"
      values[--schema]="FILE"
      values[--shape]=""
      values[--offset]=""
      values[--dtype]="bool int2 int4 int8 uint8 int16 uint16 int32 uint32 int64 uint64 float4_e2m1fn float8_e3m4 float8_e4m3fn float8_e4m3fnuz float8_e4m3b11fnuz float8_e5m2 float8_e5m2fnuz bfloat16 float16 float32 float64 complex64 complex128"
      values[--chunk]=""
      values[--shard]=""
      values[--codec]="raw compressed_segmentation jpeg png jxl zstd gzip blosc zlib bz2 bzip2 xz"
      values[--fill]=""
      values[--axes]=""
      values[--resolution]=""
      values[--ome]=""
      values[--scales]=""
      values[--factor]=""
      ;;
    "unshard copy")
      options="--help --exclude --verify --delete --replace --strict -n --dry-run -q --quiet --format --like --schema --shape --offset --dtype --chunk --shard --codec --fill --axes --resolution --ome --scales --factor"
      arguments=("DIR" "DIR")
      values[--exclude]=""
      values[--format]="precomputed zarr3 zarr2 n5"
      values[--like]="DIR"
      values[--schema]="FILE"
      values[--shape]=""
      values[--offset]=""
      values[--dtype]="bool int2 int4 int8 uint8 int16 uint16 int32 uint32 int64 uint64 float4_e2m1fn float8_e3m4 float8_e4m3fn float8_e4m3fnuz float8_e4m3b11fnuz float8_e5m2 float8_e5m2fnuz bfloat16 float16 float32 float64 complex64 complex128"
      values[--chunk]=""
      values[--shard]=""
      values[--codec]="raw compressed_segmentation jpeg png jxl zstd gzip blosc zlib bz2 bzip2 xz"
      values[--fill]=""
      values[--axes]=""
      values[--resolution]=""
      values[--ome]=""
      values[--scales]=""
      values[--factor]=""
      ;;
    "unshard help")
      options="--help --json"
      arguments=("COMMAND")
      ;;
    # END commands
  esac
}

# Names of mount options, with "=" where a value follows, and what to offer for it.
_unshard_mount_options() {
  declare -gA _unshard_values=(
    # BEGIN mount options: packaging/update-texts writes these lines
    ["view="]="native raw precomputed zarr3 zarr2 n5 all"
    ["view_codec="]="none gzip zstd blosc"
    ["ome="]=""
    ["files="]="npy nii nrrd raw"
    ["zip="]="file enter"
    ["lossy="]="yes no"
    ["list="]="present grid none"
    ["morton="]="detect standard legacy"
    ["watch="]="on off"
    ["ttl="]=""
    ["immutable"]=""
    ["ro"]=""
    ["rw"]=""
    ["spool="]="DIR"
    ["spool_size="]=""
    ["spool_files="]=""
    ["publish_after="]=""
    ["publish_threads="]=""
    ["sync="]="spool store"
    ["strict"]=""
    ["single_writer"]=""
    ["shard="]=""
    ["anonymous"]=""
    ["allow_http"]=""
    ["endpoint="]=""
    ["region="]=""
    ["profile="]=""
    ["cache="]="DIR"
    ["cache_size="]=""
    ["memory="]=""
    ["uid="]=""
    ["gid="]=""
    ["umask="]=""
    ["fmask="]=""
    ["dmask="]=""
    ["allow_other"]=""
    ["no_io_uring"]=""
    # END mount options
  )
}

# Where datasets are mounted, one a line.
_unshard_mount_points() {
  local line point
  while read -r line; do
    [[ $line == *" - fuse.unshard "* ]] || continue
    read -r _ _ _ _ point _ <<<"$line"
    printf '%b\n' "${point//\\/\\0}"
  done </proc/self/mountinfo
}

# Offers what the words $1 say, where it begins with $2; $3 is put before each.
_unshard_offer() {
  local word found
  for word in $1; do
    found=()
    case $word in
      DIR) mapfile -t found < <(compgen -d -- "$2") && compopt -o filenames 2>/dev/null ;;
      FILE) mapfile -t found < <(compgen -f -- "$2") && compopt -o filenames 2>/dev/null ;;
      MOUNT) mapfile -t found < <(_unshard_mount_points) && compopt -o filenames 2>/dev/null ;;
      COMMAND)
        _unshard_describe "unshard${place:+ $place}"
        read -ra found <<<"$commands"
        ;;
      OPTIONS) _unshard_offer_option "$2" ;;
      *) found=("$word") ;;
    esac
    for word in "${found[@]}"; do
      [[ $word != "$2"* ]] || COMPREPLY+=("$3$word")
    done
  done
}

# Offers what the last entry of the list $1 of mount options can become.
_unshard_offer_option() {
  local last=${1##*,} before=${1%"${1##*,}"} name
  _unshard_mount_options
  compopt -o nospace 2>/dev/null
  if [[ $last == *=* ]]; then
    name=${last%%=*}=
    # Lists of formats have colons between them.
    [[ $name != files= ]] || name+=${last#*=} name=${name%"${name##*[=:]}"}
    _unshard_offer "${_unshard_values[${last%%=*}=]}" "${last#"$name"}" "$before$name"
  else
    _unshard_offer "${!_unshard_values[*]}" "$last" "$before"
  fi
}

_unshard() {
  COMPREPLY=()
  # Bash splits words also at "=" and ":"; the line says where these belong together.
  local line=$COMP_LINE piece words=() i
  for ((i = 0; i <= COMP_CWORD; i++)); do
    piece=${COMP_WORDS[i]}
    if ((i > 0)) && [[ $line != [[:space:]]* && -n $line ]]; then
      words[-1]+=$piece
    else
      words+=("$piece")
    fi
    line=${line#"${line%%[![:space:]]*}"}
    line=${line#"$piece"}
  done
  local current=${words[-1]} options commands arguments place=""
  local -A values
  unset "words[-1]"

  # The command, how many arguments it has, and which option waits for its value.
  local path=unshard word count=0 waits=""
  _unshard_describe "$path"
  for word in "${words[@]:1}"; do
    if [[ -n $waits ]]; then
      waits=""
    elif [[ $word == -* ]]; then
      [[ " ${!values[*]} " != *" $word "* ]] || waits=$word
    elif [[ -n $commands ]]; then
      path+=" $word"
      _unshard_describe "$path"
    else
      place+=${place:+ }$word
      ((count += 1))
    fi
  done

  if [[ -n $waits ]]; then
    _unshard_offer "${values[$waits]}" "$current"
  elif [[ $current == --*=* ]]; then
    _unshard_offer "${values[${current%%=*}]}" "${current#*=}" "${current%%=*}="
  elif [[ $current == -* ]]; then
    _unshard_offer "$options" "$current"
  elif [[ -n $commands ]]; then
    _unshard_offer "$commands" "$current"
  else
    # The last argument of some commands may be repeated.
    ((count < ${#arguments[@]})) || [[ $path != "unshard help" ]] || count=0
    _unshard_offer "${arguments[count]:-}" "$current"
  fi

  # Bash replaces the current piece only: what stands before it in the word is cut off again.
  piece=${COMP_WORDS[COMP_CWORD]}
  [[ $piece != [=:] ]] || piece=""
  local kept=${current%"$piece"}
  COMPREPLY=("${COMPREPLY[@]#"$kept"}")
}

complete -F _unshard unshard
