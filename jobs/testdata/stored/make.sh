#!/bin/bash
# Makes the archives beside it: what the program of one commit, and not today's, has left of small runs over the shipped
# examples. Each holds a job, its input, and as out what a run has finished, as half what one has left that was killed
# between two slices. They are not to be made again when the code changes: that today's program goes on with them is
# what TestOutputsOfEarlierVersions shows. It needs git, Go,
# strace and zstd.
#   jobs/testdata/stored/make.sh COMMIT [NAME …]
# The input's path is a part of a run's identity, and absolute. /proc/self/cwd is the same one everywhere.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
commit=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/source"
git -C "$(git -C "$here" rev-parse --show-toplevel)" archive "$commit" | tar x -C "$work/source"
(cd "$work/source" && CGO_ENABLED=0 go build -buildvcs=false -trimpath -o "$work/bulkload" ./cmd/bulkload)
examples=$work/source/jobs/examples

# slices counts the finished slices below an output that have files.
slices() { cat "$1"/_manifest.json "$1"/*/_manifest.json 2> /dev/null | grep -c '^    {"region".*"files":.{' || true; }

# one NAME EXAMPLE INPUT SED makes an archive of a run of an example whose job file sed changes. The run is killed when it
# replaces a file for the KILLth time, mostly a manifest: by the first KILL that comes between two slices.
one() {
  local dir=$work/$1 kill done
  [[ -z $names || " $names " == *" $1 "* ]] || return 0
  mkdir -p "$dir/in"
  cp "$examples/testdata/$3/2026-11-20/"* "$dir/in/"
  touch -d 2026-11-20T18:30:05.25Z "$dir/in/"*
  sed -e '/^ *#/d' -e 's/  *#.*//' -e "s,testdata/$3/\${date},/proc/self/cwd/in," -e 's,\.\./\.\./out/[a-z-]*,out,' -e 's,/\${date},,' \
    -e "$4" "$examples/$2.yaml" > "$dir/job.yaml"
  cd "$dir"
  "$work/bulkload" run job.yaml --date 2026-11-20 -q
  mv out whole
  for kill in 5 4 3 6 7 8 9; do
    rm -rf out half
    GOMAXPROCS=1 strace -f -qq -o /dev/null -e trace=renameat -e inject=renameat:signal=KILL:when=$kill \
      "$work/bulkload" run job.yaml --date 2026-11-20 -q || true
    mv out half
    done=$(slices half)
    [[ $done -gt 0 && $done -lt $(slices whole) ]] && break
  done
  mv whole out
  echo "$1: $(slices half) of $(slices out) slices"
  tar c --sort=name --format=pax --pax-option=delete=atime,delete=ctime,exthdr.name=%d/%f --owner=0 --group=0 --numeric-owner \
    job.yaml in half out | zstd -q --ultra -22 -f -o "$here/$1.tar.zst"
}

names=$*
one delimited payments payments 's,^hfile: {,hfile: {slice_size: 4KiB\, ,'
one sqoop check-sqoop check-sqoop ''
one csv check-csv check-csv ''
one parquet check-parquet check-parquet ''
one outputs order-index orders ''
one wide followers follows ''
