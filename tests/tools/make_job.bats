#!/usr/bin/env bats
# The generator of jobs: its traces are such as gputrace writes, and what truth.json says is in them.

bats_require_minimum_version 1.5.0

setup() {
    build=${GPUTRACE_BUILD:-$BATS_TEST_DIRNAME/../../build}
    job=$BATS_TEST_TMPDIR/job
}

make_job() { # OPTION...
    "$build/make_job" "$@" "$job" >"$BATS_TEST_TMPDIR/said"
}

# ns of kernels by jq's filter $1 of their arguments, of file $2
kernel_ns() {
    jq "[.traceEvents[] | select(.cat == \"kernel\" and .ph == \"X\") | select($1) | .dur * 1000] | add | round" "$job/$2"
}

@test "its traces keep to what all traces of gputrace keep to" {
    make_job -n 8 -H 2 -t 2 -p 2 -s 3 -c -f .json
    for file in "$job"/rank*.json; do
        "$build/tests/check_trace" --quiet "$file"
    done
    [ "$(find "$job" -name 'rank*.json' | wc -l)" -eq 8 ]
    [ "$(jq .gputrace.processes[0].rank "$job/rank5.json")" -eq 5 ]
    [ "$(jq -r .gputrace.processes[0].host "$job/rank5.json")" = node1 ]
    [ "$(jq .distributedInfo.world_size "$job/rank5.json")" -eq 8 ]
}

@test "a .pftrace holds what the JSON holds" {
    make_job -n 2 -s 2 -f .json
    make_job -n 2 -s 2
    "$build/gputrace" report -r kernels --format csv "$job/rank1.json" >"$BATS_TEST_TMPDIR/json"
    "$build/gputrace" report -r kernels --format csv "$job/rank1.pftrace" >"$BATS_TEST_TMPDIR/pftrace"
    grep -q ncclDevKernel_AllReduce "$BATS_TEST_TMPDIR/json"
    cmp "$BATS_TEST_TMPDIR/json" "$BATS_TEST_TMPDIR/pftrace"
}

@test "a file for each host holds its ranks, and some of the files can be written alone" {
    make_job -n 6 -H 3 -s 2 -w -f .json -r 1-2
    [ "$(ls "$job")" = "$(printf '%s\n' node1.json node2.json truth.json)" ]
    [ "$(jq -c '[.gputrace.processes[].rank]' "$job/node2.json")" = "[4,5]" ]
    "$build/tests/check_trace" --quiet "$job/node2.json"
    mv "$job/node2.json" "$BATS_TEST_TMPDIR/alone.json"
    make_job -n 6 -H 3 -s 2 -w -f .json -j 2
    cmp "$job/node2.json" "$BATS_TEST_TMPDIR/alone.json"
}

@test "truth.json has the time of communication" {
    make_job -n 4 -t 2 -s 3 -f .json
    sum=0
    for rank in 0 1 2 3; do
        sum=$((sum + $(kernel_ns '.args["Collective name"] == "reduce_scatter"' rank$rank.json)))
    done
    [ "$sum" -eq "$(jq '.communication[] | select(.operation == "reduce_scatter") | .time_ns' "$job/truth.json")" ]
    jq -e '.communication[] | select(.operation == "reduce_scatter") |
        .count == 24 and .ranks == 2 and .time_ns >= .wait_ns + .ranks * .transfer_ns' "$job/truth.json"
}

@test "no rank leaves an operation before the last has entered, and a host's clock shifts its times" {
    make_job -n 4 -H 2 -s 2 -f .json
    for rank in 0 1 2 3; do
        jq -c '.traceEvents[] | select(.cat == "kernel" and .args["Collective name"]) |
            [.args.communicator, .args["Collective name"], .args.Seq, .ts, .ts + .dur]' "$job/rank$rank.json"
    done | jq -se 'group_by(.[0:3]) | all(length == 4 and (map(.[3]) | max) < (map(.[4]) | min))'
    cp "$job/rank3.json" "$BATS_TEST_TMPDIR/right.json"
    make_job -n 4 -H 2 -s 2 -f .json -o 1:-30 -D 1:50
    shift=$(jq -sc '[.[].traceEvents[] | select(.name == "ncclAllReduce") | .ts] |
        [.[0] - .[2], .[1] - .[3]] | map(round)' "$BATS_TEST_TMPDIR/right.json" "$job/rank3.json")
    [ "$shift" = "[30000,29999]" ] # 20 ms later it has gained 1 us
    [ "$(jq .hosts[1].offset_ns "$job/truth.json")" -eq -30000000 ]
}

@test "a late host, slow kernels, slow data and a slow link show where they were planted, and not elsewhere" {
    make_job -n 4 -H 2 -s 4 -f .json
    usual=$(kernel_ns '.args["Collective name"] | not' rank1.json)
    transfer='.communication[0] | .transfer_ns / .count'
    transferred=$(jq "$transfer" "$job/truth.json")
    make_job -n 4 -H 2 -s 4 -f .json -k 1:0.5 -l 2:5 -d 3:2 -L 1:3
    slow=$(kernel_ns '.args["Collective name"] | not' rank1.json)
    [ $((slow * 100 / usual)) -eq 149 ] || [ $((slow * 100 / usual)) -eq 150 ]
    jq -e "($transfer) / $transferred | . > 2.99 and . < 3.01" "$job/truth.json"
    jq -e '(.ranks[2].late_ns == 5000000) and (.ranks[3].data_ns == 2000000)' "$job/truth.json"
    loads='[.traceEvents[] | select(.name | startswith("enumerate(DataLoader)")) | .dur] | add / length | round'
    [ "$(jq "$loads" "$job/rank3.json")" -gt 2100 ]
    [ "$(jq "$loads" "$job/rank2.json")" -lt 300 ]
}

@test "of a rank that dies, the others' operations are in flight until the end" {
    make_job -n 4 -t 2 -s 3 -f .json -x 1:2
    "$build/tests/check_trace" --quiet "$job/rank0.json"
    "$build/tests/check_trace" --quiet "$job/rank1.json"
    [ "$(jq -c '[.traceEvents[] | select(.cat == "gpu_in_flight") | .args["Collective name"]]' "$job/rank0.json")" = '["allreduce"]' ]
    [ "$(jq -c '[.traceEvents[] | select(.cat == "gpu_in_flight") | .args["Collective name"]]' "$job/rank3.json")" = '["reduce_scatter"]' ]
    [ "$(jq -c '[.traceEvents[] | select(.cat == "gpu_in_flight")]' "$job/rank1.json")" = '[]' ]
    # Both were killed, rank 1 five seconds before the others.
    jq -e '.gputrace.processes[0].state == "ended without its exit handlers"' "$job/rank0.json" "$job/rank1.json"
    jq -e --slurpfile dead "$job/rank1.json" '.gputrace.processes[0].alive.ts - $dead[0].gputrace.processes[0].alive.ts |
        . > 4900000 and . < 5100000' "$job/rank0.json"
    jq -e '[.traceEvents[] | select(.args["open at end"]) | .name] == ["step", "forward"]' "$job/rank0.json"
}

@test "the report of a made job in which a rank dies names that rank" {
    make_job -n 4 -H 2 -s 3 -c -x 1:2
    "$build/gputrace" report -r hang "$job"/rank?.pftrace >"$BATS_TEST_TMPDIR/hang"
    grep -F 'Ranks 0, 2 and 3 wait in reduce_scatter #12' "$BATS_TEST_TMPDIR/hang"
    grep -F 'rank 1 never' "$BATS_TEST_TMPDIR/hang"
    make_job -n 4 -H 2 -s 3 -c
    "$build/gputrace" report -r hang "$job"/rank?.pftrace | grep -F 'none in this trace'
}

@test "what cannot be made is refused" {
    run -2 "$build/make_job" -n 6 -t 4 "$job"
    [[ $output == *"cannot be divided"* ]]
    run -2 "$build/make_job" -f .txt "$job"
    run -2 "$build/make_job"
    run -1 "$build/make_job" -l 9:5 "$job"
}
