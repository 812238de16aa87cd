# Bash completion for the command antegrad. Options come from the help of the command that is being completed, so they fit
# its version.

# _antegrad_help SECTION COMMAND...: prints the first word of each line in a section of the help.
_antegrad_help() {
  local section=$1
  shift
  "$@" --help 2>/dev/null | awk -v section="$section" '
    /^[A-Z][A-Za-z ]*:$/ { inside = ($0 == section ":"); next }
    inside && /^  [^ ]/ { n = split($1, names, ","); for (i = 1; i <= n; ++i) print names[i] }'
}

# _antegrad_files WORD ENDING...: prints files with these endings, and directories.
_antegrad_files() {
  local word=$1 ending
  shift
  compopt -o filenames 2>/dev/null
  for ending in "$@"; do compgen -f -X "!*.$ending" -- "$word"; done
  compgen -d -- "$word"
}

_antegrad() {
  local word previous command="" sub="" i
  COMPREPLY=()
  word=${COMP_WORDS[COMP_CWORD]}
  previous=${COMP_WORDS[COMP_CWORD - 1]}
  for ((i = 1; i < COMP_CWORD; ++i)); do
    [[ ${COMP_WORDS[i]} == -* ]] && continue
    if [[ -z $command ]]; then command=${COMP_WORDS[i]}; else sub=${COMP_WORDS[i]}; break; fi
  done
  local program=("${COMP_WORDS[0]}") words=""
  [[ -n $command ]] && program+=("$command")
  [[ ($command == cache || $command == package) && -n $sub ]] && program+=("$sub")

  case $previous in
    --backend) words="eager nofuse default" ;;
    --pipeline) words=$("${COMP_WORDS[0]}" passes --pipelines 2>/dev/null | awk '{ print $1 }') ;;
    --pass | --disable) words=$("${COMP_WORDS[0]}" passes 2>/dev/null | awk '{ print $1 }') ;;
    --dir) mapfile -t COMPREPLY < <(_antegrad_files "$word" none); return ;;
    --input | --output) mapfile -t COMPREPLY < <(_antegrad_files "$word" pt pth); return ;;
    --key-file) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    --size | --seed | --threads | --seconds | --runs | --limit | --kind | --name) return ;;
  esac
  if [[ -z $words ]]; then
    if [[ $word == -* ]]; then
      words=$(_antegrad_help Options "${program[@]}")
    elif [[ -z $command || (($command == cache || $command == package) && -z $sub) ]]; then
      words=$(_antegrad_help Subcommands "${program[@]}")
    else
      case $command in
        print | opt | verify | run | bench) mapfile -t COMPREPLY < <(_antegrad_files "$word" graph) ;;
        package) mapfile -t COMPREPLY < <(_antegrad_files "$word" pt2) ;;
        cache) [[ $sub == export || $sub == import ]] && mapfile -t COMPREPLY < <(_antegrad_files "$word" agc) ;;
        passes | doctor) ;;
        *) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
      esac
      return
    fi
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}
complete -F _antegrad antegrad
