#!/usr/bin/env bats
# The simulator's libraries from outside, and its README.

bats_require_minimum_version 1.5.0
export BATS_LIB_PATH=${BATS_LIB_PATH:-/usr/lib/bats:/usr/lib:/usr/local/lib/bats:/usr/local/lib}
bats_load_library bats-support
bats_load_library bats-assert

setup() {
    here=$BATS_TEST_DIRNAME
    simgpu=${GPUTRACE_BUILD:-$here/../../build}/simgpu
    toolkit=${CUDA_HOME:-/usr/local/cuda}/lib64
}

names() { # LIBRARY: what it exports, without versions
    nm -D --defined-only "$1" | awk '{ sub(/@.*/, "", $3); print $3 }' | grep -E '^(__)?cu' | LC_ALL=C sort -u
}

only_names_of() { # OURS NVIDIA'S
    [ -e "$toolkit/$2" ] || skip "there is no $toolkit/$2"
    names "$simgpu/$1" >"$BATS_TEST_TMPDIR/ours"
    names "$toolkit/$2" >"$BATS_TEST_TMPDIR/theirs"
    [ -s "$BATS_TEST_TMPDIR/ours" ]
    LC_ALL=C run -0 comm -23 "$BATS_TEST_TMPDIR/ours" "$BATS_TEST_TMPDIR/theirs"
    assert_output ''
}

@test "libcuda exports nothing that NVIDIA's does not" {
    only_names_of libcuda.so.1 stubs/libcuda.so
}

@test "libcudart exports nothing that NVIDIA's does not" {
    only_names_of libcudart.so.13 libcudart.so.13
}

@test "libcupti exports nothing that NVIDIA's does not" {
    only_names_of libcupti.so.13 libcupti.so.13
}

@test "the libraries have the names and symbol versions that programs ask for" {
    local library
    for library in libcuda.so.1 libcudart.so.13 libcupti.so.13; do
        run -0 readelf -d "$simgpu/$library"
        assert_output --partial "[$library]"
    done
    run -0 nm -D "$simgpu/libcudart.so.13"
    assert_output --partial 'cudaMalloc@@libcudart.so.13'
    run -0 nm -D "$simgpu/libcupti.so.13"
    assert_output --partial 'cuptiSubscribe@@libcupti.so.13'
}

@test "the README names every variable, and no other" {
    grep -oE '"SIMGPU_[A-Z_]+"' "$here/core/config.h" | tr -d '"' | sort >"$BATS_TEST_TMPDIR/read"
    grep -oE '^\| `SIMGPU_[A-Z_]+' "$here/README.md" | grep -oE 'SIMGPU.*' | sort >"$BATS_TEST_TMPDIR/listed"
    [ -s "$BATS_TEST_TMPDIR/read" ]
    run -0 diff "$BATS_TEST_TMPDIR/read" "$BATS_TEST_TMPDIR/listed"
}
