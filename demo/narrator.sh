# What demo/run and demo/live share, to be sourced by them: the narrator, commands that are printed and checked, and a scratch
# repository. It expects $here, the folder of this repository.

if [ ! -x "$here/.venv/bin/reconcile" ]; then
  echo "reconcile is not installed in .venv; run: make setup" >&2
  exit 1
fi
PATH="$here/.venv/bin:$PATH"
# What git was told about the repository that the demo was started from is not true of the scratch repository.
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_PREFIX GIT_OBJECT_DIRECTORY GIT_CEILING_DIRECTORIES

if [ -t 1 ]; then bold=$'\e[1m' dim=$'\e[2m' plain=$'\e[0m'; else bold='' dim='' plain=''; fi

# heading TEXT, say TEXT: the narrator.
heading() { printf '\n%s== %s ==%s\n' "$bold" "$1" "$plain"; }
say() { printf '\n%s# %s%s\n' "$dim" "$1" "$plain"; }

# line TEXT: a command as it stands.
line() { printf '%s$ %s%s\n' "$bold" "$1" "$plain"; }

# show WORD...: a command as one would type it.
show() { line "$(typed "$@")"; }
typed() {
  local words='' word
  for word in "$@"; do
    case $word in
      *\"*) words="$words '$word'" ;;
      '' | *[!A-Za-z0-9_./:=,@+-]*) words="$words \"$word\"" ;;
      *) words="$words $word" ;;
    esac
  done
  printf '%s' "${words# }"
}

# expect CODE WORD...: show a command, run it, insist on its exit code.
expect() {
  local wanted=$1 code=0
  shift
  show "$@"
  "$@" || code=$?
  insist "$wanted" "$code" "$*"
  if [ "$code" -ne 0 ]; then printf '(exit %s)\n' "$code"; fi
}

# keep FILE WORD...: show and run a command, keep its stdout in a file as well. to FILE WORD...: in the file only.
keep() {
  local file=$1
  shift
  show "$@"
  catch "$file" "$@"
  cat "$file"
}
to() {
  local file=$1
  shift
  line "$(typed "$@") > ${file##*/}"
  catch "$file" "$@"
}
catch() {
  local file=$1 code=0
  shift
  "$@" >"$file" || code=$?
  insist 0 "$code" "$*"
}

insist() {
  if [ "$2" -ne "$1" ]; then
    printf '\ndemo: expected exit %s, got %s: %s\n' "$1" "$2" "$3" >&2
    exit 1
  fi
}

# replace OLD NEW FILE: replace a text that must be there.
replace() {
  show sed -i "s/$1/$2/" "$3"
  grep -q "$1" "$3" || { echo "demo: $3 does not hold $1" >&2; exit 1; }
  sed "s/$1/$2/" "$3" >"$3.new"
  mv "$3.new" "$3"
}

# lap NAME: note how long the part that ends here took.
laps='' started=$SECONDS last=$SECONDS
lap() {
  laps="$laps$(printf '  %-44s %4d s' "$1" $((SECONDS - last)))"$'\n'
  last=$SECONDS
}

# scratch_repository FOLDER: an empty repository in FOLDER/repository, made anew; results of commands go to FOLDER/results.
scratch_repository() {
  rm -rf "$1"
  mkdir -p "$1/repository/pipelines" "$1/results"
  results="$1/results"
  cd "$1/repository"
  git init --quiet --template= --initial-branch=main
  git config user.name 'Demo'
  git config user.email 'demo@example.com'
  git config commit.gpgsign false
  git config merge.ff false
  echo '.reconcile/' >.gitignore
}

# the_end: how long each part took, and all of it.
the_end() {
  heading 'Done'
  printf '%s' "$laps"
  printf '  %-44s %4d s\n' total $((SECONDS - started))
}
