#!/usr/bin/env bash
# Follows README.md on a bare system: a Debian 12 made by debootstrap, if that is installed and the user is root; otherwise in
# a clean copy of the project on this machine, without build products and caches.
#
#   scripts/try_clean.sh             make demo
#   scripts/try_clean.sh --test      make demo and make test (half an hour or more)
#   scripts/try_clean.sh --copy      uses a clean copy even if debootstrap is installed
#   scripts/try_clean.sh --keep      keeps the folder, and prints its path
#
# Uses the last commit. The folder (5 GB) is made in TMPDIR. Packages come from the mirror that apt uses on this machine
# (otherwise from debootstrap's default mirror), and pip uses the same index as here.
set -euo pipefail
cd "$(dirname "$0")/.."
release=bookworm
goals=(demo) keep=0 copy=0
for argument in "$@"; do
  case $argument in
    --test) goals+=(test) ;;
    --keep) keep=1 ;;
    --copy) copy=1 ;;
    *) sed -n '2,11s/^# \{0,1\}//p' "$0"; exit 2 ;;
  esac
done
say() { printf 'try_clean: %s\n' "$*" >&2; }

work=$(mktemp -d "${TMPDIR:-/tmp}/antegrad-clean.XXXXXX")
root=$work/root
clean_up() {
  if mountpoint -q "$root/proc"; then umount "$root/proc"; fi
  if ((keep)); then say "kept: $work"; else rm -rf --one-file-system "$work"; fi
}
trap clean_up EXIT

copy_project() {  # FOLDER
  mkdir -p "$1"
  git archive --format=tar HEAD | tar -x -C "$1"
}

# Copies the network configuration of this machine for apt and pip to the new root, and to nowhere else.
copy_network() {
  cp -L /etc/resolv.conf "$root/etc/resolv.conf"
  cp -L /etc/hosts "$root/etc/hosts"
  apt-config dump Acquire | grep -iE '::(proxy|https?)' >"$root/etc/apt/apt.conf.d/99host" || true
  mkdir -p "$root/etc/host"
  if [[ -e /etc/ssl/certs/ca-certificates.crt ]]; then cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/host/ca.crt"; fi
  env | grep -iE '^(https?_proxy|no_proxy|all_proxy|pip_(index_url|extra_index_url|find_links|trusted_host|default_timeout))=' \
    >"$root/etc/host/environment" || true
}

mirror() { apt-get indextargets --format '$(REPO_URI)' "Codename: $release" 'Created-By: Packages' 2>/dev/null | sort -u | head -1; }

make_root() {
  local from
  from=$(mirror)
  say "making a Debian $release in $root"
  debootstrap --variant=minbase --include=make,ca-certificates "$release" "$root" ${from:+"$from"} \
    >"$work/debootstrap.log" 2>&1 || { tail -20 "$work/debootstrap.log" >&2; say "debootstrap failed"; exit 1; }
  {  # updates and security fixes, if this machine uses them
    if [[ $from ]]; then echo "deb $from $release main"; else cat "$root/etc/apt/sources.list"; fi
    apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) main' 'Created-By: Packages' 2>/dev/null |
      grep -E " $release-(updates|security) " || true
  } | sort -u >"$work/sources.list"
  cp "$work/sources.list" "$root/etc/apt/sources.list"
  copy_network
  copy_project "$root/antegrad"
  mount -t proc proc "$root/proc"
}

in_root() {
  local variables=(PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb LC_ALL=C.UTF-8)
  if [[ -e $root/etc/host/ca.crt ]]; then variables+=(PIP_CERT=/etc/host/ca.crt); fi
  mapfile -t -O ${#variables[@]} variables <"$root/etc/host/environment"
  chroot "$root" env -i "${variables[@]}" sh -c 'cd /antegrad && exec "$@"' sh "$@"
}

in_copy() {
  (cd "$work/antegrad" && env -u LIBTORCH -u ANTEGRAD_DEPS CCACHE_DIR="$work/ccache" XDG_CACHE_HOME="$work/cache" "$@")
}

if ((!copy && EUID == 0)) && command -v debootstrap >/dev/null; then
  run=in_root
  make_root
else
  run=in_copy
  say "a clean copy in $work/antegrad; packages of this machine are used"
  copy_project "$work/antegrad"
fi

for goal in "${goals[@]}"; do
  say "make $goal"
  start=$SECONDS
  if $run make "$goal" >"$work/$goal.log" 2>&1; then
    tail -5 "$work/$goal.log"
    say "make $goal: worked, $((SECONDS - start)) s"
  else
    status=$?
    tail -40 "$work/$goal.log"
    say "make $goal: failed with status $status after $((SECONDS - start)) s"
    exit 1
  fi
done
