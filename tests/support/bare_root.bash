# Sourced by scripts that prove something in a minimal Debian. Source it first: it starts the script once
# more, as root, with mounts and processes in name spaces of their own, which die with the script.
#
#   cache    keeps the empty roots as tarballs, the downloaded packages and, unless CCACHE_DIR names another
#            place, what was compiled, so that a second run is quick
#   root     the root that the functions work on; new_root makes it
#
# Requires: `cache`, a folder that may be missing.
source=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")
mkdir -p "$cache/archives"
cache=$(realpath "$cache")

fail() { echo "$(basename "$0"): $*" >&2; exit 1; }

if [ "$(id -u)" -ne 0 ]; then
  exec sudo -E "$(realpath "$0")" "$@"
fi
if [ -z "${BARE_ROOTS:-}" ]; then
  BARE_ROOTS=$(mktemp -d "$cache/bare.XXXXXX")
  chmod 755 "$BARE_ROOTS"  # programs in there run as other users too
  export BARE_ROOTS
  code=0
  "$source/tests/support/own_namespace" --pid --fork --kill-child -- "$(realpath "$0")" "$@" || code=$?
  # The mounts went with the name space; this removal must never cross into one that did not.
  ! grep -qF " $BARE_ROOTS/" /proc/self/mountinfo || fail "mounts leaked below $BARE_ROOTS"
  # Several scripts may do this at once; apt would lock a folder that they share.
  find "$BARE_ROOTS"/*/var/cache/apt/archives -name '*.deb' -exec cp -aln -t "$cache/archives" {} + || true
  rm -rf --one-file-system "$BARE_ROOTS"
  exit $code
fi

# The codename of this machine's Debian; nothing on another system.
own_suite() { sed -n 's/^VERSION_CODENAME=//p' /etc/os-release | grep -xE 'bookworm|trixie' || true; }

# The mirror of this machine for its own SUITE[-updates|-security]; nothing where it has none.
mirror_of() {
  apt-get indextargets --format '$(REPO_URI) $(CODENAME) $(COMPONENT)' |
    awk -v name="$1" '$2 == name && $3 == "main" && !found++ {print $1}'
}

# new_root NAME SUITE: an empty Debian that depends on nothing of this machine but its mirror. It holds a
# ccache, and nothing else that Debian's smallest set does not.
new_root() {
  local tarball=$cache/$2-minbase-ccache.tar mirror=
  root=$BARE_ROOTS/$1
  mkdir "$root"
  if [ ! -e "$tarball" ]; then
    [ -z "$(own_suite)" ] || mirror=$(mirror_of "$(own_suite)")
    echo "Making a minimal Debian ($2)"
    debootstrap --variant=minbase --include=ccache "$2" "$root" ${mirror:+"$mirror"} >"$cache/debootstrap.log" 2>&1 ||
      { tail -n 20 "$cache/debootstrap.log" >&2; fail "debootstrap failed"; }
    rm -f "$root"/var/cache/apt/archives/*.deb
    tar -C "$root" --one-file-system -cf "$tarball.new" .
    mv "$tarball.new" "$tarball"
  else
    tar -C "$root" -xf "$tarball"
  fi
  # No link crosses into the mount that follows.
  find "$cache/archives" -maxdepth 1 -name '*.deb' -exec cp -al -t "$root/var/cache/apt/archives" {} +
  # A mount point of its own, as the root of a machine is: unshare(1) changes how it propagates.
  mount --rbind "$root" "$root"
  mount -t proc proc "$root/proc"
  mount --rbind /sys "$root/sys"
  mount --rbind /dev "$root/dev"
  copy_network_settings "$2"
  # Packages are proved all the same: what was compiled is found by what the preprocessor makes of them.
  mkdir -p "${CCACHE_DIR:-$cache/ccache}" "$root/root/.cache/ccache"
  mount --bind "${CCACHE_DIR:-$cache/ccache}" "$root/root/.cache/ccache"
}

# How this machine reaches its package mirrors: sources, proxies, keys, certificates, names.
copy_network_settings() {
  local each own uri
  own=$(own_suite)
  if [ -n "$own" ]; then
    for each in apt.conf apt.conf.d auth.conf auth.conf.d; do
      [ ! -e "/etc/apt/$each" ] || cp -a "/etc/apt/$each" "$root/etc/apt/"
    done
    cp -an /usr/share/keyrings/. "$root/usr/share/keyrings/"
  fi
  if [ "$own" = "$1" ]; then
    for each in keyrings preferences.d sources.list sources.list.d trusted.gpg trusted.gpg.d; do
      rm -rf "$root/etc/apt/$each"
      [ ! -e "/etc/apt/$each" ] || cp -a "/etc/apt/$each" "$root/etc/apt/"
    done
  elif [ -n "$own" ]; then
    for each in "" -updates -security; do
      uri=$(mirror_of "$own$each")
      [ -z "$uri" ] || echo "deb $uri $1$each main"
    done >"$root/etc/apt/sources.list"
  fi
  cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
  mkdir -p "$root/etc/ssl/certs" "$root/usr/local/share/ca-certificates"
  cp -a /usr/local/share/ca-certificates/. "$root/usr/local/share/ca-certificates/"
  cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/" 2>/dev/null || true
  [ ! -e /etc/pip.conf ] || cp -L /etc/pip.conf "$root/etc/"
  # Keep what was downloaded, whatever the copied settings say about it.
  printf '%s\n' '#clear DPkg::Post-Invoke;' '#clear APT::Update::Post-Invoke;' \
    'Binary::apt::APT::Keep-Downloaded-Packages "true";' 'APT::Keep-Downloaded-Packages "true";' \
    'Dir::Cache::pkgcache ""; Dir::Cache::srcpkgcache "";' >"$root/etc/apt/apt.conf.d/zz-keep"
  # No sync; and a package that asks for apt settings gets those that are there.
  printf '%s\n' force-unsafe-io force-confold >"$root/etc/dpkg/dpkg.cfg.d/throw-away"
}

# What git tracks, as it stands in the working tree, in /root/unshard.
copy_checkout() {
  mkdir -p "$root/root/unshard"
  "$source/packaging/build-deb" --list | tar -C "$source" --null -T - -cf - |
    tar -C "$root/root/unshard" --no-same-owner -xf -
}

# in_root SCRIPT: bash runs it in /root/unshard, or in /root where no checkout is.
in_root() {
  local settings=() name
  for name in CCACHE_IGNOREOPTIONS http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY PIP_INDEX_URL \
    PIP_EXTRA_INDEX_URL PIP_CERT PIP_DEFAULT_TIMEOUT SSL_CERT_FILE REQUESTS_CA_BUNDLE; do
    [ -z "${!name:-}" ] || settings+=("$name=${!name}")
  done
  env -i HOME=/root TERM="${TERM:-dumb}" LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    ${settings[@]+"${settings[@]}"} chroot "$root" /bin/bash -c "cd /root; [ ! -d unshard ] || cd unshard; $1"
}

# install PACKAGE…: by apt; a file begins with ./
install() {
  in_root "apt-get update -qq && apt-get install -qq --no-install-recommends $*" >"$cache/install.log" 2>&1 ||
    { tail -n 20 "$cache/install.log" >&2; fail "not installed: $*"; }
}

# wait_for SECONDS COMMAND…: until it succeeds.
wait_for() {
  local end=$((SECONDS + $1))
  shift
  until "$@"; do
    [ $SECONDS -lt $end ] || fail "waited in vain for: $*"
    sleep 0.1
  done
}

# Nothing is mounted there, and the program ends: all programs seen from in here are this script's.
check_gone() {
  ! in_root "grep ' $1 ' /proc/self/mounts" || fail "$1 is still mounted"
  none_runs() { ! in_root 'grep -slx unshard /proc/[0-9]*/comm'; }
  wait_for 20 none_runs
}
