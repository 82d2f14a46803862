#!/bin/sh
# What a disk does past the system's cache: so many processes that read and that write at once, 32
# MiB at a time, a file each with room reserved.
#   sh bench/cholesky/disk.sh FOLDER READERS WRITERS GIB
# Prints the seconds that all took for GIB GiB together. Needs dd and fallocate.

folder=$1 readers=$2 writers=$3
each=$(($4 * 32 / (readers + writers)))
here=$(mktemp -d "$folder/disk.XXXXXX")
numbers=$(mktemp -p "$([ -d /dev/shm ] && echo /dev/shm || echo "$here")")
trap 'rm -rf "$here" "$numbers"' EXIT
dd if=/dev/urandom of="$numbers" bs=1M count=32 status=none

write() {
  k=0
  while [ $k -lt $each ]; do
    dd if="$numbers" of="$1" bs=32M count=1 seek=$k oflag=direct conv=notrunc status=none
    k=$((k + 1))
  done
  sync -d "$1"
}

for k in $(seq "$readers"); do
  write "$here/read.$k" &
done
wait
for k in $(seq "$writers"); do
  fallocate -l $((each * 32 * 1024 * 1024)) "$here/write.$k"
done
start=$(date +%s.%N)
for k in $(seq "$readers"); do
  dd if="$here/read.$k" of=/dev/null bs=32M iflag=direct status=none &
done
for k in $(seq "$writers"); do
  write "$here/write.$k" &
done
wait
end=$(date +%s.%N)
echo "$end $start" | awk '{ print $1 - $2 }'
