#!/usr/bin/env bats
# Dumps of PyTorch's flight recorder: a pickle for each rank, with the fields that fr_trace reads. Traces are made by
# hand, in seconds: tests/cli/hang_trace.

load common

# Writes trace.json of these lines, and job.flight of it.
flight() { # LINE...
    printf '%s\n' "$@" | "$BATS_TEST_DIRNAME/hang_trace" >trace.json
    "$gputrace" convert -q --force trace.json job.flight
}

# The same of a trace whose times begin in 1970.
flight_at_0() { # LINE...
    printf '%s\n' "$@" | "$BATS_TEST_DIRNAME/hang_trace" | jq 'del(.baseTimeNanoseconds)' >trace.json
    "$gputrace" convert -q --force trace.json job.flight
}

# Runs lines of Python that see the dumps as dumps[rank].
dumps() {
    python3 - <<END
import pathlib, pickle
dumps = {int(path.name[len("rank_"):]): pickle.loads(path.read_bytes()) for path in pathlib.Path("job.flight").iterdir()}
$1
END
}

job=('ranks 3' 'op 0 0xc 0 AllReduce 4096 10' 'op 1 0xc 0 AllReduce 4096 10' 'op 2 0xc 0 AllReduce 4096 10'
    'op 0 0xc 1 AllGather 3072 11 flight' 'op 1 0xc 1 AllGather 3072 11 open')

@test "a dump has the fields of PyTorch's" {
    flight "${job[@]}"
    run -0 dumps 'print(sorted(dumps), sorted(dumps[0]), dumps[0]["version"], dumps[0]["pg_status"])
print(dumps[2]["pg_config"])
print(sorted(dumps[0]["entries"][0]))'
    assert_line --index 0 "[0, 1, 2] ['entries', 'pg_config', 'pg_status', 'version'] 2.10 {}"
    assert_line --index 1 "{'0xc': {'name': '0xc', 'desc': 'undefined', 'ranks': '[0, 1, 2]'}}"
    assert_line --index 2 "['collective_seq_id', 'duration_ms', 'frames', 'input_dtypes', 'input_sizes', 'is_p2p', 'op_id', 'output_dtypes', 'output_sizes', 'p2p_seq_id', 'pg_id', 'process_group', 'profiling_name', 'record_id', 'retired', 'state', 'time_created_ns', 'time_discovered_completed_ns', 'time_discovered_started_ns', 'timeout_ms']"
}

@test "an entry says what was called, when, and how far it came" {
    flight_at_0 "${job[@]}"
    run -0 dumps 'def show(entry, *keys): print(*[entry[key] for key in keys])
keys = ("record_id", "process_group", "profiling_name", "collective_seq_id", "state", "retired", "is_p2p", "frames")
for rank in (0, 1):
    for entry in dumps[rank]["entries"]:
        show(entry, *keys)
show(dumps[0]["entries"][0], "time_created_ns", "time_discovered_started_ns", "time_discovered_completed_ns", "duration_ms")
show(dumps[0]["entries"][1], "time_created_ns", "time_discovered_started_ns", "time_discovered_completed_ns")
for entry in dumps[0]["entries"]:
    show(entry, "input_sizes", "output_sizes", "input_dtypes", "output_dtypes")
print(len(dumps[2]["entries"]))'
    assert_line --index 0 "0 ('0xc', 'undefined') nccl:all_reduce 0 completed True False []"
    assert_line --index 1 "1 ('0xc', 'undefined') nccl:_all_gather_base 1 started False False []"
    assert_line --index 3 "1 ('0xc', 'undefined') nccl:_all_gather_base 1 scheduled False False []"
    assert_line --index 4 "10000000000 10000000000 10001000000 1.0"
    assert_line --index 5 "11000000000 None None"
    assert_line --index 6 "[[4096]] [[4096]] ['Byte'] ['Byte']"
    assert_line --index 7 "[[1024]] [[3072]] ['Byte'] ['Byte']"
    assert_line --index 8 1
}

@test "times are those of the clock where the trace says when it began" {
    printf '%s\n' "${job[@]}" | "$BATS_TEST_DIRNAME/hang_trace" | jq '.baseTimeNanoseconds = 1700000000000000000' >trace.json
    "$gputrace" convert -q trace.json job.flight
    run -0 dumps 'print(abs(dumps[0]["entries"][0]["time_created_ns"] - 1700000010000000000) < 1000)'
    assert_output True
}

@test "sends and receives have a group for each direction" {
    flight 'ranks 3' "${job[@]:1:3}" 'root 2' 'op 1 0xc 0 Send 64 11' 'root 1' 'op 2 0xc 0 Recv 64 11' 'op 1 0xc 0 Recv 8 12' \
        'root 2' 'op 1 0xc 0 Recv 8 12 flight'
    run -0 dumps 'for rank in (1, 2):
    for entry in dumps[rank]["entries"][1:3]:
        group = dumps[rank]["pg_config"][entry["process_group"][0]]
        print(rank, entry["process_group"][0], group["ranks"], entry["profiling_name"], entry["p2p_seq_id"], entry["is_p2p"])'
    assert_line --index 0 '1 0xc 1->2 [1, 2] nccl:send 0->1 0 True'
    assert_line --index 2 '2 0xc 1->2 [1, 2] nccl:recv 1<-0 0 True'
}

@test "a call without a kernel of its own ended if a later operation did" {
    flight 'ranks 2' "${job[@]:1:2}" 'root 1' 'op 0 0xc 0 Send 8 10.5 called' 'op 0 0xc 7 AllReduce 64 11' \
        'op 0 0xc 1 Send 8 12 called'
    run -0 dumps 'print([entry["state"] for entry in dumps[0]["entries"]])'
    assert_output "['completed', 'completed', 'completed', 'scheduled']"
}

@test "a rank that did nothing has a dump without entries, and belongs to the groups of all" {
    flight 'ranks 3' 'op 0 0xc 0 AllReduce 4096 10 flight' 'op 1 0xc 0 AllReduce 4096 10 flight' 'members 0xd 2' \
        'op 0 0xd 0 AllReduce 64 9' 'op 1 0xd 0 AllReduce 64 9'
    run -0 dumps 'print(dumps[2]["entries"], sorted(dumps[2]["pg_config"]), dumps[0]["pg_config"]["0xc"]["ranks"], dumps[0]["pg_config"]["0xd"]["ranks"])'
    assert_output "[] ['0xc'] [0, 1, 2] [0, 1]"
}

@test "the ranks of a group that did nothing in it are those that the trace lists" {
    printf '%s\n' 'ranks 3' 'members 0xd 2' 'op 1 0xd 0 AllReduce 64 9 flight' | "$BATS_TEST_DIRNAME/hang_trace" >plain.json
    for list in '[1, 2]' '[0, ..., 1]'; do
        jq --arg list "$list" '(.traceEvents[] | select(.args.communicator) | .args)["Process Group Ranks"] = $list' plain.json >trace.json
        "$gputrace" convert -q --force trace.json job.flight
        dumps 'print(dumps[1]["pg_config"]["0xd"]["ranks"], list(dumps[2]["pg_config"]))' >>ranks
    done
    assert_equal "$(<ranks)" "[1, 2] ['0xd']
[1] []"
}

@test "a send whose receiver does nothing has the group of both ranks" {
    flight 'ranks 3' "${job[@]:1:3}" 'root 2' 'op 1 0xc 0 Send 64 11 flight'
    run -0 dumps 'print(dumps[1]["pg_config"]["0xc 1->2"]["ranks"], dumps[1]["entries"][-1]["profiling_name"], sorted(dumps[2]["pg_config"]))'
    assert_output "[1, 2] nccl:send 0->1 ['0xc', '0xc 1->2']"
}

# fr_trace looks for two ranks.
@test "sends to the own rank, and those to an unknown one, are left out and counted" {
    flight 'ranks 3' "${job[@]:1:3}" 'members 0xd 2' 'root 1' 'op 1 0xc 0 Send 64 11' 'op 1 0xc 0 Recv 64 11' \
        'root 7' 'op 1 0xd 0 Send 64 12 flight'
    run -0 dumps 'print([entry["profiling_name"] for entry in dumps[1]["entries"]])'
    assert_output "['nccl:all_reduce']"
    run -0 "$gputrace" convert --force trace.json job.flight
    assert_line --partial "3 operations of 3 ranks in 'job.flight'"
    assert_line --partial '3 operations were left out'
}

@test "operations from before another rank's recording began are left out" {
    flight 'ranks 2' 'op 0 0xc 3 AllReduce 64 9' 'op 0 0xc 4 AllReduce 64 10' 'op 1 0xc 4 AllReduce 64 10' \
        'op 0 0xc 5 AllReduce 64 11 flight'
    run -0 dumps 'print([[(entry["record_id"], entry["collective_seq_id"]) for entry in dumps[rank]["entries"]] for rank in (0, 1)])'
    assert_output '[[(0, 4), (1, 5)], [(0, 4)]]'
}

states() { # of operation 0 on each rank
    dumps 'print(*[dumps[rank]["entries"][0]["state"] for rank in sorted(dumps)])'
}

@test "an operation is scheduled if its GPU has been running something else since before" {
    flight 'ranks 2' 'kernel 1 spin 9' 'op 0 0xc 0 AllReduce 64 10 flight' 'op 1 0xc 0 AllReduce 64 10 flight'
    assert_equal "$(states)" 'started scheduled'
    flight 'ranks 2' 'kernel 1 spin 11' 'op 0 0xc 0 AllReduce 64 10 flight' 'op 1 0xc 0 AllReduce 64 10 flight'
    assert_equal "$(states)" 'started started'
}

@test "the last operations of a rank that ended are completed if another rank completed them" {
    flight 'ranks 2' 'alive 1 10.5' 'op 0 0xc 0 AllReduce 64 10' 'op 1 0xc 0 AllReduce 64 10 flight'
    assert_equal "$(states)" 'completed completed'
    flight 'ranks 2' 'alive 1 10.5' 'op 0 0xc 0 AllReduce 64 10 flight' 'op 1 0xc 0 AllReduce 64 10 flight'
    assert_equal "$(states)" 'started started'
    flight 'ranks 2' 'alive 1 12' 'op 0 0xc 0 AllReduce 64 10' 'op 1 0xc 0 AllReduce 64 10 flight'
    assert_equal "$(states)" 'completed started'
}

@test "operations that fr_trace has no word for are left out, and counted" {
    flight "${job[@]}" 'op 0 0xe 0 MPI_Allreduce 4 12 called' 'op 0 0xf 0 MPI_Bcast 4 12 called'
    run -0 dumps 'print(len(dumps[0]["entries"]), list(dumps[0]["pg_config"]))'
    assert_output "2 ['0xc']"
    run -0 "$gputrace" convert --force trace.json job.flight
    assert_line --partial "5 operations of 3 ranks in 'job.flight'"
    assert_line --partial '2 operations were left out'
}

@test "names that are not UTF-8 or ASCII are texts of Python all the same" {
    flight "${job[@]//0xc/grüppe}"
    run -0 dumps 'print(list(dumps[0]["pg_config"]))'
    assert_output "['grüppe']"
}

@test "dumps of other ranks stay, those of the same rank only go with --force" {
    flight "${job[@]}"
    echo other >job.flight/rank_7
    run -1 "$gputrace" convert trace.json job.flight
    assert_line --partial "'job.flight/rank_0' is there already: --force replaces it"
    run -0 "$gputrace" convert --force trace.json job.flight
    assert_equal "$(<job.flight/rank_7)" other
}

@test "a trace without ranks, a part of a trace, and a folder that cannot be made are errors" {
    run -1 "$gputrace" convert "$root/tests/data/report/small.json" none.flight
    assert_line --partial 'has no communication of ranks whose numbers are known'
    [ ! -e none.flight ]
    run -1 "$gputrace" convert --gpu=0 "$root/tests/data/report/small.json" none.flight
    assert_line --partial 'operations of ranks are written of whole traces'
    printf '%s\n' "${job[@]}" | "$BATS_TEST_DIRNAME/hang_trace" >trace.json
    run -1 "$gputrace" convert trace.json nowhere/job.flight
    assert_line --partial "cannot make the folder 'nowhere/job.flight': No such file or directory"
    run -125 "$gputrace" run -o job.flight true
}
