#!/usr/bin/env bash
# Tests of `antegrad cache`: its output, its effect on the directory, and its exit status.
#   cache_cli_test.sh PATH_OF_ANTEGRAD PATH_OF_CACHE_SAMPLE
set -u
antegrad=$1
sample=$2
group=cache
. "$(dirname "$0")/cli_helpers.sh"
unset ANTEGRAD_CACHE_DIR ANTEGRAD_CACHE_KEY_FILE XDG_CACHE_HOME
export HOME=$work/home
exec </dev/null  # not a terminal

address() { sed -n "s/^$1 //p" "$work/addresses"; }
file_of() { local a; a=$(address "$1"); echo "$dir/${a:0:2}/${a:2}"; }

dir=$work/cache
"$sample" "$dir" >"$work/addresses" || { echo "FAILED: no sample"; exit 1; }
step1=$(address step1) step2=$(address step2) code=$(address code)
for pair in "step1 100" "step2 50" "twice 40" "loss 30" "code 20" "evil 200000"; do
  read -r word age <<<"$pair"
  touch -d "@$(($(date +%s) - age))" "$(file_of "$word")"
done

# --- stats
run 0 stats --dir "$dir"; quiet err; out_like "^entries +6$"; out_like "of 5.0 GiB"; out_like "$dir"; out_lacks "kinds"
run 0 stats --dir "$dir" --kinds; out_like "^  function +4 "; out_like "^  code +1 "
run 0 stats --dir "$dir" --json --kinds; json 'j["entries"] == 6 and j["kinds"]["function"]["entries"] == 4'

# --- list: the most recently used first; listing does not count as use
run 0 list --dir "$dir"; quiet err; lines 7; out_lacks $'\033'
[[ $(sed -n 's/ .*//;2,6p' "$work/out" | tr '\n' ' ') == "code function function function function " ]] || fail "$what: order"
out_like "${step1:0:12}$"; out_like "^fact +a\?\[2Jb"; out_like " 2 d "
run 0 list --dir "$dir"; out_like " 2 d "
run 0 list --dir "$dir" --kind function --name step; lines 4; out_lacks "loss"
run 0 list --dir "$dir" --limit 2; lines 4; out_like "^4 more entries were not listed, used longer ago; --limit 0 lists all$"
run 0 list --dir "$dir" --limit 5; out_like "^1 more entry was not listed"
run 0 list --dir "$dir" --limit 1 --kind function; out_like "^[0-9]+ more entries were not looked at"
run 0 list --dir "$dir" --limit 0; lines 7
run 0 list --dir "$dir" --json; json 'len(j["entries"]) == 6 and j["entries"][0]["address"] == "'"$code"'"'
run 0 list --dir "$dir" --kind sizes; out_like "^no entries$"
for wrong in "--kind nonsense" "--limit -3" "--limit x" "--limit 1.5" "--limit 99999999999999999999" "--dir=" "--json=3"; do
  run 2 list --dir "$dir" $wrong; quiet out; err_has "[usage:cache:list] ${wrong%%[ =]*}"
done
run 2 list --dir "$dir" --kind nonsense; err_has '"nonsense" is not function, or code, or kernel, or sizes, or fact. See antegrad cache list --help.'
for wrong in -5 5X 1.5G 99999999999G ""; do
  run 2 gc --dir "$dir" --size "$wrong"; quiet out; err_has "\"$wrong\" is not a size such as 500M, 2G or 1048576."
done
run 2 clear --yes --dir ""; quiet out; err_has "[usage:cache:clear] --dir: the name is empty."

# --- more than fit on a screen; --json lists all
many=$work/many
for n in 1 2 3 4 5; do "$sample" "$many" "" "$n" >/dev/null; done
run 0 list --dir "$many"; lines 22; out_like "^10 more entries were not listed"
run 0 list --dir "$many" --json; json 'len(j["entries"]) == 30 and j["more"] == 0'
run 0 list --dir "$many" --json --limit 3; json 'len(j["entries"]) == 3 and j["more"] == 27'

# --- show accepts every listed key
run 0 list --dir "$dir"
for key in $(awk 'NR > 1 { print $NF }' "$work/out"); do run 0 show --dir "$dir" "$key"; [[ $(grep -c ^address "$work/out") == 1 ]] || fail "$what: not one entry"; done

# --- the directory is found in the same way as by the library
run 1 stats; quiet out; err_has "[cache:stats] there is no cache in $work/home/.cache/antegrad. Name its directory with --dir"
[[ ! -e $work/home ]] || fail "$what: made a directory"
ANTEGRAD_CACHE_DIR=$dir run 0 stats; out_like "^entries +6$"
mkdir "$work/xdg"; cp -a "$dir" "$work/xdg/antegrad"
XDG_CACHE_HOME=$work/xdg run 0 stats; out_like "$work/xdg/antegrad"
chmod 777 "$work/xdg/antegrad"
XDG_CACHE_HOME=$work/xdg run 1 stats; quiet out; err_has "[cache:stats] there is no local cache: "

# --- show
run 0 show --dir "$dir" "$step1"; quiet err
out_like "^address +$step1$"; out_like "^kind +function$"; out_like "^  compile_s +1.25$"
out_like "^  options +[0-9a-f]{12} +12 B +matmul=exact$"; out_like "^  object +2.9 KiB$"; out_lacks "@step"
run 0 show --dir "$dir" "${step1:0:8}"; out_like "$step1"
upper=${step1:0:8}; run 0 show --dir "$dir" "${upper^^}"; out_like "$step1"
run 0 show --dir "$dir" --json "$step1"
json '[f["text"] for f in j["key"] if f["name"] == "options"] == ["matmul=exact"] and j["sections"][-1]["bytes"] == 3000'
json 'j["facts"] == [{"name": "compile_s", "value": "1.25"}]'
run 0 show --dir "$dir" "${step2:0:64}"; quiet err; out_like "^address +$step2$"; out_like "^address +$(address twice)$"
run 0 show --dir "$dir" "${step2:0:12}-0000000000000002"; out_like "^address +$(address twice)$"; out_lacks "$step2"
run 0 show --dir "$dir" --json "${step2:0:12}"; json '[e["name"] for e in j["entries"]] == ["step", "step"]'
twin=${step1:0:60}$([[ ${step1:60:4} == 0000 ]] && echo 1111 || echo 0000)${step1:64}
cp -a "$(file_of step1)" "$dir/${twin:0:2}/${twin:2}"
run 1 show --dir "$dir" "${step1:0:12}"; quiet out; err_has "2 entries of several keys begin with ${step1:0:12}: "; err_has "$twin"; err_has "Give more digits."
rm "$dir/${twin:0:2}/${twin:2}"
run 1 show --dir "$dir" 0000000000; quiet out; err_has "[cache:show] no key in $dir begins with 0000000000."
run 2 show --dir "$dir" abc; quiet out; err_has '[cache:show] "abc" is not the beginning of a key.'
run 2 show --dir "$dir" 'zzzzz'; quiet out

# --- explain: two variants of a key count as one key
run 0 explain --dir "$dir" "$step1" "${step2:0:64}"; quiet err
out_like "^3 of 4 fields are equal"; out_like "^options:$"; out_like "^  - matmul=exact$"; out_like "^  \+ matmul=fast$"
run 0 explain --dir "$dir" "${step2:0:64}"; out_like "^- ${step1:0:64}$"; out_like "^\+ ${step2:0:64}$"
run 0 explain --dir "$dir" "$step2" "$step2"; out_like "^the keys are equal$"
run 0 explain --dir "$dir" --json "$step1" "$step2"; json 'j["differences"][0]["field"] == "options" and j["equal"] == 3'
run 1 explain --dir "$dir" "$(address loss)"; quiet out; err_has 'no other key is of kind "function" and name "loss"'

# --- export and import
bundle=$work/bundle.agc
run 0 export --dir "$dir" "$bundle"; quiet err; out_like "^6 entries written to $bundle"
[[ ! -e $bundle.part ]] || fail "$what: left a part"
run 0 import --dir "$work/other" "$bundle"; quiet err; out_like "^6 of 6 entries imported$"
out_like "^1 not used on this machine: made for isa vax-780, here it is "
run 0 show --dir "$work/other" "$step1"; out_like "matmul=exact"
what="antegrad cache import -"
"$antegrad" cache import --dir "$work/other" - <"$bundle" >"$work/out" || fail "$what"
out_like "^6 were there already$"
run 0 import --dir "$work/other" --json "$bundle"; json 'j["present"] == 6 and j["elsewhere"][0]["entries"] == 1'
head -c 1000 "$bundle" >"$work/half.agc"
run 1 import --dir "$work/third" "$work/half.agc"; quiet out; err_has "[cache:import] nothing is imported from $work/half.agc: the checksum"
run 1 import --dir "$work/third" "$work/absent.agc"; quiet out; err_has "cannot open"
run 1 export --dir "$dir" "$work/absent/bundle.agc"; quiet out; err_has "[cache:export] cannot write $work/absent/bundle.agc: No such file"

# --- with a key file, only entries with its MAC are valid
echo "a key that is long enough" >"$work/key"; echo "quite another, also long" >"$work/wrong"; echo short >"$work/short"
chmod 600 "$work/key" "$work/wrong" "$work/short"
"$sample" "$work/signed" "$work/key" >/dev/null
run 0 verify --dir "$work/signed" --key-file "$work/key"; out_like "^6 entries are good$"
ANTEGRAD_CACHE_KEY_FILE=$work/wrong run 1 verify --dir "$work/signed"; out_like "^0 entries are good$"; out_like "refused"
run 0 export --dir "$work/signed" --key-file "$work/key" "$work/signed.agc"
run 0 import --dir "$work/fourth" --key-file "$work/key" "$work/signed.agc"; out_like "^6 of 6"
run 1 import --dir "$work/fifth" --key-file "$work/key" "$bundle"; out_like "^0 of 6"; out_like "^6 left out: refused: the entry has no MAC"
run 1 stats --dir "$dir" --key-file "$work/short"; quiet out; err_has "[cache:stats] the key file $work/short has 5 bytes"

# --- verify: detects damage, and changes nothing
run 0 verify --dir "$dir"; quiet err; out_like "^6 entries are good$"
printf X | dd of="$(file_of loss)" bs=1 seek=200 conv=notrunc status=none
run 1 verify --dir "$dir"; quiet err; out_like "^5 entries are good$"; out_like "corrupt  $(address loss | cut -c 1-12)  the checksum"
run 1 verify --dir "$dir" --json; json 'j["good"] == 5 and j["bad"][0]["outcome"] == "corrupt"'
run 0 list --dir "$dir"; out_like "^\(corrupt\)"
run 1 show --dir "$dir" "$(address loss)"; quiet out; err_has "[cache:show] corrupt: "
run 1 export --dir "$dir" "$bundle"; out_like "^5 entries written"; out_like "^1 left out"
[[ -e $(file_of loss) ]] || fail "$what: removed an entry"

# --- gc and clear
run 0 gc --dir "$dir"; quiet err; out_like "^removed 0 entries and 0 unfinished files"
run 0 gc --dir "$dir" --size 16K; [[ ! -e $(file_of evil) && -e $(file_of code) ]] || fail "$what: not the oldest went"
run 2 clear --dir "$dir"; quiet out; err_has "[cache:clear] this would remove all entries of $dir. Add --yes to do it."
[[ -e $(file_of code) ]] || fail "$what: removed something"
run 0 clear --dir "$dir" --yes --json; json 'j["entries"] >= 1 and j["problems"] == []'
run 0 stats --dir "$dir"; out_like "^entries +0$"
run 0 list --dir "$dir"; out_like "^no entries$"
run 1 export --dir "$dir" "$work/none.agc"; quiet out; err_has "has no entries that can be read"
run 1 gc --dir "$work/none"; [[ ! -e $work/none ]] || fail "$what: made a directory"

# --- usage
run 2; quiet out
run 2 nonsense; quiet out; err_has 'antegrad: [usage:cache] there is no command "nonsense". See antegrad cache --help.'
run 2 show --dir "$dir"; quiet out
run 2 gc --dir "$dir" --size much; quiet out
run 0 --help; for command in stats list show verify clear gc export import explain; do out_like "^  $command "; done
run 0 list --help; for option in --dir --key-file --json --kind --name --limit; do out_like "$option"; done

finish
