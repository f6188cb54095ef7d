#!/usr/bin/env bats
# Arguments of communication in the traces of a job, in all formats.

load ../cli/common

fake=$build/tests/nccl/fake_nccl

before_each() { need_simulated; }

# [process, name of the event, category, its arguments of communication] of each NCCL call and kernel.
arguments() { # TRACE
    jq -c '[.traceEvents[] | select(.args["Collective name"] != null)
            | [.pid, .name, .cat, (.args | with_entries(select(.key as $key | ["Collective name", "communicator",
               "Group size", "Rank", "Seq", "In msg nelems", "Out msg nelems", "dtype", "Root", "Src Rank", "Dst Rank",
               "Reduction operation", "operations", "group call", "algorithm", "protocol", "channels"] | index($key))))]]
           | sort' "$1"
}

record() { # OPTION... of fake_nccl
    run -0 --separate-stderr "$gputrace" run -o trace.json "$fake" -j "$BATS_TEST_NUMBER.$$" -n 2 "$@"
    "$check_trace" --quiet trace.json
}

every=allreduce,allgather,reducescatter,broadcast,reduce,alltoall,gather,scatter,ring,group,halves,graph

@test "every NCCL kernel and call of a job has arguments" {
    record -s 2 -o "$every"
    assert_equal "$(jq '[.traceEvents[] | select(.cat == "kernel" and (.name | startswith("nccl")))
                         | select(.args["Collective name"] == null)] | length' trace.json)" 0
    # per rank and step: 13 kernels
    assert_equal "$(jq '[.traceEvents[] | select(.cat == "kernel" and .args.communicator != null)] | length' trace.json)" 52
    # 15 calls, but the captured one, which is made once
    assert_equal "$(jq '[.traceEvents[] | select(.cat == "user_annotation" and .args["Collective name"] != null)]
                        | length' trace.json)" 58
}

@test "all calls of a group that one kernel does are finished" {
    record -s 3 -o ring,group
    run -0 --separate-stderr "$gputrace" report -r comm,hang --format=json trace.json
    assert_equal "$(jq -c '[.comm[] | .unfinished // 0] | add' <<<"$output")" 0
    assert_equal "$(jq -c '.hang' <<<"$output")" '[]'
    # each kernel's time counts once
    local kernels
    kernels=$(jq '[.traceEvents[] | select(.cat == "kernel" and .args.communicator != null) | .dur * 1000 | round] | add' trace.json)
    assert_equal "$(jq '[.comm[].total_ns] | add' <<<"$output")" "$kernels"
}

@test "the bandwidth of a group is that of all operations of the kernel" {
    record -s 3 -o ring,group
    "$gputrace" report -r comm --format=json trace.json | jq .comm >rows
    # an all-reduce of 4 MiB and one of 1 MiB; what is sent, while as much is received; an all-gather alone
    local bytes
    for bytes in 'allreduce 4194304 5242880' 'send/recv 4194304 4194304' 'allgather 8388608 8388608'; do
        # shellcheck disable=SC2086 # three words
        set -- $bytes
        jq -e --arg operation "$1" --argjson size "$2" --argjson bytes "$3" '[.[] | select(.operation == $operation
            and .size_bytes == $size and .algorithm_gb_s != null)] | length == 1 and
            all(.[]; ((.algorithm_gb_s * .transfer_ns / (6 * $bytes) - 1) | fabs) < 1e-6)' rows
    done
}

@test "the sizes are those of the buffers" {
    record -s 1 -b 1024 -o "$every"
    local sizes='[.traceEvents[] | select(.cat == "kernel" and .args["Group size"] == 2 and .args.Rank == 0)]
        | sort_by(.ts) | map([.args["Collective name"], .args["In msg nelems"], .args["Out msg nelems"], .args.Root])'
    assert_equal "$(jq -c "$sizes" trace.json)" \
        '[["allreduce",256,256,null],["_allgather_base",1024,2048,null],["_reduce_scatter_base",512,256,null],["broadcast",1024,1024,0],["reduce",256,256,1],["all_to_all",2048,2048,null],["gather",1024,2048,0],["scatter",2048,1024,0],["send",1024,1024,null],["allreduce",1024,1024,null],["_allgather_base",1024,2048,null],["allreduce",256,256,null]]'
}

@test "communicator and sequence number are those of all ranks of an operation" {
    record -s 3 -o allreduce,broadcast
    # each operation of the ranks ends at one time
    local ends='[.traceEvents[] | select(.cat == "kernel" and .args["Collective name"] != null)]
        | group_by([.args.communicator, .args.Seq]) | map({ranks: map(.args.Rank) | sort, names: map(.name) | unique | length,
           spread: (map(.ts + .dur) | max - min)})'
    assert_equal "$(jq -c "$ends | length" trace.json)" 6
    assert_equal "$(jq -c "$ends | all(.ranks == [0,1] and .names == 1 and .spread < 1)" trace.json)" true
}

# [operation, type, elements] of rank 0.
types() { # CATEGORY
    jq -c '[.traceEvents[] | select(.cat == "'"$1"'" and .args.Rank == 0 and .args["Group size"] == 2)] | sort_by(.ts)
        | map(.args | [.["Collective name"], .dtype, .["In msg nelems"]])' trace.json
}

@test "the type of a reduction is that of its kernel's name" {
    record -s 2 -b 1024 -o allreduce,graph,reduce
    # once each, on calls; the captured one is replayed
    assert_equal "$(types user_annotation)" \
        '[["allreduce","Float",256],["allreduce","Float",256],["reduce","Float",256],["allreduce","Float",256],["reduce","Float",256]]'
    assert_equal "$(types kernel)" \
        '[["allreduce","Float",256],["allreduce","Float",256],["reduce","Float",256],["allreduce","Float",256],["allreduce","Float",256],["reduce","Float",256]]'
}

@test "elements are bytes where the kernel's name leaves the type open" {
    # integers with and without sign have one kernel, a kernel of several calls the name of the first, and what only
    # moves data has none
    record -s 1 -b 1024 -o integers,group,broadcast
    assert_equal "$(types kernel)" \
        '[["allreduce","Byte",1024],["allreduce","Byte",1024],["_allgather_base","Byte",1024],["broadcast","Byte",1024]]'
    assert_equal "$(types user_annotation)" \
        '[["allreduce","Byte",1024],["allreduce","Byte",1024],["allreduce","Byte",256],["_allgather_base","Byte",1024],["broadcast","Byte",1024]]'
}

# Of kernels that NCCL's threads launched, [how many, with arguments, the operations of rank 0].
launched() {
    jq -c '[.traceEvents[] | select(.cat == "kernel" and (.name | startswith("nccl")))] | sort_by(.ts)
        | [length, ([.[] | select(.args.communicator != null)] | length),
           [.[] | select(.args.Rank == 0 and .args["Group size"] == 4) | .args | [.["Collective name"], .Seq, .operations]]]' trace.json
}

@test "kernels of non-blocking communicators, which NCCL's threads launch, have the arguments of their calls" {
    record -n 4 -s 1 -B -o allreduce,group,broadcast,ring,halves,allreduce
    assert_equal "$(launched)" \
        '[28,28,[["allreduce",0,null],["allreduce",1,2],["_allgather_base",3,null],["broadcast",4,null],["send",0,2],["allreduce",5,null]]]'
}

@test "a kernel that may be of either of two communicators has no arguments; the plugin says which" {
    record -n 4 -s 1 -B -o allreduce,both,allreduce
    assert_equal "$(launched)" '[16,8,[["allreduce",0,null],["allreduce",2,null]]]'
    rm trace.json
    run -0 "$gputrace" run --nccl -o trace.json "$fake" -n 4 -s 1 -B -o allreduce,both,allreduce
    assert_equal "$(launched)" '[16,16,[["allreduce",0,null],["allreduce",1,null],["allreduce",2,null]]]'
}

@test "a communicator of one rank, which launches no kernel, waits for none" {
    # that of rank 0 alone comes first, and is not called again
    record -n 2 -s 2 -B -o halves,allreduce
    assert_equal "$(jq -c '[.traceEvents[] | select(.cat == "kernel" and .args.communicator != null) | .args | [.Rank, .["Group size"]]]
        | sort' trace.json)" '[[0,2],[0,2],[1,2],[1,2]]'
}

@test "a kernel of a non-blocking communicator in flight has the arguments" {
    run "$gputrace" run -o trace.json "$fake" -n 3 -s 2 -t 1 -B -D absent:1
    assert_equal "$(jq -c '[.traceEvents[] | select(.cat == "gpu_in_flight" and .args["Collective name"] == "allreduce")
        | [.args.Rank, .args.Seq]] | sort' trace.json)" '[[0,1],[2,1]]'
}

@test "every replay of a graph has the arguments of the captured call" {
    record -s 3 -o graph
    assert_equal "$(jq -c '[.traceEvents[] | select(.cat == "kernel" and .args.communicator != null and .args.Rank == 1)
                            | [.args["graph node id"] != null, .args["Collective name"]]] | unique' trace.json)" \
        '[[true,"allreduce"]]'
    assert_equal "$(jq '[.traceEvents[] | select(.cat == "kernel" and .args.communicator != null)] | length' trace.json)" 6
}

@test "the arguments come through all formats" {
    record -s 2 -o "$every"
    arguments trace.json >wanted
    [ "$(jq length wanted)" -gt 100 ]
    run -0 "$gputrace" convert trace.json trace.pftrace
    run -0 "$gputrace" convert trace.pftrace again.json
    arguments again.json >found
    run -0 diff wanted found
    run -0 "$gputrace" convert trace.json trace.db
    run -0 sqlite3 trace.db .dump
    assert_equal "$(grep -c '"Collective name":"' <<<"$output")" "$(jq length wanted)"
}

@test "what hangs has the arguments: calls, and kernels in flight" {
    run "$gputrace" run -o trace.json "$fake" -n 3 -s 2 -t 1 -D absent:1
    local stuck='[.traceEvents[] | select(.cat == "gpu_in_flight" and .args["Collective name"] == "allreduce")
        | [.args.Rank, .args.Seq, .args["In msg nelems"]]] | sort'
    assert_equal "$(jq -c "$stuck" trace.json)" '[[0,1,1048576],[2,1,1048576]]'
}

@test "the trace does not depend on the number of threads that write it" {
    mkdir here
    run -0 "$gputrace" run --spool-dir=here --keep-spool -o trace.json "$fake" -n 2 -s 100 -o "$every"
    "$build/tests/bench/gen" -c here/* one.json 1
    "$build/tests/bench/gen" -c here/* two.json 2
    # the name of the file is in the file
    cmp <(grep -v '"traceName"' one.json) <(grep -v '"traceName"' two.json)
    [ "$(grep -c '"communicator"' one.json)" -gt 5000 ]
}
