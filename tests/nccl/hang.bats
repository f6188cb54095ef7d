#!/usr/bin/env bats
# Deadlocks of four ranks, whose processes and launcher are all killed by SIGKILL: one command explains each from what
# is left, the spool directory. The verdict is checked as text and as JSON.

load ../cli/common

fake=$build/tests/nccl/fake_nccl
job=

# Starts a job that stands still in its last step. Everything is in one process group: $job.
start() { # DEADLOCK
    setsid "$gputrace" run -q --spool-dir=. -o trace.json "$fake" -n 4 -s 3 -b 1048576 -D "$1" 3>&- >out 2>&1 &
    job=$!
}

end_job() {
    [ -z "$job" ] || kill -KILL -- "-$job" 2>/dev/null || true
    [ -z "$job" ] || wait "$job" || true
    job=
}

teardown() {
    end_job
    rm -f "/dev/shm/fake_nccl.hang$$"
}

# The report of these directories has this line, once the job has come to where it stands still for ever.
says() { # REGEXP PATTERN
    # shellcheck disable=SC2086 # the pattern's directories
    "$gputrace" report -r hang --width=1000 $2 >said 2>errors && grep -qE "$1" said
}

# The job is killed once it stands still; text is the section, and JSON is in hang.json.
explain() { # DEADLOCK REGEXP
    start "$1"
    eventually says "$2" 'gputrace-*' || fail "$(cat out said errors)"
    end_job
    [ ! -e trace.json ]
    "$gputrace" report -r hang --format=json gputrace-* | jq .hang >hang.json
    run -0 --separate-stderr "$gputrace" report -r hang --width=1000 gputrace-*
    assert_line --index 0 'Hangs (hang)'
    assert_line --regexp "$2"
}

rows() { # FILTER
    jq -rc "$1" hang.json
}

# Of each rank the last operation up to the hang, and how far it came, as the dumps for fr_trace have them.
exported() {
    "$gputrace" convert -q gputrace-* job.flight
    python3 - <<'END'
import pickle
for rank in range(4):
    with open(f"job.flight/rank_{rank}", "rb") as file:
        dump = pickle.load(file)
    (group,) = dump["pg_config"].values()
    last = [entry for entry in dump["entries"] if entry["collective_seq_id"] <= 2][-1]
    print(rank, group["ranks"], last["profiling_name"], last["collective_seq_id"], last["state"])
END
}

# What three ranks wait in.
three='allreduce #2 (1.00 MiB) of communicator 0x[0-9a-f]+'
facts='[length, (.[0] | .operation, .sequence, .size_bytes, .ranks, .waiting_ranks, .missing_ranks, .other_ranks, .gone)]'

@test "a rank that does not come to a group of a send and a receive" {
    run "$gputrace" run -q -o trace.json "$fake" -n 3 -s 3 -t 2 -o ring -D absent:1
    "$gputrace" report -r hang --format=json trace.json | jq .hang >hang.json
    assert_equal "$(rows '.[0] | [.operation, .sequence, .waiting_ranks, .missing_ranks]')" '["send",2,"0","1"]'
}

@test "a rank that calls another operation, also as fr_trace is told" {
    explain mismatch:1 \
        "^  1\. Ranks 0, 2 and 3 wait in ${three//[()]/.}; rank 1 entered broadcast #2 .1\.00 MiB, root 0. instead\$"
    assert_equal "$(rows "$facts")" '[1,"allreduce",2,1048576,4,"0,2,3",null,"1",0]'
    run -0 exported
    assert_output '0 [0, 1, 2, 3] nccl:all_reduce 2 started
1 [0, 1, 2, 3] nccl:broadcast 2 started
2 [0, 1, 2, 3] nccl:all_reduce 2 started
3 [0, 1, 2, 3] nccl:all_reduce 2 started'
}

@test "a rank that sleeps on the host" {
    explain absent:2 \
        "^  1\. Ranks 0, 1 and 3 wait in ${three//[()]/.}; rank 2 never entered it: its thread [0-9]+ .*, in range load data"
    assert_equal "$(rows "$facts")" '[1,"allreduce",2,1048576,4,"0,1,3","2",null,0]'
}

@test "a rank whose kernel never ends; in the export for fr_trace an operation behind it is scheduled" {
    explain endless:0 \
        "^  1\. Ranks 0 to 3 wait in ${three//[()]/.}; on rank 0 it is queued behind other work: its kernel endless_kernel has been running on GPU 0 stream [0-9]+ since [0-9.]+ m?s\$"
    assert_equal "$(rows "$facts")" '[1,"allreduce",2,1048576,4,"0,1,2,3",null,null,0]'
    run -0 exported
    assert_output '0 [0, 1, 2, 3] nccl:all_reduce 2 scheduled
1 [0, 1, 2, 3] nccl:all_reduce 2 started
2 [0, 1, 2, 3] nccl:all_reduce 2 started
3 [0, 1, 2, 3] nccl:all_reduce 2 started'
}

@test "a rank that was killed before; in the export it finished what the others finished" {
    explain dead:1 \
        "^  1\. Ranks 0, 2 and 3 wait in ${three//[()]/.}; rank 1 never entered it: its process was killed; it was last seen at [0-9.]+ m?s\$"
    assert_equal "$(rows "$facts")" '[1,"allreduce",2,1048576,4,"0,2,3","1",null,1]'
    run -0 exported
    assert_output '0 [0, 1, 2, 3] nccl:all_reduce 2 started
1 [0, 1, 2, 3] nccl:all_reduce 1 completed
2 [0, 1, 2, 3] nccl:all_reduce 2 started
3 [0, 1, 2, 3] nccl:all_reduce 2 started'
}

@test "a job that still runs is explained, and runs on" {
    start absent:2
    eventually says "^  1\. Ranks 0, 1 and 3 wait in ${three//[()]/.}; rank 2 never entered it: .*, in range load data" 'gputrace-*'
    kill -0 "$job"
}

@test "a launcher for each rank: the directories of all of them are one job" {
    setsid bash -c 'for rank in 0 1 2; do
        mkdir rank$rank
        RANK=$rank WORLD_SIZE=3 "$1" run -q --spool-dir=rank$rank -o rank$rank.json "$2" -j "$3" -s 3 -b 1048576 -D absent:1 &
    done; wait' - "$gputrace" "$fake" "hang$$" 3>&- >out 2>&1 &
    job=$!
    local all="^  1\. Ranks 0 and 2 wait in ${three//[()]/.}; rank 1 never entered it: .*, in range load data"
    local alone="^  1\. Rank 0 waits in ${three//[()]/.}; 2 ranks of the communicator were not recorded"
    eventually says "$all" 'rank?/gputrace-*'
    eventually says "$alone" 'rank0/gputrace-*' # who waits alone must have waited for longer to be called a hang
    end_job
    says "$all" 'rank?/gputrace-*'
    says "$alone" 'rank0/gputrace-*'
}

@test "a healthy job has no hang, whether it ends or is killed" {
    "$gputrace" run -q -o healthy.json "$fake" -n 4 -s 3 -b 1048576
    assert_equal "$("$gputrace" report -r hang --format=json healthy.json | jq '.hang | length')" 0
    run -0 "$gputrace" report healthy.json
    refute_line --partial 'Hangs'
    # What a healthy job leaves that is killed by SIGKILL, recorded once: each rank waits at that moment in some operation.
    # gputrace run -q --spool-dir=. -o trace.json fake_nccl -n 4 -s 100000 -b 1048576
    tar -xzf "$root/tests/data/hang/healthy.tar.gz"
    run -0 --separate-stderr "$gputrace" report -r kernels,hang --format=json gputrace-*
    jq -e '.hang == [] and ([.kernels[].calls] | add) > 1000' <<<"$output"
}
