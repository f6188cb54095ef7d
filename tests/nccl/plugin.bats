#!/usr/bin/env bats
# run --nccl: NCCL's profiler plugin, driven by the stand-in as NCCL drives it.

load ../cli/common

fake=$build/tests/nccl/fake_nccl

before_each() {
    need_simulated
    unset NCCL_PROFILER_PLUGIN FAKE_NCCL_PROFILER
}

record() { # OPTION... of run
    run -0 --separate-stderr "$gputrace" run -o trace.json "$@"
    "$check_trace" --quiet trace.json
}

# Of the kernels of rank 0, by time.
kernels() { # FIELDS
    jq -c '[.traceEvents[] | select(.cat == "kernel" and .args.Rank == 0)] | sort_by(.ts) | map('"$1"')' trace.json
}

job=(-n 2 -s 1 -b 1024 -o allreduce,reducescatter,ring)

@test "every version of the interface gives types, algorithms, protocols and channels" {
    local version
    for version in 1 2 3 4 5 6; do
        export FAKE_NCCL_PROFILER=$version
        record --nccl "$fake" "${job[@]}"
        assert_equal "$(kernels '.args | [.Seq, .dtype, .["In msg nelems"], .["Out msg nelems"], .algorithm, .protocol,
            .channels, .["proxy steps"]]')" \
            '[[0,"Float",256,256,"RING","LL",8,6],[1,"Float",512,256,"RING","LL",8,6],[0,"Float",256,256,null,null,null,null]]'
        rm trace.json
    done
}

@test "kernels that NCCL's threads launched find their operations in every version" {
    local version
    for version in 1 4 5; do
        export FAKE_NCCL_PROFILER=$version
        record --nccl "$fake" "${job[@]}" -B
        assert_equal "$(kernels '.args | [.Seq, .dtype, .["In msg nelems"], .["Out msg nelems"], .algorithm, .protocol]')" \
            '[[0,"Float",256,256,"RING","LL"],[1,"Float",512,256,"RING","LL"],[0,"Float",256,256,null,null]]'
        rm trace.json
    done
}

@test "without --nccl NCCL loads no plugin of ours" {
    record "$fake" "${job[@]}"
    assert_equal "$(kernels '.args | [.dtype, .algorithm]')" '[["Float",null],["Float",null],["Byte",null]]'
    run -0 "$gputrace" run -o other.json sh -c 'echo "plugin: $NCCL_PROFILER_PLUGIN."'
    assert_line 'plugin: .'
}

@test "--nccl names the library as NCCL's plugin" {
    run -0 "$gputrace" run --nccl -o other.json sh -c 'echo "plugin: $NCCL_PROFILER_PLUGIN."'
    assert_line --regexp '^plugin: /.*/libgputrace\.so.*\.$'
}

@test "another plugin stays, and the trace says so" {
    export NCCL_PROFILER_PLUGIN=none
    record --nccl "$fake" "${job[@]}"
    assert_equal "$(kernels '.args | [.dtype, .algorithm]')" '[["Float",null],["Float",null],["Byte",null]]'
    run -0 jq -r '.gputrace.notes[].text' trace.json
    assert_output --partial "names another plugin, 'none'"
}

@test "an NCCL that knows no version of ours is noted; a program without NCCL is not" {
    export FAKE_NCCL_PROFILER=0
    record --nccl "$fake" "${job[@]}"
    run -0 jq -r '.gputrace.notes | map(.text) | unique | .[]' trace.json
    assert_output --partial 'NCCL told the recorder nothing'
    rm trace.json
    NCCL_PROFILER_PLUGIN=none record --nccl "$samples/vector_add"
    refute [ "$(jq '.gputrace.notes | length' trace.json)" -gt 0 ]
}

@test "the types of what is gathered and broadcast are those of the calls, from version 5 on" {
    record --nccl "$fake" -n 2 -s 1 -b 1024 -o allgather,broadcast
    assert_equal "$(kernels '.args | [.dtype, .["In msg nelems"], .["Out msg nelems"]]')" '[["Float",256,512],["Float",256,256]]'
    rm trace.json
    FAKE_NCCL_PROFILER=4 record --nccl "$fake" -n 2 -s 1 -b 1024 -o allgather,broadcast
    assert_equal "$(kernels '.args | [.dtype, .["In msg nelems"], .["Out msg nelems"]]')" '[["Byte",1024,2048],["Byte",1024,1024]]'
}

@test "operations are numbered by NCCL's own count where recording began late" {
    record --nccl --capture-range=nvtx:ProfilerStep#2 "$fake" -n 2 -s 4 -o allreduce,broadcast
    assert_equal "$(kernels .args.Seq)" '[4,5]'
    rm trace.json
    record --capture-range=nvtx:ProfilerStep#2 "$fake" -n 2 -s 4 -o allreduce,broadcast
    assert_equal "$(jq -c '[.traceEvents[] | select(.cat == "kernel" and .args.Seq != null) | .args.Seq] | sort' trace.json)" \
        '[0,0,1,1]'
}

@test "distributedInfo has NCCL's version with every version of the interface, and without --nccl none" {
    local version
    for version in 1 4 5; do
        FAKE_NCCL_PROFILER=$version record --nccl "$fake" -n 2 -s 1
        assert_equal "$(jq -c '[.gputrace.processes[].distributedInfo | select(.) | [.rank, .nccl_version, .pg_count]] | sort' trace.json)" \
            '[[0,"2.28.9",1],[1,"2.28.9",1]]'
        rm trace.json
    done
    record "$fake" -n 2 -s 1
    assert_equal "$(jq -c '[.gputrace.processes[].distributedInfo | select(.) | .nccl_version] | unique' trace.json)" '[null]'
}

@test "the name of a communicator is shown, where NCCL tells it" {
    record --nccl "$fake" "${job[@]}"
    assert_equal "$(kernels '.args["Process Group Description"]')" '["fake","fake","fake"]'
    rm trace.json
    record "$fake" "${job[@]}"
    assert_equal "$(kernels '.args["Process Group Description"]')" '[null,null,null]'
}

@test "calls of a group find their operations" {
    record --nccl "$fake" -n 2 -s 1 -b 1024 -o group
    assert_equal "$(jq -c '[.traceEvents[] | select(.cat == "user_annotation" and .args.Rank == 0 and .args.Seq != null)]
        | sort_by(.ts) | map(.args | [.Seq, .dtype, .["In msg nelems"], .algorithm])' trace.json)" \
        '[[0,"Float",256,"RING"],[1,"Half",128,"RING"],[2,"Float",256,"RING"]]'
}
