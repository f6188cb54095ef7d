#!/usr/bin/env bats
# Every sample is traced, the trace keeps every rule of the strict checker, and it holds what the sample says it did.
# On the GPU where there is one, else on the simulated one.

load ../cli/common

# GPUTRACE_KEEP_TRACES is a directory where traces and statements are kept, for tests/data.

needs_gpu() {
    [ -z "${simulated-}" ] || skip "needs a GPU: $1"
}

trace=trace.json

show() {
    echo "--- gputrace's words"
    cat words
    echo "--- the program's statement"
    cat statement
}

keep() { # PATH
    cp "$trace" "$1.${trace#*.}"
    cp statement "$1.statement"
}

# Runs under gputrace; what the program prints is its statement.
record() { # [OPTION...] PROGRAM [ARGUMENT...]
    "$gputrace" run -o "$trace" "$@" >statement 2>words || {
        echo "exit status $? of: gputrace run $*"
        show
        return 1
    }
    [ -z "${GPUTRACE_KEEP_TRACES-}" ] || keep "$GPUTRACE_KEEP_TRACES/${BATS_TEST_DESCRIPTION//[^a-zA-Z0-9_]/-}"
}

judge() {
    "$check_trace" --quiet --strict --expect statement "$trace" || {
        show
        return 1
    }
}

# A program that prints the statement of its trace.
traces() { # [OPTION...] PROGRAM [ARGUMENT...]
    record "$@"
    judge
}

@test "vector_add" {
    traces "$samples/vector_add"
}

@test "vector_add, written with gzip" {
    trace=$trace.gz
    traces "$samples/vector_add"
    gzip -t "$trace"
}

@test "vector_add with the static CUDA runtime" {
    needs_gpu "the static runtime asks the driver for more than the simulated one has"
    traces "$samples/vector_add_static"
}

@test "streams_events" {
    traces "$samples/streams_events"
}

@test "graphs" {
    traces "$samples/graphs"
}

@test "graphs with the static CUDA runtime" {
    needs_gpu "the static runtime asks the driver for more than the simulated one has"
    traces "$samples/graphs_static"
}

@test "graphs, one slice for each launch" {
    record --graph=graph "$samples/graphs"
    # What the nodes did is not in this trace; the calls are.
    sed -i -E '/^expect (kernel|graph-kernels|memcpy|memcpys|memset|kernels) /d' statement
    printf 'expect %s\n' "graphs 12" "kernels 0" "memcpys 0" "memset 0" "arrows 12" >>statement
    judge
}

@test "threads" {
    traces "$samples/threads"
    jq -e '[.traceEvents[] | select(.name == "process_name") | .args.name] | any(contains("the workers\u0027 GPU"))' "$trace"
}

@test "devices" {
    traces "$samples/devices"
}

@test "devices, eight of them" {
    if [ -z "${simulated-}" ]; then
        [ "$(nvidia-smi -L | wc -l)" -ge 2 ] || skip "needs several GPUs"
        traces "$samples/devices"
    else
        SIMGPU_DEVICES=8 traces "$samples/devices"
        grep -q '^expect devices 8$' statement
    fi
}

@test "memory" {
    traces "$samples/memory"
}

@test "launches" {
    traces "$samples/launches"
}

@test "launches with a default stream for each thread" {
    traces "$samples/launches_per_thread"
}

@test "driver" {
    traces "$samples/driver"
}

@test "nvtx" {
    traces "$samples/nvtx"
}

@test "no_cuda" {
    traces "$samples/no_cuda"
    grep -q "warning: .*CUDA" words || {
        echo "no warning that there was nothing to record"
        show
        return 1
    }
}

@test "launch_loop, 20,000 launches" {
    traces "$samples/launch_loop" 20000
}

@test "launch_loop, 20,000 launches on 8 threads" {
    traces "$samples/launch_loop" 20000 --threads 8
}

@test "capture, everything" {
    traces "$samples/capture" all
}

@test "capture by cudaProfilerStart and Stop" {
    traces --capture-range=cudaProfilerApi "$samples/capture" cudaProfilerApi
}

@test "capture by an NVTX range" {
    traces --capture-range=nvtx:middle "$samples/capture" nvtx
}

@test "capture by an NVTX range of a domain" {
    traces --capture-range=nvtx:middle@samples "$samples/capture" nvtx-domain
}

@test "capture by gputrace.h" {
    traces --capture-range=api "$samples/capture" api
    grep -q '^active at the end: 0$' statement
}

@test "a pause by gputrace.h" {
    traces "$samples/capture" pause
}

@test "control" {
    traces --capture-range=api "$samples/control"
    grep -q '^recording: 4 of 4 threads found it on, 0 in the pause$' statement
    traces "$samples/control" all
}

@test "gputrace.h without gputrace does nothing, and needs no library to link" {
    run -0 "$samples/control"
    assert_line "recording: 0 of 4 threads found it on, 0 in the pause"
    GPUTRACE_LIBRARY=/nowhere run -0 "$samples/control"
    assert_line "recording: 0 of 4 threads found it on, 0 in the pause"
    printf '#include <gputrace/gputrace.h>\nint main(void) { gputrace_start(); gputrace_stop(); return gputrace_active(); }\n' \
        >user.c
    cp user.c user.cc
    gcc -std=c99 -pedantic -Wall -Wextra -Wconversion -Werror -I"$root/include" -o user user.c
    ./user
    g++ -std=c++11 -pedantic -Wall -Wextra -Wconversion -Wold-style-cast -Werror -I"$root/include" -o user user.cc
    ./user
}

@test "two processes, traced together" {
    record sh -c '"$1" >/dev/null & "$1" >/dev/null; wait' sh "$samples/vector_add"
    printf 'expect %s\n' "processes 2" "kernel vector_add 32" "kernels 32" "api cudaLaunchKernel 32" "arrows 134" \
        >statement
    judge
}

@test "samples run as well without gputrace, and the statement is the same" {
    "$samples/vector_add" >alone
    "$samples/capture" api >>alone
    "$samples/nvtx" >>alone
    record "$samples/vector_add"
    cp statement traced
    record --capture-range=api "$samples/capture" api
    cat statement >>traced
    record "$samples/nvtx"
    cat statement >>traced
    diff alone traced
}

@test "train.py, and the same kernels as torch.profiler sees" {
    python3 -c 'import torch, sys; sys.exit(not torch.cuda.is_available())' 2>/dev/null ||
        skip "needs PyTorch and a GPU"
    traces --capture-range=cudaProfilerApi python3 "$samples/train.py" --steps 50
    python3 "$samples/train.py" --steps 50 --profile profile.json
    "$BATS_TEST_DIRNAME/compare_kernels" "$trace" profile.json
}

@test "the trace has the structure of the one that was recorded on an H200" {
    shopt -s nullglob
    local recorded=("$BATS_TEST_DIRNAME"/../data/structure/*.txt) name
    [ ${#recorded[@]} -gt 0 ] || skip "there are no structures in tests/data/structure"
    for file in "${recorded[@]}"; do
        name=$(basename "$file" .txt)
        record "$samples/$name"
        "$BATS_TEST_DIRNAME/compare_structure" "$trace" | diff "$file" - || {
            echo "(of $name: < on the H200, > here)"
            return 1
        }
    done
}
