# The ledger: whatever is missing is counted, by the same name and number in the trace, in the report's overview and in
# the last line of `run`; and --strict makes it an exit status. That every kind of loss is reported so is tested by
# tests/cli/ledger_test.c; here each is made to happen, as far as the simulated GPU can. Those of full disks are in
# resources.bats.

load robust

# Runs a program that ends with 0, and loses LOSS; once more, $goes times at the most (one), when it was spared that by the
# chance that SPARED looks for in traced.json.
loses() { # LOSS PROGRAM [ARG...]
    local loss=$1 got go
    shift
    need_plain
    for ((go = 1; ; go++)); do
        got=0
        "$gputrace" run --strict -o traced.json "$@" >/dev/null 2>said || got=$?
        ledger traced.json >all
        ! grep -q "^$loss [1-9]" all || break
        [ "$go" -lt "${goes-1}" ] && $spared || fail "no loss of $loss: $(cat all said)"
    done
    assert_equal "$got" 124
    grep -q "^gputrace: 'traced.json' is incomplete, and --strict was given" said
    "$check_trace" traced.json
    # Without it the same is reported, and the status is the program's.
    run -0 "$gputrace" run -o traced.json "$@"
}

@test "records that CUPTI dropped" {
    need_simulated
    export SIMGPU_DROP_RECORDS=10
    loses cupti_dropped "$samples/launch_loop" 1000
}

@test "GPU operations whose launch was dropped" {
    need_simulated
    export SIMGPU_DROP_RECORDS=3
    loses unmatched_flows "$samples/launch_loop" 1000
}

@test "GPU operations without times" {
    need_simulated
    export SIMGPU_ZERO_KERNELS=5
    loses zero_time "$samples/launch_loop" 100
}

@test "GPU operations that had not ended" {
    need_simulated
    export SIMGPU_HANG_KERNEL=7
    script app "'$programs/dying' exit" "exit 0"
    loses in_flight ./app
}

has_its_name() {
    jq -e '[.traceEvents[] | select(.cat | IN("kernel", "gpu_in_flight")) | select(.name == "dying_63")] | length == 1' \
        traced.json
}

@test "a kernel without a name: launched for the first time long after it was got, and killed in that launch" {
    need_simulated
    export SIMGPU_KILL_LAUNCHED=6051
    script app "'$programs/going_on' late" "[ \$? -eq 137 ]"
    # The service thread may happen to look in the midst of the launch, where processors are busy: then the kernel has its
    # name.
    goes=8 spared=has_its_name
    loses unnamed ./app
    assert_equal "$(cat all | grep -c '^unnamed 1$')" 1
}

@test "CUPTI that another profiler has taken" {
    need_simulated
    export SIMGPU_CUPTI_TAKEN=1
    loses cuda_unrecorded "$samples/vector_add"
}

@test "CUPTI that was detached" {
    script app "'$programs/going_on' finalize" "[ \$? -eq 6 ]"
    loses cuda_unrecorded ./app
}

@test "a text that is too long, and a pop without a push" {
    script app "'$programs/going_on' careless" "[ \$? -eq 6 ]"
    loses cut_texts ./app
    loses unmatched_ranges ./app
}

@test "--strict: nothing is lost, and the status is the program's" {
    need_plain
    run -0 "$gputrace" run --strict "$samples/vector_add"
    refute_output --partial 'incomplete: '
}

@test "--strict: the program's own failure goes first" {
    need_plain
    script app "'$programs/going_on' careless" "exit 9"
    run -9 "$gputrace" run --strict ./app
    assert_line --partial 'incomplete: '
}

@test "--strict: a program that was not traced at all" {
    need_plain
    run -124 "$gputrace" run --strict --spool-dir=/nowhere true
    assert_line --partial 'runs without being traced'
    run -0 "$gputrace" run --spool-dir=/nowhere true
}
