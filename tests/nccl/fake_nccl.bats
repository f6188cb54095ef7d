#!/usr/bin/env bats
# The stand-in for NCCL (fake_nccl.c): its ranks wait for one another as NCCL's do.

bats_require_minimum_version 1.5.0
export BATS_LIB_PATH=${BATS_LIB_PATH:-/usr/lib/bats:/usr/lib:/usr/local/lib/bats:/usr/local/lib}
bats_load_library bats-support
bats_load_library bats-assert

setup() {
    build=${GPUTRACE_BUILD:-$(cd "$BATS_TEST_DIRNAME/../.." && pwd)/build}
    fake=$build/tests/nccl/fake_nccl
    export LD_LIBRARY_PATH=$build/simgpu
    export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0" # as in tests/cli/common.bash
    cd "$BATS_TEST_TMPDIR" || return
}

# Start, and duration, of the NCCL kernels of a trace, in the order of their starts; us.
kernels() { # PIPELINE
    jq -r '[.traceEvents[] | select(.cat == "kernel" and (.name | startswith("ncclDevKernel")))] | sort_by(.ts)
           | '"$1" trace.json
}

@test "no kernel of a collective operation ends before the last rank's has started" {
    run -0 --separate-stderr "$build/gputrace" run -o trace.json "$fake" -n 3 -s 2 -d 1:20
    assert_equal "$(kernels length)" 6
    # of each three: all end after the last start, at the same time
    assert_equal "$(kernels '[.[0:3], .[3:6]] | map((map(.ts) | max) < (map(.ts + .dur) | min)) | all')" true
    assert_equal "$(kernels '[.[0:3], .[3:6]] | map((map(.ts + .dur) | max) - (map(.ts + .dur) | min) < 1) | all')" true
    # two of each three have waited for the rank that slept
    assert_equal "$(kernels '[.[] | select(.dur > 5000)] | length >= 2')" true
}

@test "every operation comes to an end" {
    run -0 timeout 60 "$fake" -n 4 -s 3 \
        -o allreduce,allgather,reducescatter,broadcast,reduce,alltoall,gather,scatter,ring,group,halves,graph
}

@test "ranks that are started one by one are a job by their variables" {
    RANK=0 WORLD_SIZE=2 timeout 60 "$fake" -j "bats$$" -s 2 3>&- &
    RANK=1 WORLD_SIZE=2 run -0 timeout 60 "$fake" -j "bats$$" -s 2
    wait $!
    [ ! -e "/dev/shm/fake_nccl.bats$$" ]
}

@test "a deadlock lasts until the ranks are killed" {
    local how
    for how in mismatch:1 absent:2 endless:0 dead:1; do
        run -3 timeout 60 "$fake" -n 3 -s 2 -t 1 -D "$how"
    done
}

@test "an unknown operation is a mistake" {
    run -2 "$fake" -n 2 -o allreduce,unknown
    assert_output --partial 'usage: fake_nccl'
}
