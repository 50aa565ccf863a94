# Completion of unshard's subcommands and options for bash.

# Completes the last entry of a comma-separated `-o` list. Whether ":" or "=" splits the words that
# bash hands over differs between users, so the list is taken from the line itself.
_unshard_mount_options() {
  local list=${COMP_LINE:0:COMP_POINT}
  list=${list##* }
  local last=${list##*,} before=${list%"${list##*,}"} choices
  case $last in
    files=*) choices="files=npy files=nii files=nrrd files=raw files=npy:nii:nrrd:raw" ;;
    # BEGIN mount options: packaging/update-texts writes these lines
    view=*) choices="view=native view=raw view=precomputed view=zarr3 view=zarr2 view=n5 view=all" ;;
    view_codec=*) choices="view_codec=none view_codec=gzip view_codec=zstd view_codec=blosc" ;;
    lossy=*) choices="lossy=yes lossy=no" ;;
    list=*) choices="list=present list=grid list=none" ;;
    morton=*) choices="morton=detect morton=standard morton=legacy" ;;
    watch=*) choices="watch=on watch=off" ;;
    sync=*) choices="sync=spool sync=store" ;;
    *=*) return ;;
    *) choices="view= view_codec= files= lossy= list= morton= watch= ttl= immutable ro rw spool= spool_size= spool_files= publish_after= publish_threads= sync= strict single_writer shard= anonymous allow_http endpoint= region= profile= cache= cache_size= memory= uid= gid= umask= fmask= dmask= allow_other no_io_uring" ;;
    # END mount options
  esac
  # Bash replaces the current word only: what stands before it in the list is cut off again.
  local current=${COMP_WORDS[COMP_CWORD]} kept
  [ "$current" != = ] || current=
  kept=${list%"$current"}
  mapfile -t COMPREPLY < <(compgen -P "$before" -W "$choices" -- "$last")
  COMPREPLY=("${COMPREPLY[@]#"$kept"}")
  compopt -o nospace 2>/dev/null
}

_unshard_mount_points() {
  local device point type rest
  while read -r device point type rest; do
    [ "$type" != fuse.unshard ] || printf '%b\n' "$point"
  done </proc/mounts
}

_unshard() {
  local current=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} word
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    word="mount umount flush status list why spool info schema create copy help --help --version"
    mapfile -t COMPREPLY < <(compgen -W "$word" -- "$current")
    return
  fi
  local line=${COMP_LINE:0:COMP_POINT}
  # The word right behind "-o" is a list.
  if [[ $command == mount && $line == *" -o "* && ${line##* -o } != *" "* ]]; then
    _unshard_mount_options
    return
  fi
  case $command in
    mount) word="-o -f --foreground -v --verbose --help" ;;
    info | list | help) word="--json --help" ;;
    status) word="--watch --json --help" ;;
    create | copy)
      word="--format --like --schema --shape --offset --dtype --chunk --shard --codec --fill --axes"
      word+=" --resolution --scales --factor --help"
      [ "$command" = create ] || word+=" --exclude --verify --delete --replace --strict -n --dry-run -q --quiet"
      ;;
    spool)
      word="--help"
      [ "${COMP_WORDS[2]}" != list ] || word="-v --verbose --help"
      [ "${COMP_WORDS[2]}" != drop ] || word="--all --help"
      [ "$COMP_CWORD" -eq 2 ] || word+=" --spool"
      ;;
    *) word="--help" ;;
  esac
  if [[ $command == c* && ${COMP_WORDS[COMP_CWORD - 1]} == --format ]]; then
    mapfile -t COMPREPLY < <(compgen -W "precomputed zarr3 zarr2 n5" -- "$current")
  elif [[ $current == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$word" -- "$current")
  elif [ "$command" = spool ] && [ "$COMP_CWORD" -eq 2 ]; then
    mapfile -t COMPREPLY < <(compgen -W "list publish export drop" -- "$current")
  elif [ "$command" = help ]; then
    word="mount umount flush status list why spool info schema create copy help"
    [ "${COMP_WORDS[2]}" != spool ] || word="list publish export drop"
    mapfile -t COMPREPLY < <(compgen -W "$word" -- "$current")
  elif [ "$command" = list ]; then
    return
  elif [ "$command" = why ]; then
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  elif [[ $command == umount || $command == flush || $command == status ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(_unshard_mount_points)" -- "$current")
  else
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -d -- "$current")
  fi
}

complete -F _unshard unshard
