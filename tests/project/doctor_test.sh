#!/usr/bin/env bash
# Tests of `antegrad doctor`: its findings, its advice, and its exit status.
#   doctor_test.sh PATH_OF_ANTEGRAD SOURCE_DIR
set -u
antegrad=$1
source_dir=$2
group=doctor
. "$(dirname "$0")/cli_helpers.sh"
for name in $(compgen -e | grep '^ANTEGRAD_'); do unset "$name"; done
unset XDG_CACHE_HOME
export HOME=$work/home
exec </dev/null

# state TOPIC NAME STATE: checks that there is a line of that state
state() {
  json "any((c['topic'], c['name'], c['state']) == ('$1', '$2', '$3') for c in j['checks'])"
}

# --- a working machine has no problems; doctor does not create the cache, which is created when needed
mkdir "$HOME"
run 0; quiet err
for topic in machine LibTorch compilers cache environment; do out_like "^$topic$"; done
out_like "^  ok +instruction set +(baseline|avx2|avx512); usable: baseline"
out_like "^  ok +version +[0-9.]+, which antegrad was built for$"; out_like "^  ok +library +/.*libtorch_cpu"
out_like "^  ok +kernels +are compiled by "; out_like "^  ok +tiny kernel +compiled in .*, loaded in .*, runs in "
out_like "^  ok +directory +$HOME/.cache/antegrad, made when first needed$"; out_like "^  ok +writable +yes, in $HOME$"
out_like "^0 problems, [0-9]+ warnings?$"
[[ ! -e $HOME/.cache ]] || fail "$what: made a directory"
run 0 --json; json "j['problems'] == 0 and all(c['state'] in ('ok', 'warning') for c in j['checks'])"
json "[c['values']['version'] == c['values']['built_for'] for c in j['checks'] if c['name'] == 'version'] == [True]"
json "any(c.get('values', {}).get('works') and c['values']['compile_s'] > 0 for c in j['checks'] if c['topic'] == 'compilers')"
json "all(c.get('way_out') for c in j['checks'] if c['state'] != 'ok')"

# --- compilers
ANTEGRAD_CLANG_PLUGIN=$work/absent.so ANTEGRAD_TOOLCHAIN=clang run 1
out_like "^  problem +clang plugin +$work/absent.so is not there$"; out_has "name the plugin in ANTEGRAD_CLANG_PLUGIN."
out_like "^  problem +kernels +cannot be compiled"; out_lacks "^0 problems"
echo "not a library" >"$work/broken.so"
ANTEGRAD_CLANG_PLUGIN=$work/broken.so run 1; out_like "^  problem +clang plugin +cannot be opened: .*broken.so"
ANTEGRAD_CC=$work/absent-cc run 1; out_like "^  problem +system compiler +.*\"$work/absent-cc\" does not run"
printf '#!/bin/sh\n[ "$1" = --version ] && echo "cc 1.0" && exit 0\nexit 3\n' >"$work/bad-cc"; chmod +x "$work/bad-cc"
ANTEGRAD_CC=$work/bad-cc ANTEGRAD_TOOLCHAIN=system run 1 --json
state compilers "system compiler" problem; state compilers kernels problem

# --- the cache
mkdir -m 777 "$work/open"; chmod 777 "$work/open"
ANTEGRAD_CACHE_DIR=$work/open run 1 --json; state cache directory problem
mkdir -m 700 "$work/own"
ANTEGRAD_CACHE_DIR=$work/own run 0 --json; state cache entries ok; state cache writable ok; state cache "file system" ok
[[ -z $(ls -A "$work/own") ]] || fail "$what: left something"
touch "$work/file"
ANTEGRAD_CACHE_DIR=$work/file run 1 --json; state cache directory problem
ANTEGRAD_CACHE_DIR=/proc/antegrad run 1 --json; json "any(c['topic'] == 'cache' and c['state'] == 'problem' for c in j['checks'])"
if ((EUID != 0)); then  # root can write everywhere
  mkdir -m 500 "$work/closed"
  ANTEGRAD_CACHE_DIR=$work/closed/cache run 1 --json; state cache writable problem
fi
ANTEGRAD_CACHE=off run 0; out_like "^  warning +use +ANTEGRAD_CACHE=off"
echo "a key that is long enough" >"$work/key"; chmod 600 "$work/key"
ANTEGRAD_CACHE_KEY_FILE=$work/key run 0; out_like "^  ok +key file +$work/key, permissions 600$"
chmod 644 "$work/key"
ANTEGRAD_CACHE_KEY_FILE=$work/key run 1; out_like "^  problem +key file "; out_has "chmod 600 $work/key"
chmod 600 "$work/key"
ANTEGRAD_CACHE_SHARED_DIR=$work/own run 1; out_like "^  problem +shared directory .*need a key"; out_has "ANTEGRAD_CACHE_KEY_FILE."
ANTEGRAD_CACHE_KEY_FILE=$work/key ANTEGRAD_CACHE_SHARED_DIR=$work/own run 0
out_like "^  ok +shared directory +$work/own, only read; a lookup takes "
ANTEGRAD_CACHE_KEY_FILE=$work/key ANTEGRAD_CACHE_SHARED_DIR=$work/absent run 1; out_like "^  problem +shared directory "
ANTEGRAD_CACHE_KEY_FILE=$work/key ANTEGRAD_CACHE_REDIS=redis://ada:secret@127.0.0.1:1 run 1
out_like "^  problem +Redis +.*127.0.0.1:1"; out_lacks "secret@"; out_like "ANTEGRAD_CACHE_REDIS +redis://\.\.\.@127"
if command -v redis-server >/dev/null; then
  redis-server --port 0 --unixsocket "$work/redis" --save "" --daemonize no >"$work/redis.log" 2>&1 &
  server=$!
  for _ in $(seq 100); do [[ -S $work/redis ]] && break; sleep 0.1; done
  ANTEGRAD_CACHE_KEY_FILE=$work/key ANTEGRAD_CACHE_REDIS=unix://$work/redis run 0
  out_like "^  ok +Redis +unix://.*; connected in .*, a lookup takes "
  kill "$server"; wait "$server" 2>/dev/null
else
  echo "redis-server is not installed: a server that answers is not tried"
fi

# --- the environment
ANTEGRAD_CAHCE_DIR=/x ANTEGRAD_ZEBRA=1 run 0
out_like "^  warning +ANTEGRAD_CAHCE_DIR +is not known; ANTEGRAD_CACHE_DIR is$"; out_like "^  warning +ANTEGRAD_ZEBRA +is not known$"
ANTEGRAD_BACKEND=fast ANTEGRAD_MAX_VERSIONS=0 run 1
out_like '^  problem +ANTEGRAD_BACKEND +is "fast"'; out_has "Set it to eager, nofuse, default, or unset it."
out_like '^  problem +ANTEGRAD_MAX_VERSIONS +is "0"'
ANTEGRAD_BACKEND=eager run 0; out_like "^  ok +ANTEGRAD_BACKEND +eager$"
# doctor knows everything that docs/options.md describes.
names=$(grep -oE '`ANTEGRAD_[A-Z_]+`' "$source_dir/docs/options.md" | tr -d '`' | sort -u)
[[ $(wc -w <<<"$names") -gt 15 ]] || fail "docs/options.md: no names found"
env $(for name in $names; do echo "$name=1"; done) ANTEGRAD_CACHE_REDIS= "$antegrad" doctor >"$work/out" 2>"$work/err"
what="antegrad doctor with all variables set"; out_lacks "is not known"

# --- without the program that links LibTorch, and with one that does not start
mkdir "$work/bin"; cp "$antegrad" "$work/bin/antegrad"
antegrad=$work/bin/antegrad
run 1 --json; state LibTorch antegrad-torch problem
printf '#!/bin/sh\necho "no library" >&2\nexit 127\n' >"$work/bin/antegrad-torch"; chmod +x "$work/bin/antegrad-torch"
run 1; out_like "^  problem +antegrad-torch +does not start \(exit code 127\): no library$"
group=
run 1 run "$work/file"; quiet out; err_has "antegrad: [run] $work/bin/antegrad-torch does not start. antegrad doctor says why."
printf '#!/bin/sh\nkill -9 $$\n' >"$work/bin/antegrad-torch"
run 1 bench "$work/file"; err_has "antegrad: [bench] antegrad-torch was ended by signal 9"
rm "$work/bin/antegrad-torch"
run 1 run "$work/file"; quiet out; err_has "antegrad: [run] antegrad-torch is missing"; err_has "install all of antegrad."
finish
