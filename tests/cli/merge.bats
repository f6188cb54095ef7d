# gputrace merge: traces of several ranks become one, in which nothing of two traces is taken for the same.

load common

data=$root/tests/data
kineto=$data/kineto/kineto-train-h200.json.gz

# A trace of one process and one GPU, with the same pid, ids, stack numbers and names in each one.
rank_trace() { # FILE RANK HOST UUID [MICROSECONDS]
    local file=$1 rank=$2 host=$3 uuid=$4 at=${5:-0}
    jq -cn --argjson rank "$rank" --arg host "$host" --arg uuid "$uuid" --argjson at "$at" '{
        deviceProperties: [{id: 0, name: "GPU", uuid: $uuid, numSms: 132}],
        distributedInfo: {rank: $rank, world_size: 4},
        baseTimeNanoseconds: 1758000000000000000,
        stackFrames: {"1": {name: "main", category: "/bin/app", line: 1},
                      "2": {name: "step\($rank)", category: "/bin/app", line: 2, parent: 1}},
        gputrace: {version: "0.1.0", host: $host, clock: {synchronised: true, error_us: 2100}, losses: {spool_dropped: ($rank + 1)}, symbols: {"k()": "_Z1kv"},
            notes: [{pid: 100, text: "note \($rank)"}],
            processes: [{pid: 100, parent_pid: 1, rank: $rank, local_rank: 0, state: "finished", correlation_offset: 0,
                         gpu_pids: {"0": 0}, pools: [{pool: "0x1", device: 0, used_peak: 5}]}]},
        traceEvents: [
            {ph: "M", name: "process_name", pid: 100, tid: 100, args: {name: "rank \($rank): app"}},
            {ph: "M", name: "process_labels", pid: 100, tid: 100, args: {labels: "CPU"}},
            {ph: "M", name: "process_sort_index", pid: 100, tid: 100, args: {sort_index: 100}},
            {ph: "M", name: "process_name", pid: 0, tid: 0, args: {name: "rank \($rank): app GPU 0"}},
            {ph: "M", name: "process_labels", pid: 0, tid: 0, args: {labels: "GPU 0"}},
            {ph: "M", name: "process_sort_index", pid: 0, tid: 0, args: {sort_index: 5000000}},
            {ph: "M", name: "thread_name", pid: 100, tid: 100, args: {name: "thread 100 (app)"}},
            {ph: "M", name: "thread_sort_index", pid: 100, tid: 100, args: {sort_index: 0}},
            {ph: "M", name: "thread_name", pid: 0, tid: 7, args: {name: "stream 7"}},
            {ph: "M", name: "thread_sort_index", pid: 0, tid: 7, args: {sort_index: 7}},
            {ph: "X", cat: "user_annotation", name: "step", pid: 100, tid: 100, ts: (1000 + $at), dur: 100},
            {ph: "X", cat: "cuda_runtime", name: "cudaLaunchKernel", pid: 100, tid: 100, ts: (1010 + $at), dur: 5,
             args: {correlation: 1, stack: 2}},
            {ph: "s", id: 1, pid: 100, tid: 100, ts: (1010 + $at), cat: "ac2g", name: "ac2g"},
            {ph: "X", cat: "kernel", name: "k()", pid: 0, tid: 7, ts: (1020 + $at), dur: (10 + $rank),
             args: {device: 0, context: 1, stream: 7, correlation: 1, grid: [1,1,1], block: [32,1,1]}},
            {ph: "f", id: 1, pid: 0, tid: 7, ts: (1020 + $at), cat: "ac2g", name: "ac2g", bp: "e"},
            {ph: "X", cat: "user_annotation", name: "ProfilerStep#2", pid: 100, tid: 100, ts: (1200 + $at), dur: 100},
            {ph: "X", cat: "cuda_runtime", name: "cudaDeviceSynchronize", pid: 100, tid: 100, ts: (1250 + $at), dur: 5,
             args: {correlation: 2}},
            {ph: "i", cat: "user_annotation", name: "mark", pid: 100, tid: 100, ts: (1260 + $at), s: "t"},
            {ph: "b", cat: "user_annotation", name: "across", id: 9, pid: 100, tid: 100, ts: (1050 + $at)},
            {ph: "e", cat: "user_annotation", name: "across", id: 9, pid: 100, tid: 100, ts: (1110 + $at)},
            {ph: "C", name: "Memory in use: Device", pid: 0, ts: (1010 + $at), args: {bytes: 900}},
            {ph: "C", name: "Memory in use: Device", pid: 0, ts: (1300 + $at), args: {bytes: 100}}]}' >"$file"
}

# Four ranks on two hosts; the GPUs of one host have two UUIDs, those of the other are the same two.
job() {
    rank_trace r2.json 2 node8 GPU-a 20
    rank_trace r0.json 0 node7 GPU-a
    rank_trace r3.json 3 node8 GPU-b 30
    rank_trace r1.json 1 node7 GPU-b 10
}

merge() {
    run --separate-stderr "$gputrace" merge "$@"
}

# Values of the trace, joined by blanks.
values() { # FILTER TRACE
    jq -r "[$1] | map(tostring) | join(\" \")" "$2"
}

@test "merge: rows of ranks come in the order of ranks, with rank, host and process in their names" {
    job
    merge r2.json r0.json r3.json r1.json -o job.json
    assert_success
    assert_equal "$(jq -r '[.traceEvents[] | select(.name == "process_name")] | map(.args.name) | join(", ")' job.json)" \
        "rank 0 (node7): app, rank 0 (node7): app GPU 0, rank 1 (node7): app (100), rank 1 (node7): app GPU 1, rank 2 (node8): app (100), rank 2 (node8): app GPU 2, rank 3 (node8): app (100), rank 3 (node8): app GPU 3"
    assert_equal "$(values '.traceEvents[] | select(.name == "process_sort_index") | .args.sort_index' job.json)" "1 2 3 4 5 6 7 8"
}

@test "merge: pids, devices, flows, correlations, ranges and stacks of different traces are different" {
    job
    merge r*.json -o job.json
    assert_success
    assert_equal "$(values '[.traceEvents[] | select(.name == "process_name") | .pid] | unique | length' job.json)" 8
    assert_equal "$(values '.traceEvents[] | select(.cat == "kernel") | .args.device' job.json)" "0 1 2 3"
    assert_equal "$(values '[.traceEvents[] | select(.ph == "s") | .id] | unique | length' job.json)" 4
    assert_equal "$(values '[.traceEvents[] | select(.ph == "s") | .id] - [.traceEvents[] | select(.ph == "f") | .id] | length' job.json)" 0
    assert_equal "$(values '[.traceEvents[] | select(.cat == "cuda_runtime") | .args.correlation] | unique | length' job.json)" 8
    assert_equal "$(values '[.traceEvents[] | select(.ph == "b") | .id] | unique | length' job.json)" 4
    # Each kernel has the correlation of the call that its flow comes from.
    assert_equal "$(jq '[.traceEvents[] | select(.cat == "kernel") | .args.correlation] ==
        [.traceEvents[] | select(.name == "cudaLaunchKernel") | .args.correlation]' job.json)" true
    # "main" is one frame of all stacks, "step0" … "step3" are four.
    assert_equal "$(values '.stackFrames | [.[].name] | sort[]' job.json)" "main step0 step1 step2 step3"
    assert_equal "$(jq -r '.stackFrames as $f | [.traceEvents[] | select(.args.stack) | $f[.args.stack | tostring] | .name + " " + $f[.parent | tostring].name] | join(", ")' job.json)" \
        "step0 main, step1 main, step2 main, step3 main"
}

@test "merge: GPUs of one host with one UUID are one, those of two hosts are not" {
    rank_trace a.json 0 node7 GPU-a
    rank_trace b.json 1 node7 GPU-a
    rank_trace c.json 2 node8 GPU-a
    merge a.json b.json c.json -o job.json
    assert_success
    assert_equal "$(values '.traceEvents[] | select(.cat == "kernel") | .args.device' job.json)" "0 0 1"
    assert_equal "$(values '.deviceProperties[] | .id, .host' job.json)" "0 node7 1 node8"
    # Rows are of one process even so.
    assert_equal "$(values '[.traceEvents[] | select(.cat == "kernel") | .pid] | unique | length' job.json)" 3
}

@test "merge: metadata has all processes with rank and host, and the sum of losses" {
    job
    merge r*.json -o job.json
    assert_success
    assert_equal "$(values '.gputrace.processes[] | .rank, .local_rank, .world_size, .host' job.json)" \
        "0 0 4 node7 1 0 4 node7 2 0 4 node8 3 0 4 node8"
    assert_equal "$(jq '[.gputrace.processes[].pid] == [.traceEvents[] | select(.name == "cudaLaunchKernel") | .pid]' job.json)" true
    assert_equal "$(jq '[.gputrace.processes[].gpu_pids[]] == [.traceEvents[] | select(.cat == "kernel") | .pid]' job.json)" true
    assert_equal "$(values '.gputrace.processes[] | .gpu_pids | keys[]' job.json)" "0 1 2 3"
    assert_equal "$(values '.gputrace.processes[].pools[].device' job.json)" "0 1 2 3"
    assert_equal "$(values '.gputrace.losses.spool_dropped' job.json)" 10
    assert_equal "$(jq '[.gputrace.notes[].pid] == [.gputrace.processes[].pid]' job.json)" true
    assert_equal "$(values '.gputrace.ranks[] | .rank, .host, .file' job.json)" \
        "0 node7 r0.json 1 node7 r1.json 2 node8 r2.json 3 node8 r3.json"
    assert_equal "$(values '.gputrace.host, .gputrace.clock, .distributedInfo' job.json)" "null null null"
}

@test "merge: without operations of several hosts no time changes, and a line for each host says so" {
    job
    merge r*.json -o job.json
    assert_success
    assert_equal "$(values '.traceEvents[] | select(.cat == "kernel") | .ts + 0, .dur + 0' job.json)" "1020 10 1030 11 1040 12 1050 13"
    assert_equal "$stderr" "gputrace: clock of node7: the times of all hosts are given by it
gputrace: clock of node8: not corrected, because no operation joins it to node7; its system says that it is synchronised, wrong by at most 2.100 ms
gputrace: 36 events of 4 traces, 4 ranks, 2 hosts in 'job.json' ($(summary_size job.json))"
    merge --force r0.json r1.json -o job.json
    assert_success
    assert_equal "$stderr" "gputrace: 18 events of 2 traces, 2 ranks, 1 host in 'job.json' ($(summary_size job.json))"
}

# The size of a file below 100 kB as the tool prints it.
summary_size() { # FILE
    awk -v bytes="$(stat -c %s "$1")" 'BEGIN { printf("%.1f kB", bytes / 1000) }'
}

need_perfetto() {
    [ -x "${TRACE_PROCESSOR-}" ] || skip "TRACE_PROCESSOR names no trace_processor_shell of Perfetto"
}

# What Perfetto's trace processor says.
perfetto() { # TRACE SQL
    printf '%s\n' "$2" >query.sql
    "$TRACE_PROCESSOR" -q query.sql "$1" 2>/dev/null | tail -n +2
}

# Four runs of a sample, as four ranks: rank_0.pftrace, rank_0.json and so on.
record_ranks() {
    local rank
    for rank in 0 1 2 3; do
        RANK=$rank LOCAL_RANK=$rank WORLD_SIZE=4 "$gputrace" run -q -o "rank_%q{RANK}.pftrace" "$samples/vector_add" >/dev/null
        "$gputrace" convert -q "rank_$rank.pftrace" "rank_$rank.json"
    done
}

@test "merge: recorded ranks give a whole trace in both formats, with all events and flows" {
    record_ranks
    merge rank_*.json -o job.json
    assert_success
    run "$check_trace" job.json
    assert_success
    merge rank_*.json -o job.pftrace
    assert_success
    "$gputrace" convert -q job.pftrace again.json
    run "$root/tests/tools/check_pftrace" job.pftrace again.json
    assert_success
    "$gputrace" merge -q rank_*.pftrace -o other.json
    for kind in X s f i C; do
        local sum=0 rank
        for rank in 0 1 2 3; do
            sum=$((sum + $(values "[.traceEvents[] | select(.ph == \"$kind\")] | length" "rank_$rank.json")))
        done
        [ "$sum" -gt 0 ]
        assert_equal "$kind $(values "[.traceEvents[] | select(.ph == \"$kind\")] | length" job.json)" "$kind $sum"
        assert_equal "$kind $(values "[.traceEvents[] | select(.ph == \"$kind\")] | length" again.json)" "$kind $sum"
        assert_equal "$kind $(values "[.traceEvents[] | select(.ph == \"$kind\")] | length" other.json)" "$kind $sum"
    done
}

@test "merge: Perfetto's importer reads merged traces without an error, with all slices and flows" {
    need_perfetto
    record_ranks
    local sql="select (select count(*) from slice), (select count(*) from flow), (select count(*) from counter)" rank sum
    for ending in json pftrace; do
        "$gputrace" merge -q "rank_"*".$ending" -o "job.$ending"
        assert_equal "$(perfetto "job.$ending" "select count(*) from stats where severity = 'error' and value > 0")" 0
        sum=$(for rank in 0 1 2 3; do perfetto "rank_$rank.$ending" "$sql"; done |
            awk -F, '{ for (i = 1; i <= 3; i++) sum[i] += $i } END { print sum[1] "," sum[2] "," sum[3] }')
        assert_equal "$(perfetto "job.$ending" "$sql")" "$sum"
    done
}

# The rows of a section of the reports of all these traces: name, total and count, summed by name.
rows_of() { # SECTION COUNT-COLUMN TRACE...
    local section=$1 count=$2 file
    shift 2
    for file in "$@"; do
        "$gputrace" report -r "$section" --top=0 --format=json "$file"
    done | jq -cs --arg section "$section" --arg count "$count" '[.[][$section][] | {name: (.name // .operation), total: .total_ns, count: .[$count]}] |
        group_by(.name) | map([.[0].name, (map(.total) | add), (map(.count) | add)])'
}

@test "merge: the report of all ranks has the sums of the reports of each" {
    record_ranks
    "$gputrace" merge -q rank_*.pftrace -o job.pftrace
    for section in kernels:calls memtime:count api:calls; do
        run rows_of "${section%:*}" "${section#*:}" job.pftrace
        [ "$(jq 'map(.[1] * .[2]) | add' <<<"$output")" -gt 0 ]
        assert_output "$(rows_of "${section%:*}" "${section#*:}" rank_*.pftrace)"
    done
}

@test "merge: clocks of hosts are corrected by what their ranks did together, and each correction is printed" {
    "$build/make_job" -n 4 -H 2 -c -s 10 job >/dev/null
    merge job -o job.json
    assert_success
    assert_equal "${stderr_lines[0]}" "gputrace: clock of node0: the times of all hosts are given by it"
    assert_regex "${stderr_lines[1]}" '^gputrace: clock of node1: .* that of node0, drift [+-][0-9.]+ ppm; corrected, ± [0-9.]+ us \([0-9]+ operations\)$'
    # What was corrected, and what the generator had put there, at the end of the run.
    jq -n --slurpfile job job.json --slurpfile truth job/truth.json '
        ($job[0].gputrace.ranks[] | select(.rank == 3)) as $found | $truth[0].hosts[1] as $made |
        if ($found.offset_ns - $made.offset_ns | fabs) < 60000 and ($found.uncertainty_ns < 60000)
        then "near" else error("\($found) \($made)") end'
    # Durations stay as they are, but for the drift; no rank leaves an operation before the last one has entered.
    run jq -r '[.traceEvents[] | select(.ph == "X" and .dur < 0)] | length' job.json
    assert_output 0
    run jq -r '[.traceEvents[] | select(.cat == "kernel" and .args.Seq != null)] |
        group_by([.args.communicator, .args.Seq]) |
        map(select((map(.ts + .dur) | min) < (map(.ts) | max) - 60)) | length' job.json
    assert_output 0
    run "$check_trace" job.json
    assert_success
}

@test "merge: ranks of one host are shifted alike, and without --force nothing is replaced" {
    "$build/make_job" -n 4 -H 2 -c -s 4 -f .json job >/dev/null
    "$gputrace" merge -q job -o all.json
    run jq -c '[.gputrace.ranks[] | [.host, .offset_ns, .drift_ppm]] | unique | length' all.json
    assert_output 2
    # Times of a trace count from a base of its own.
    jq '.baseTimeNanoseconds -= 1000000000 | .traceEvents |= map(if .ph == "M" then . else .ts += 1000000 end)' \
        job/rank3.json >other.json
    mv other.json job/rank3.json
    "$gputrace" merge -q job -o moved.json
    assert_equal "$(jq -c .gputrace.ranks moved.json)" "$(jq -c .gputrace.ranks all.json)"
    cp all.json before.json
    merge job -o all.json
    assert_failure 1
    assert_equal "$stderr" "gputrace: 'all.json' is there already: --force replaces it"
    cmp all.json before.json
}

@test "merge: the output does not depend on the number of threads" {
    "$build/make_job" -n 6 -H 3 -c -s 3 job >/dev/null
    "$build/make_job" -n 8 -H 3 -c -s 3 -f .json job >/dev/null
    rm job/rank[0-5].json # so that there are both sorts
    for ending in json json.gz pftrace; do
        taskset -c 0 "$gputrace" merge -q job -o "all.$ending"
        mkdir "of_$ending"
        "$gputrace" merge -q job -o "of_$ending/all.$ending"
        # The name of the trace is the only difference.
        if [ "$ending" = pftrace ]; then
            "$gputrace" convert -q all.pftrace one.json
            "$gputrace" convert -q of_pftrace/all.pftrace two.json
        else
            gzip -cdf "all.$ending" >one.json
            gzip -cdf "of_$ending/all.$ending" >two.json
        fi
        cmp <(sed '/^"traceName"/d' one.json) <(sed '/^"traceName"/d' two.json)
        rm one.json two.json
    done
}

@test "merge: --from and --to are times of all traces together, and leave out whole traces" {
    job
    # The traces begin at 1000, 1010, 1020 and 1030 us; the last event is the counter at 1330. The end is not in the part.
    merge r*.json -o part.json --from=260us --to=280us
    assert_success
    assert_equal "$(values '.traceEvents[] | select(.ph == "X" or .ph == "i") | .name' part.json)" \
        "ProfilerStep#2 mark ProfilerStep#2 cudaDeviceSynchronize mark ProfilerStep#2 cudaDeviceSynchronize ProfilerStep#2"
    assert_equal "$(jq -c .gputrace_cut part.json)" '{"from_ns":260000,"to_ns":280000,"of_ns":330000}'
    merge r*.json -o whole.json --from=0% --to=100%
    assert_success
    assert_equal "$(values '[.traceEvents[] | select(.ph != "M")] | length' whole.json)" "$(
        "$gputrace" merge -q r*.json -o all.json
        values '[.traceEvents[] | select(.ph != "M")] | length' all.json
    )"
    merge r*.json -o first.json --from=0us --to=5us
    assert_success
    assert_equal "$(values '.traceEvents[] | select(.ph == "X") | .name' first.json)" step
    merge r*.json -o none.json --from=2s
    assert_failure 1
    [ ! -e none.json ]
}

@test "merge: --range and --step take the range of each trace, whenever it was there" {
    job
    merge r*.json -o step.json --step=2
    assert_success
    assert_equal "$(values '[.traceEvents[] | select(.name == "ProfilerStep#2")] | length' step.json)" 4
    assert_equal "$(values '[.traceEvents[] | select(.name == "cudaDeviceSynchronize")] | length' step.json)" 4
    assert_equal "$(values '[.traceEvents[] | select(.cat == "kernel")] | length' step.json)" 0
    merge r*.json -o range.json --range=step
    assert_success
    assert_equal "$(values '[.traceEvents[] | select(.cat == "kernel")] | length' range.json)" 4
    assert_equal "$(values '[.traceEvents[] | select(.ph == "f")] | length' range.json)" 4
    rm range.json step.json
    merge r*.json -o none.json --step=7
    assert_failure 1
    assert_equal "${stderr_lines[-1]}" "gputrace: 'r3.json' has no step 7: its steps, ProfilerStep, are 2 to 2"
    merge r*.json -o none.json --step=7 --range=step
    assert_failure 2
}

@test "merge: filters select in each trace as cut does, and what none has is an error" {
    "$build/make_job" -n 4 -H 2 -s 3 job >/dev/null
    merge job -o none.json --gpu=9
    assert_failure 1
    assert_equal "${stderr_lines[0]}" "gputrace: no GPU 9 in 'job/rank0.pftrace': it has GPU 0"
    assert_equal "${stderr_lines[-1]}" "gputrace: no GPU 9 in 'job/rank3.pftrace': it has GPU 1"
    [ ! -e none.json ]
    merge job -o ranks.json --rank=2
    assert_success
    assert_equal "$(jq -c '[.gputrace.processes[].rank]' ranks.json)" '[2]'
    for filter in --step=2 --kernel=gemm --stream=20 --rank=1 --gpu=1; do
        "$gputrace" merge -q --force job -o part.pftrace "$filter" 2>/dev/null
        "$gputrace" report -r kernels -f json part.pftrace | jq '[.kernels[].calls] | add' >got
        for rank in 0 1 2 3; do
            "$gputrace" cut -q --force "job/rank$rank.pftrace" -o one.pftrace "$filter" 2>/dev/null &&
                "$gputrace" report -r kernels -f json one.pftrace | jq '[.kernels[].calls] | add'
        done | jq -s add | diff - got
    done
    # clocks are those of the whole traces, whatever is selected
    "$gputrace" merge -q --force job -o whole.json
    "$gputrace" merge -q --force job -o part.json --kernel=gemm
    kernel() { jq -c '[.traceEvents[] | select(.cat == "kernel" and (.name | contains("gemm"))) | .ts] | sort' "$1"; }
    assert_equal "$(kernel part.json)" "$(kernel whole.json)"
    # nothing is left behind
    [ -z "$(find "${TMPDIR:-/tmp}" -maxdepth 1 -name 'gputrace-merge-*' -user "$(id -u)" -newer job)" ]
}

@test "merge: a trace of several parts is that of the whole, cut" {
    "$build/make_job" -n 3 -H 1 -s 3 job >/dev/null
    "$gputrace" merge -q job -o all.pftrace
    "$gputrace" cut -q all.pftrace -o cut.json --from=40% --to=60%
    "$gputrace" merge -q job -o merged.json --from=40% --to=60%
    names() { values '[.traceEvents[] | select(.ph == "X") | [.pid, .tid, .ts, .dur, .name]] | sort[]' "$1"; }
    [ "$(names cut.json | wc -c)" -gt 1000 ]
    assert_equal "$(names merged.json)" "$(names cut.json)"
}

@test "merge: every file that is not a trace, or is damaged, is named, and nothing is written" {
    job
    head -c 2000 r1.json >damaged.json
    echo "not a trace" >text.txt
    merge r0.json text.txt -o job.json
    assert_failure 1
    assert_equal "$stderr" "gputrace: 'text.txt' is not a trace"
    echo '{"a": 1}' >other.json
    merge r0.json damaged.json other.json r3.json -o job.json
    assert_failure 1
    assert_regex "$stderr" "'damaged.json'"
    assert_regex "$stderr" "'other.json' is JSON but not a trace"
    [ ! -e job.json ]
    merge r0.json missing.json -o job.json
    assert_failure 1
    assert_equal "$stderr" "gputrace: cannot open 'missing.json': No such file or directory"
    merge r0.json ./r0.json -o job.json
    assert_failure 1
    assert_equal "$stderr" "gputrace: 'r0.json' and './r0.json' are the same file"
    merge r0.json r1.json -o r0.json --force
    assert_failure 1
    assert_equal "$stderr" "gputrace: 'r0.json' and 'r0.json' are the same file"
    merge - r1.json -o job.json </dev/null
    assert_failure 1
    find . -name '*.tmp' | assert_output_empty
}

assert_output_empty() {
    run cat
    assert_output ''
}

@test "merge: a command line without traces, an output or a format is refused" {
    job
    merge -o job.json
    assert_failure 2
    merge r0.json
    assert_failure 2
    merge r0.json -o job.txt
    assert_failure 2
    merge r0.json -o job.db
    assert_failure 2
    assert_equal "$stderr" "gputrace: 'merge' does not write 'job.db': merge into a .pftrace, and convert that"
}

@test "merge: a directory stands for the traces in it, whatever else it has" {
    mkdir traces
    cd traces || return 1
    job
    echo '{"some": "settings"}' >settings.json
    echo text >notes.txt
    gzip r1.json
    cd ..
    merge traces -o traces/job.json
    assert_success
    assert_equal "$(values '.gputrace.ranks[].rank' traces/job.json)" "0 1 2 3"
    # The output is not taken for one of the traces.
    cp traces/job.json before.json
    merge traces -o traces/job.json --force
    assert_success
    cmp traces/job.json before.json
    merge traces -o traces/r0.json --force
    assert_failure 1
    assert_equal "$stderr" "gputrace: 'traces/r0.json' may be a trace of 'traces', and would be lost: give the output another name, or remove it"
    mkdir empty
    merge empty -o job.json
    assert_failure 1
    assert_equal "$stderr" "gputrace: 'empty' has no traces and no spools"
}

@test "merge: spools are merged as the traces that are written of them, and stay as they are" {
    local rank
    mkdir spools
    for rank in 0 1; do
        RANK=$rank WORLD_SIZE=2 "$gputrace" run -q --keep-spool --spool-dir=spools -o "rank_%q{RANK}.json" "$samples/vector_add" >/dev/null
    done
    find spools -type f | sort >before
    merge spools -o job.json
    assert_success
    assert_equal "$(values '.gputrace.ranks[].rank' job.json)" "0 1"
    "$gputrace" merge -q rank_0.json rank_1.json -o other.json
    assert_equal "$(values '[.traceEvents[] | select(.ph == "X")] | length' job.json)" \
        "$(values '[.traceEvents[] | select(.ph == "X")] | length' other.json)"
    find spools -type f | sort | cmp - before
    run find "$TMPDIR" -type f
    assert_output ''
}

@test "merge: GPU work whose row names no process is the rank's, which waits as in a report of the files" {
    local rank
    for rank in 0 1; do
        jq -n --argjson rank $rank '{distributedInfo: {backend: "nccl", rank: $rank, world_size: 2}, traceEvents: [range(4) as $i
            | {ph: "X", cat: "cuda_runtime", name: "cudaLaunchKernel", pid: (70 + $rank), tid: 7, ts: ($i * 9000 + $rank * 500), dur: 5,
               args: {correlation: ($i + 1)}},
              {ph: "X", cat: "kernel", name: "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", pid: 0, tid: 20,
               ts: ($i * 9000 + $rank * 500 + 10), dur: (2000 - $rank * 500), args: {device: 0, stream: 20, correlation: ($i + 1),
               "Collective name": "allreduce", "In msg nelems": 1000, dtype: "Float", "Process Group Name": "0"}}]}' >"w$rank.json"
    done
    waits='[.ranks[] | [.rank, .waited_ns, .others_waited_ns, .late_ns]]'
    "$gputrace" report -r ranks -f json w0.json w1.json | jq -c "$waits" >apart
    grep -q '^\[\[0,2000000,' apart
    merge w0.json w1.json -o waits.json
    "$gputrace" report -r ranks -f json waits.json | jq -c "$waits" | diff apart -
}

@test "merge: traces of torch.profiler become ranks by their distributedInfo" {
    local rank
    for rank in 1 0; do
        gzip -dc "$kineto" | sed "0,/\"schemaVersion\"/s//\"distributedInfo\": {\"backend\": \"nccl\", \"rank\": $rank, \"world_size\": 2},\n\"schemaVersion\"/" >"k$rank.json"
    done
    merge k1.json k0.json -o job.json
    assert_success
    assert_regex "$stderr" "clocks of 2 traces that do not name their host: not corrected"
    assert_equal "$(values '.gputrace.processes[] | .rank, .world_size' job.json)" "0 2 1 2"
    assert_equal "$(values '[.traceEvents[] | select(.cat == "kernel") | .args.device] | unique[]' job.json)" "0 1"
    assert_equal "$(values '[.deviceProperties[].id] | sort[]' job.json)" "0 1"
    # Each event of a trace is there, fwdbwd flows, too.
    "$gputrace" convert -q k0.json one.json
    for kind in X i s f; do
        assert_equal "$kind $(values "[.traceEvents[] | select(.ph == \"$kind\")] | length" job.json)" \
            "$kind $((2 * $(values "[.traceEvents[] | select(.ph == \"$kind\")] | length" one.json)))"
    done
    assert_equal "$(values '[.traceEvents[] | select(.ph == "s") | .id] | length' job.json)" \
        "$(values '[.traceEvents[] | select(.ph == "s") | .id] | unique | length' job.json)"
    assert_equal "$(rows_of kernels calls job.json)" "$(rows_of kernels calls k0.json k1.json)"
    merge k1.json k0.json -o job.pftrace
    assert_success
    assert_equal "$(rows_of kernels calls job.pftrace)" "$(rows_of kernels calls k0.json k1.json)"
}

@test "merge: a rank in two traces is warned of" {
    job
    cp r1.json copy.json
    merge r0.json r1.json copy.json -o job.json
    assert_success
    assert_equal "${stderr_lines[0]}" "gputrace: warning: rank 1 is in 'r1.json' and in 'copy.json': both are merged"
    merge --force r0.json r1.json -o job.json
    assert_success
    refute_regex "$stderr" warning
}

@test "merge: a merged trace is merged again, with the hosts and numbers of its ranks" {
    job
    "$gputrace" merge -q r0.json r2.json -o first.json
    "$gputrace" merge -q r1.json r3.json -o second.pftrace
    merge first.json second.pftrace -o job.json
    assert_success
    assert_equal "$(values '.gputrace.processes[] | .rank, .host' job.json)" "0 node7 2 node8 1 node7 3 node8"
    assert_equal "$(values '[.traceEvents[] | select(.name == "process_name") | .pid] | unique | length' job.json)" 8
    assert_equal "$(values '[.traceEvents[] | select(.cat == "kernel") | .args.device] | unique | length' job.json)" 4
    assert_equal "$(jq -r '.traceEvents[] | select(.name == "process_name") | .args.name' job.json | head -1)" "rank 0 (node7): app"
    assert_equal "$(values '.gputrace.losses.spool_dropped' job.json)" 10
}

@test "merge: what the report says of ranks and their communication is the same of the merged trace" {
    "$build/make_job" -n 4 -H 1 -t 2 -s 6 job >/dev/null
    "$gputrace" merge -q job -o job.pftrace
    for section in ranks comm; do
        run jq -e --arg section "$section" '.[$section] | length > 1' <<<"$("$gputrace" report -r "$section" --top=0 --format=json job.pftrace)"
        assert_success
        assert_equal "$("$gputrace" report -r "$section" --top=0 --format=csv job.pftrace)" \
            "$("$gputrace" report -r "$section" --top=0 --format=csv job/rank*.pftrace)"
    done
}

@test "merge: many traces need few open files" {
    "$build/make_job" -n 100 -H 2 -s 1 job >/dev/null
    ulimit -n 32
    merge job -o job.pftrace
    assert_success
    assert_regex "${stderr_lines[-1]}" "events of 100 traces, 100 ranks, 2 hosts in 'job.pftrace'"
}

@test "merge: Perfetto's importer keeps processes and threads of equal numbers apart" {
    need_perfetto
    job
    for ending in json pftrace; do
        "$gputrace" merge -q r*.json -o "job.$ending"
        assert_equal "$(perfetto "job.$ending" "select count(*) from stats where severity = 'error' and value > 0")" 0
        assert_equal "$(perfetto "job.$ending" "select count(*) from slice where name in ('step', 'k()', 'cudaLaunchKernel')")" 12
        assert_equal "$(perfetto "job.$ending" "select count(*) from flow")" 4
        assert_equal "$(perfetto "job.$ending" "select count(distinct upid) from thread where tid = 100")" 4
    done
}
