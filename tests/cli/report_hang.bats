# Section hang of gputrace report: who waits in which operation, who is missing, and what the missing rank did. Traces
# are made by hand, in seconds: tests/cli/hang_trace.

load common

# Writes trace.json of these lines.
trace() { # LINE...
    printf '%s\n' "$@" | "$BATS_TEST_DIRNAME/hang_trace" >trace.json
}

# An operation of several ranks.
all() { # RANKS COMM SEQ NAME BYTES CALLED [STATE]
    local rank ranks=$1
    shift
    for rank in $ranks; do
        echo "op $rank $*"
    done
}

hang() { # FILTER [TRACE]: jq's filter over the rows of the section
    "$gputrace" report -r hang --format=json "${2-trace.json}" | jq -rc ".hang | $1"
}

verdict() {
    hang '.[].verdict'
}

finished=$(all '0 1 2 3' 0xc 411 AllReduce 4194304 10)
three_wait=$(all '0 1 3' 0xc 412 AllReduce 4194304 11 flight)

@test "a rank in an endless kernel: who waits, who is missing, and since when the kernel runs" {
    trace 'ranks 4' "$finished" "$three_wait" 'done 2 load 10.5 12.3' 'kernel 2 spin(int*) 11.2'
    run verdict
    assert_output 'Ranks 0, 1 and 3 wait in AllReduce #412 (4.00 MiB) of communicator 0xc; rank 2 never entered it: its kernel spin(int*) has been running on GPU 2 stream 7 since 2.30 s'
    run hang '.[0] | [.communicator, .operation, .sequence, .size_bytes, .type, .ranks, .waiting_ranks, .missing_ranks, .other_ranks, .finished_ranks, .unrecorded, .gone]'
    assert_output '["0xc","AllReduce",412,4194304,"Byte",4,"0,1,3","2",null,null,0,0]'
    run hang '.[0] | [.since_ns, .waited_ns, .finished]'
    assert_output '[1000000000,19000000000,"AllReduce #411 (4.00 MiB)"]'
    run -0 "$gputrace" report -r hang trace.json
    assert_line --index 0 'Hangs (hang)'
    assert_line --partial '1. Ranks 0, 1 and 3 wait in AllReduce #412'
    assert_line --partial 'Last finished by all: AllReduce #411 (4.00 MiB)'
}

@test "with -r all a hang is shown, and a report without one has no place for it" {
    trace 'ranks 4' "$finished" "$three_wait"
    run -0 "$gputrace" report -r all trace.json
    assert_line 'Hangs (hang)'
    trace 'ranks 4' "$finished"
    run -0 "$gputrace" report -r all trace.json
    refute_line --partial 'Hangs'
    assert_line --regexp '^Not in this trace: .*hang'
}

@test "a rank that sleeps on the host: its last call, and the range that is open there" {
    trace 'ranks 4' "$finished" "$three_wait" 'call 2 cudaLaunchKernel 10.4 10.5' 'range 2 load_batch 10.6'
    run verdict
    assert_output --partial '; rank 2 never entered it: its thread 102 (train) made no CUDA call after cudaLaunchKernel at 400 ms, in range load_batch'
}

@test "a rank that sleeps on the host: its last lines, those of the program alone" {
    trace 'ranks 4' "$finished" "$three_wait" 'call 2 cudaLaunchKernel 10.4 10.5'
    jq '.stackFrames = {"1": {name: "<module>", file: "/w/ddp.py", line: 12, category: "python"},
            "2": {name: "Trainer.fit", file: "/v/site-packages/lightning/trainer.py", line: 5, category: "python", parent: 1},
            "3": {name: "step", file: "/w/ddp.py", line: 19, category: "python", parent: 2},
            "4": {name: "Linear.forward", file: "/v/site-packages/torch/linear.py", line: 7, category: "python", parent: 3}}
        | .traceEvents |= map(if .name == "cudaLaunchKernel" then .args.stack = 4 else . end)' trace.json >lines.json
    run -0 hang '.[].verdict' lines.json
    assert_output --partial '; rank 2 never entered it: its thread 102 (train) made no CUDA call after cudaLaunchKernel at 400 ms, last seen in step (ddp.py:19) < <module> (ddp.py:12)'
}

@test "a rank in a call that does not return" {
    trace 'ranks 4' "$finished" "$three_wait" 'call 2 cudaLaunchKernel 10.4 10.5' 'open 2 cuStreamSynchronize 12'
    run verdict
    assert_output --partial '; rank 2 never entered it: its thread 102 (train) has been in cuStreamSynchronize since 2.00 s'
}

@test "a rank whose process died of a signal, and one that was killed while the others lived" {
    trace 'ranks 4' "$finished" "$three_wait" 'died 2 10.9 11 Segmentation fault'
    run verdict
    assert_output --partial '; rank 2 never entered it: its process died at 900 ms by signal 11 (Segmentation fault)'
    assert_equal "$(hang '.[0].gone')" 1
    trace 'ranks 4' "$finished" "$three_wait" 'alive 2 12'
    run verdict
    assert_output --partial '; rank 2 never entered it: its process was killed; it was last seen at 2.00 s'
    trace 'ranks 4' "$finished" "$three_wait" 'finished 2' 'call 2 cudaFree 10.4 10.5'
    run verdict
    assert_output --partial '; rank 2 never entered it: its process exited at 500 ms'
}

@test "a rank that was killed finished what others finished, though the records of its last kernels are lost" {
    local earlier
    earlier=$(all '0 1 3' 0xc 411 AllReduce 4194304 10 0.1; all 2 0xc 411 AllReduce 4194304 10 flight)
    trace 'ranks 4' "$earlier" "$three_wait" 'alive 2 10.5'
    run hang '.[0] | [.sequence, .waiting_ranks, .missing_ranks, .finished, .verdict]'
    assert_output --regexp '^\[412,"0,1,3","2","AllReduce #411 \(4.00 MiB\)",".*; rank 2 never entered it: its process was killed;'
    # The root of a broadcast goes on before the others have it.
    trace 'ranks 4' 'root 0' "${earlier//AllReduce/Broadcast}" "$three_wait" 'alive 2 10.5'
    run hang '.[0] | [.sequence, .waiting_ranks, .missing_ranks, .finished]'
    assert_output '[412,"0,1,3","2","no operation of this communicator"]'
    # One that was killed with the others hangs in the operation itself.
    trace 'ranks 4' "$earlier"
    run hang '.[0] | [.sequence, .waiting_ranks]'
    assert_output '[411,"2"]'
}

@test "a process that died after the others is not the cause: the watchdogs of all ended them" {
    trace 'ranks 4' "$finished" "$three_wait" 'died 0 29.5 6 Aborted' 'died 2 29.9 6 Aborted' \
        'call 2 cudaLaunchKernel 10.4 10.5'
    run verdict
    assert_output --partial '; rank 2 never entered it: its thread 102 (train) made no CUDA call'
    assert_equal "$(hang '.[0].gone')" 0
}

@test "mismatched operations, sizes and roots" {
    trace 'ranks 4' "$finished" "$three_wait" 'root 0' 'op 2 0xc 412 Broadcast 1024 11 flight'
    run verdict
    assert_output 'Ranks 0, 1 and 3 wait in AllReduce #412 (4.00 MiB) of communicator 0xc; rank 2 entered Broadcast #412 (1.00 KiB, root 0) instead'
    assert_equal "$(hang '.[0] | [.other_ranks, .missing_ranks, .others]')" \
        '["2",null,"rank 2: Broadcast #412 (1.00 KiB, root 0)"]'
    trace 'ranks 4' "$finished" "$three_wait" 'op 2 0xc 412 AllReduce 2048 11 flight'
    run verdict
    assert_output --partial '; rank 2 entered AllReduce #412 (2.00 KiB) instead'
    trace 'ranks 4' "$finished" 'root 0' "$(all '0 1 3' 0xc 412 Broadcast 4096 11 flight)" 'root 2' \
        'op 2 0xc 412 Broadcast 4096 11 flight'
    run verdict
    assert_output --partial '; rank 2 entered Broadcast #412 (4.00 KiB, root 2) instead'
}

@test "another operation that its rank has finished is found, too" {
    trace 'ranks 4' "$finished" "$three_wait" 'root 2' 'op 2 0xc 412 Broadcast 1024 11'
    run verdict
    assert_output --partial '; rank 2 entered Broadcast #412 (1.00 KiB, root 2) instead'
}

@test "ranks that gather different sizes do not differ" {
    trace 'ranks 4' "$finished" 'op 0 0xc 412 AllGatherv 1024 11 flight' 'op 1 0xc 412 AllGatherv 2048 11 flight' \
        'op 2 0xc 412 AllGatherv 4096 11 flight' 'op 3 0xc 412 AllGatherv 512 11 flight'
    run verdict
    assert_output 'Ranks 0 to 3 wait in AllGatherv #412 (1.00 KiB) of communicator 0xc; every rank entered it, and none finished it'
}

@test "a rank that skipped an operation: the first difference is where it did" {
    trace 'ranks 2' 'op 0 0xc 1 AllReduce 4096 10' 'op 1 0xc 1 AllReduce 4096 10' 'op 0 0xc 2 AllReduce 4096 11' \
        'op 1 0xc 2 AllReduce 512 11' 'op 0 0xc 3 AllReduce 512 12 flight'
    run hang '.[0].difference'
    assert_output 'rank 0 entered AllReduce #2 (4.00 KiB), and rank 1 entered AllReduce #2 (512 B)'
    trace 'ranks 2' 'op 0 0xc 1 AllReduce 4096 10' 'op 1 0xc 1 AllReduce 4096 10' 'op 0 0xc 3 AllReduce 512 12 flight'
    assert_equal "$(hang '.[0].difference')" null
}

@test "an operation that all entered, behind an endless kernel of one rank" {
    trace 'ranks 4' "$finished" "$three_wait" 'kernel 2 spin(int*) 10.5' 'op 2 0xc 412 AllReduce 4194304 11 flight'
    run verdict
    assert_output --partial '; on rank 2 it is queued behind other work: its kernel spin(int*) has been running on GPU 2 stream 7 since 500 ms'
    # A kernel that was launched after it is not the cause.
    trace 'ranks 4' "$finished" "$three_wait" 'kernel 2 spin(int*) 11.5' 'op 2 0xc 412 AllReduce 4194304 11 flight'
    run verdict
    assert_output --partial '; every rank entered it, and none finished it'
}

@test "a missing rank that waits in another communicator: the hang there comes first" {
    trace 'ranks 4' 'members 0xd 2' "$finished" "$three_wait" 'op 3 0xd 0 AllReduce 64 10.2' 'op 2 0xd 0 AllReduce 64 10.2' \
        'op 2 0xd 1 AllReduce 64 10.8 flight' 'call 3 cudaMalloc 10.4 10.5' 'range 3 checkpoint 10.9'
    run verdict
    assert_line --index 1 'Rank 2 waits in AllReduce #1 (64 B) of communicator 0xd; rank 3 never entered it: it waits in AllReduce #412 (4.00 MiB) of communicator 0xc'
    assert_line --index 0 'Ranks 0, 1 and 3 wait in AllReduce #412 (4.00 MiB) of communicator 0xc; rank 2 never entered it: it waits in AllReduce #1 (64 B) of communicator 0xd'
    trace 'ranks 4' 'members 0xa 2' 'members 0xc 3' "$(all '0 1 2' 0xc 411 AllReduce 64 10)" \
        "$(all '0 1' 0xc 412 AllReduce 64 11 flight)" "$(all '2 3' 0xa 0 AllReduce 64 10.2)" \
        'op 2 0xa 1 AllReduce 64 10.8 flight' 'kernel 3 spin() 10.3'
    run hang '.[] | [.communicator, .cause != null]'
    assert_line --index 0 '["0xa",false]'
    assert_line --index 1 '["0xc",true]'
}

@test "operations that are queued behind the one that ranks wait in are not listed" {
    trace 'ranks 4' 'members 0xd 2' "$finished" "$three_wait" "$(all '0 1' 0xd 0 AllReduce 64 10.2)" \
        "$(all '0 1' 0xd 1 AllReduce 64 11.5 flight)" "$(all '0 1 3' 0xc 413 AllReduce 64 12 flight)" 'kernel 2 spin() 10.5'
    run hang '.[] | [.communicator, .sequence]'
    assert_output '["0xc",412]'
}

@test "calls of a group have one kernel: a receive without one is not finished" {
    trace 'ranks 2' 'root 1' 'op 0 0xc 0 Send 64 10' 'root 0' 'op 1 0xc 0 Recv 64 10' 'root 1' 'op 0 0xc 1 Send 64 11 flight' \
        'root 0' 'op 1 0xc 1 Recv 64 11 called'
    run verdict
    assert_output 'Ranks 0 and 1 wait in Send #1 (64 B, from rank 0 to rank 1) of communicator 0xc; every rank entered it, and none finished it'
}

@test "a send whose receiver never received" {
    trace 'ranks 4' "$finished" 'root 3' 'op 1 0xc 0 Send 4096 11 flight' 'root 1' 'call 3 cudaMalloc 10.4 10.5'
    run verdict
    assert_output --partial 'Rank 1 waits in Send #0 (4.00 KiB, from rank 1 to rank 3) of communicator 0xc; rank 3 never entered it: its thread 103'
    trace 'ranks 4' 'root 3' 'op 1 0xe 0 Send 4096 11 flight' 'call 3 cudaMalloc 10.4 10.5'
    run verdict
    assert_output --partial '; rank 3 never entered it: its thread 103'
    trace 'ranks 4' "$finished" 'root 3' 'op 1 0xc 0 Send 4096 11' 'root 1' 'op 3 0xc 0 Recv 4096 11'
    assert_equal "$(hang length)" 0
}

@test "a call that does not return is waited in as a kernel is" {
    trace 'ranks 2' 'op 0 0xc 0 Barrier 0 10 called' 'op 1 0xc 0 Barrier 0 10 called' 'op 0 0xc 1 Barrier 0 11 open' \
        'call 1 cudaMalloc 10.4 10.5'
    run verdict
    assert_output --partial 'Rank 0 waits in Barrier #1 (0 B) of communicator 0xc; rank 1 never entered it'
}

@test "ranks that make a communicator, and one that does not come" {
    trace 'ranks 3' 'range 0 ncclCommInitRankConfig 10' 'range 2 ncclCommInitRankConfig 11' \
        'call 1 cudaMalloc 10.4 10.5' 'range 1 load_weights 10.6'
    run verdict
    assert_output --partial 'Ranks 0 and 2 wait in ncclCommInitRankConfig, which makes a communicator; rank 1 never entered it: its thread 101 (train) made no CUDA call after cudaMalloc at 400 ms, in range load_weights'
    assert_equal "$(hang '.[0] | [.operation, .communicator, .sequence, .waiting_ranks, .missing_ranks, .finished]')" \
        '["ncclCommInitRankConfig",null,null,"0,2","1",null]'
    trace 'ranks 3' 'range 0 ncclCommInitRankConfig 29.5' 'range 2 ncclCommInitRankConfig 29.6'
    assert_equal "$(hang length)" 0
}

@test "ranks of the communicator that are not in the trace" {
    trace 'ranks 2' 'members 0xc 8' "$(all '0 1' 0xc 0 AllReduce 64 10)" "$(all '0 1' 0xc 1 AllReduce 64 11 flight)"
    run verdict
    assert_output 'Ranks 0 and 1 wait in AllReduce #1 (64 B) of communicator 0xc; 6 ranks of the communicator were not recorded'
}

@test "an operation under way when a healthy job was killed is not a hang" {
    trace 'ranks 4' 'end 11.5' "$finished" "$three_wait"
    assert_equal "$(hang length)" 0
    trace 'ranks 4' 'end 12.1' "$finished" "$three_wait"
    assert_equal "$(hang length)" 1
}

@test "an operation under way when recording ended, in processes that exited later, is not a hang" {
    trace 'ranks 2' 'op 0 0xc 1 AllReduce 64 11 flight' 'finished 0' 'call 0 cudaFree 20 21' 'finished 1' \
        'call 1 cudaFree 10 21'
    assert_equal "$(hang length)" 0
    trace 'ranks 2' 'op 0 0xc 1 AllReduce 64 11 flight' 'call 0 cudaFree 20 21' 'finished 1' 'call 1 cudaFree 10 21'
    assert_equal "$(hang length)" 1
}

@test "an operation without a kernel's record, which later ones passed, is not a hang" {
    trace 'ranks 2' "$(all '0 1' 0xc 0 AllReduce 64 10)" 'op 0 0xc 1 AllReduce 64 11' 'op 1 0xc 1 AllReduce 64 11 flight' \
        "$(all '0 1' 0xc 2 AllReduce 64 12)"
    assert_equal "$(hang length)" 0
}

@test "of a thousand ranks the waiting ones are a few numbers" {
    {
        echo 'ranks 1000'
        for rank in $(seq 0 999); do
            [ "$rank" -eq 500 ] || echo "op $rank 0xc 0 AllReduce 64 11 flight"
        done
    } | "$BATS_TEST_DIRNAME/hang_trace" >trace.json
    run verdict
    assert_output --partial 'Ranks 0 to 499 and 501 to 999 wait in AllReduce #0 (64 B) of communicator 0xc; rank 500 never entered it'
}

@test "several missing ranks: the one that died is described" {
    trace 'ranks 4' "$finished" "$(all '0 1' 0xc 412 AllReduce 64 11 flight)" 'died 3 10.9 11 Segmentation fault' \
        'call 2 cudaMalloc 10.4 10.5'
    run verdict
    assert_output --partial '; ranks 2 and 3 never entered it: of rank 3, its process died at 900 ms by signal 11'
    assert_equal "$(hang '.[0].missing | split("; ") | length')" 2
}

# --- a trace for each rank ---

# Writes rank0.json, rank1.json … of these lines; the trace of rank N begins N * 3 seconds later.
traces() { # RANKS LINE...
    local rank ranks=$1
    shift
    for ((rank = 0; rank < ranks; rank++)); do
        printf '%s\n' "ranks $ranks" "$@" | "$BATS_TEST_DIRNAME/hang_trace" "$rank" $((rank * 3)) >rank"$rank".json
    done
}

@test "job: traces of its ranks, and their parts, say what one trace of all says" {
    local lines=("$finished" "$three_wait" 'done 2 load 10.5 12.3' 'kernel 2 spin(int*) 11.2' 'call 0 cudaMalloc 1 2')
    trace 'ranks 4' "${lines[@]}"
    traces 4 "${lines[@]}"
    for rank in 0 1 2 3; do
        "$gputrace" report --partial -o rank$rank.gpr rank$rank.json
    done
    "$gputrace" report -r hang -f json trace.json | jq .hang >expected
    "$gputrace" report -r hang -f json rank?.json | jq .hang | diff expected -
    "$gputrace" report -r hang rank?.json >direct
    grep -F '1. Ranks 0, 1 and 3 wait in AllReduce #412' direct
    "$gputrace" report -r hang rank?.gpr | diff direct -
    "$gputrace" report -r all rank?.json >all
    grep -Fx 'Hangs (hang)' all
}

@test "job: what each rank did is known of its own trace" {
    local lines=("$finished" "$three_wait")
    traces 4 "${lines[@]}" 'died 2 10.9 11 Segmentation fault'
    "$gputrace" report -r hang -f json rank?.json >rows
    jq -re '.hang[0].verdict' rows | grep -F '; rank 2 never entered it: its process died at 900 ms by signal 11 (Segmentation fault)'
    traces 4 "${lines[@]}" 'call 2 cudaLaunchKernel 10.4 10.5' 'range 2 load_batch 10.6'
    "$gputrace" report -r hang -f json rank?.json >rows
    jq -re '.hang[0].verdict' rows | grep -F 'made no CUDA call after cudaLaunchKernel at 400 ms, in range load_batch'
}

@test "job: a healthy one, and one of which a trace is missing" {
    traces 4 "$finished"
    "$gputrace" report -r hang -f json rank?.json | jq -e '.hang == []'
    traces 4 "$finished" "$three_wait"
    "$gputrace" report -r hang -f json rank0.json rank1.json rank3.json >rows
    jq -re '.hang[0].verdict' rows | grep -F 'Ranks 0, 1 and 3 wait in AllReduce #412 (4.00 MiB) of communicator 0xc; 1 rank of the communicator was not recorded'
}

@test "an operation that stands still without a communicator" {
    cat >trace.json <<'END'
{"distributedInfo": {"rank": 0, "world_size": 1},
 "traceEvents": [{"ph": "X", "cat": "user_annotation", "name": "ncclAllReduce", "ts": 2000000.0, "dur": 28000000.0,
    "args": {"Collective name": "AllReduce", "open at end": true}}]}
END
    run -0 --separate-stderr verdict
    assert_output 'Rank 0 waits in AllReduce #0 of an unknown communicator; every rank entered it, and none finished it'
}

@test "when a process exited and where a kernel runs is left out where it is not known" {
    cat >trace.json <<'END'
{"gputrace": {"processes": [
    {"pid": 100, "rank": 0, "state": "ended without its exit handlers", "alive": {"ts": 30000000}},
    {"pid": 101, "rank": 1, "state": "finished"}]},
 "traceEvents": [
    {"ph": "X", "cat": "user_annotation", "name": "ncclAllReduce", "pid": 100, "ts": 1000000, "dur": 10, "args":
        {"Collective name": "AllReduce", "communicator": "0xa", "Seq": 0, "Group size": 2, "Rank": 0, "open at end": true}},
    {"ph": "i", "cat": "gpu_in_flight", "name": "spin()", "pid": 100, "ts": 1000000, "args": {}}]}
END
    run -0 --separate-stderr hang '.[0] | .verdict, .missing'
    assert_line --index 0 --partial ' of communicator 0xa; rank 1 never entered it: its process exited'
    assert_line --index 1 'rank 1: its process exited'
    refute_output --partial '9223372'
    run -0 "$gputrace" report -r crashes -f json trace.json
    refute_output --partial '9223372'
    assert_output --partial '"what": "In flight", "where": "GPU 100"'
}
