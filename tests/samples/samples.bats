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
    [ -z "${GPUTRACE_KEEP_TRACES-}" ] || keep "$GPUTRACE_KEEP_TRACES/$(tr -c "a-zA-Z0-9_\n" - <<<"${sample:-$BATS_TEST_DESCRIPTION}" | sed "s/^-*//")"
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

# Each argument: options of gputrace, a sample, and its arguments.
trace_each() {
    local sample words i
    for sample; do
        echo "--- $sample"
        read -ra words <<<"$sample"
        for i in "${!words[@]}"; do [[ ${words[i]} = -* ]] || break; done
        words[i]=$samples/${words[i]}
        traces "${words[@]}"
    done
}

@test "the trace of each sample holds what the sample says" {
    trace_each vector_add streams_events devices leaking memory launches launches_per_thread pooled compile \
        'launch_loop 20000' 'launch_loop 20000 --threads 8'
}

@test "the trace of each NVTX sample holds what the sample says" {
    trace_each nvtx nvtx_payload nvtx_schemas nvtx_memory nvtx_memory_cuda nvtx_cpp '--trace=all,event-times nvtx_all'
}

@test "samples with the static CUDA runtime" {
    needs_gpu "the static runtime asks the driver for more than the simulated one has"
    trace_each vector_add_static graphs_static
}

@test "capture: everything, with a pause, by cudaProfilerStart and Stop, by an NVTX range, also of a domain" {
    trace_each 'capture all' 'capture pause' '--capture-range=cudaProfilerApi capture cudaProfilerApi' \
        '--capture-range=nvtx:middle capture nvtx' '--capture-range=nvtx:middle@samples capture nvtx-domain'
}

@test "vector_add, written with gzip" {
    trace=$trace.gz
    traces "$samples/vector_add"
    gzip -t "$trace"
}

# CUPTI takes a question, which does not wait, for synchronisation as well; times, handles and ids differ from run to run:
# the number of calls between them shows which record was waited for.
waits() { # TRACE
    jq -c '[.traceEvents[] | select(.name == "cudaEventQuery" or .name == "cudaStreamQuery") | .args.correlation] as $questions
        | [.traceEvents[] | select(.ph == "X")] as $slices
        | ([.traceEvents[] | select(.cat == "cuda_runtime") | {key: "\(.args.correlation)", value: .name}] | from_entries) as $calls
        | [$slices[] | select(.cat == "cuda_sync") | select(.args.correlation as $id | $questions | index($id) | not) | .args
            | [.cuda_sync_kind, .device, .context, .stream, .wait_on_stream, $calls["\(.correlation)"],
               (.correlation as $to | (.wait_on_cuda_event_record_corr_id // $to) as $from
                   | [$calls | keys[] | tonumber | select(. > $from and . <= $to)] | length),
               $calls["\(.wait_on_cuda_event_record_corr_id)"]]] | sort[]' "$1"
}

@test "API calls that only ask are in the trace with --trace=api-all alone" {
    traces --trace=api-all "$samples/streams_events"
    traces --trace=api-all "$samples/driver"
    jq -e '.gputrace.options.trace | index("api-all")' "$trace"
    jq -e '.gputrace.options.api_calls == "all"' "$trace"
    run -0 "$gputrace" report -r overview "$trace"
    refute_line --regexp '^ *API calls .*without queries'
}

@test "the trace and the overview say that API calls are without queries" {
    traces "$samples/driver"
    jq -e '.gputrace.options.api_calls == "without queries"' "$trace"
    run -0 "$gputrace" report -r overview "$trace"
    assert_line --regexp '^ *API calls +[0-9]+ +without queries \(recorded by --trace=api-all\)$'
}

@test "streams_events: waits are the same whether CUPTI or the library recorded them" {
    traces --trace=api-all "$samples/streams_events"
    waits "$trace" >own
    traces --trace=api-all,event-times "$samples/streams_events"
    waits "$trace" >of_cupti
    [ "$(wc -l <own)" -ge 127 ]
    grep -q '"cudaEventRecord"' own
    diff own of_cupti
}

@test "conditional: what bodies of conditional nodes do belongs to the launch of the graph" {
    traces "$samples/conditional"
    jq -e '[.traceEvents[] | select(.name == "cudaGraphLaunch").args.correlation] as $calls
        | [.traceEvents[] | select(.args["graph id"])] | length == 25 and all(.args.correlation | IN($calls[]))' trace.json
    jq -e .gputrace.losses.unmatched_flows==0 trace.json
    # In the order of the GPU: the operations of each launch are together.
    jq -e '[.traceEvents[] | select(.args["graph id"])] | sort_by(.ts) | [.[].args.correlation]
        | . == sort' trace.json
}

# With event-times waits come from CUPTI's records, which contain captured ones as well.
@test "graphs: captured calls are not waits" {
    traces "$samples/graphs"
    jq -e '[.traceEvents[] | select(.name == "cudaStreamWaitEvent")] | length > 0' "$trace"
    jq -e '[.traceEvents[] | select(.cat == "cuda_sync" and .name == "Stream Wait Event")] | length == 0' "$trace"
}

@test "graphs, one slice for each launch" {
    record --graph=graph "$samples/graphs"
    # What the nodes did is not in this trace; the calls are.
    sed -i -E '/^expect (kernel|graph-kernels|memcpy|memcpys|memset|kernels) /d' statement
    printf 'expect %s\n' "graphs 12" "kernels 0" "memcpys 0" "memset 0" "flows 12" >>statement
    judge
}

@test "threads" {
    traces "$samples/threads"
    jq -e '[.traceEvents[] | select(.name == "process_name") | .args.name] | any(contains("the workers\u0027 GPU"))' "$trace"
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

@test "leaking, with the call stacks of its allocations" {
    traces --backtrace "$samples/leaking"
    [ "$(jq '[.traceEvents[] | select(.cat == "memory" and .args.stack == null and (.name | startswith("Allocate")))] | length' "$trace")" -eq 0 ]
}

# Migrations that the program asked for have all its bytes; a real GPU also has those of page faults.
@test "managed: migrations and page faults are on a row of the GPU" {
    traces --trace=all,unified-memory "$samples/managed"
    jq -e --arg simulated "${simulated-}" '
        [.traceEvents[] | select(.cat == "unified_memory")] as $events
        | def sum($name): [$events[] | select(.name == $name and .args.reason == "user") | .args.bytes] | add;
        sum("Unified Memory memcpy HtoD") == 4194304 and sum("Unified Memory memcpy DtoH") == 4194304
        and ([$events[] | .args.address | startswith("0x")] | all)
        and ($simulated != "" or ([$events[].name] | contains(["GPU Page Fault", "CPU Page Fault"])))
        and ([$events[] | "\(.pid) \(.tid)"] - [.traceEvents[] | select(.name == "thread_name"
              and (.args.name | startswith("unified memory"))) | "\(.pid) \(.tid)"] == [])' trace.json
    "$gputrace" report -r all trace.json >report
}

@test "managed: a GPU whose unified memory cannot be recorded gets one line, and the rest of the trace" {
    [ -n "${simulated-}" ] || skip 'only the simulated GPU can be told to'
    SIMGPU_NO_UNIFIED_MEMORY=1 traces --trace=all,unified-memory "$samples/managed"
    assert_equal "$(grep -c 'unified memory is not recorded: ' words)" 1
    traces "$samples/managed"
    run ! grep -q unified words
}

# The callbacks that the plugin `calls` counted are what the program did; the whole table is shown if not.
tells() { # PROGRAM
    record --plugin="$build/samples/plugins/calls.so,file=calls" "$1"
    "$check_trace" --quiet --strict "$trace" || {
        show
        return 1
    }
    "$BATS_TEST_DIRNAME/compare_calls" statement calls >table || {
        cat table
        show
        return 1
    }
}

@test "callbacks: each kind comes as often as the program did it" {
    tells "$samples/callbacks"
}

@test "callbacks with a default stream for each thread" {
    tells "$samples/callbacks_per_thread"
    grep -q '^expect call memcpy cuMemcpyHtoD_v2_ptds ' statement
}

@test "a callback too many, one too few, and one about a failure are differences" {
    local compare=$BATS_TEST_DIRNAME/compare_calls
    printf 'expect call %s\n' 'memset cuMemsetD8_v2 2 failed 1' 'memcpy a|b 3..4 failed 0' 'memcpy b 1 failed 0' >said
    printf '%s\n' 'memset cuMemsetD8_v2 2 failed 1' 'memcpy a 3' 'memcpy b 2' 'process_end - 1' >counted
    run -0 "$compare" said counted
    assert_line --partial 'process_end'
    local change
    for change in 's/a 3/a 4/' 's/b 2/b 5/' 's/a 3/a 1/' 's/failed 1/failed 2/' 's/ failed 1//' 's/D8_v2 2/D8_v2 2 not ready 1/' \
        's/memcpy a 3/memcpy c 3/' '/memset/d'; do
        sed "$change" counted >changed
        run -1 "$compare" said changed
        assert_line --partial '<--'
    done
    echo 'memcpy b many' >changed
    run -2 "$compare" said changed
}

@test "nvtx_deferred" {
    traces "$samples/nvtx_deferred"
    # Each range was, by its own clock, within the time of the one around all; eight come one after another, with a rest
    # in each and after it.
    jq -e '[.traceEvents[] | select(.ph == "X" and .cat == "user_annotation")]
        | (.[] | select(.name == "all")) as $all
        | length > 2000 and all(.ts >= $all.ts and .ts + .dur <= $all.ts + $all.dur)' trace.json
    jq -e '[.traceEvents[] | select(.ph == "X" and (.args.payload.begin? // 0) > 0 and .name != "job")]
        | length == 8 and all(.dur > 250)
        and ([range(1; length) as $i | .[$i].ts - (.[$i - 1].ts + .[$i - 1].dur)] | all(. > 250))' trace.json
}

@test "nvtx_counters" {
    traces "$samples/nvtx_counters"
    jq -e '.gputrace.nvtx_counters[] | select(.name | startswith("payloads: temperature"))
        | .series[0] == {name: "value", unit: "°C", min: -20, max: 95.5, value_type: "absolute", interpolation: "linear"}' \
        trace.json
}

@test "nvtx_all, its domains one by one" {
    # The end of a range has no domain.
    local domains='[.traceEvents[] | select(.cat == "user_annotation" and .ph != "e") | .args.domain] | unique'
    record --nvtx-domains=everything "$samples/nvtx_all"
    jq -e "$domains == [\"everything\"]" "$trace"
    jq -e '[.gputrace.nvtx_resources[].domain] | unique == ["everything"]' "$trace"
    jq -e '.gputrace.options.nvtx_domains == "everything"' "$trace"
    record --nvtx-exclude=everything "$samples/nvtx_all"
    jq -e "$domains == [null]" "$trace"
    jq -e '[.gputrace.nvtx_resources[].domain] | unique == [null]' "$trace"
    record --nvtx-domains=everything,default --nvtx-exclude=everything "$samples/nvtx_all"
    jq -e "$domains == [null]" "$trace"
    record --nvtx-domains=nobody "$samples/nvtx_all"
    jq -e "$domains == []" "$trace"
    # Whatever is left out, threads and CUDA's objects have their names.
    grep -q 'der Strom' "$trace"
    "$check_trace" --quiet "$trace"
}

@test "nvtx_all, the same ranges on the GPU by its calls as in its rows" {
    record "$samples/nvtx_all"
    "$BATS_TEST_DIRNAME/compare_annotations" "$trace" "$trace"
    # The report finds by calls what the rows say.
    local by_rows='[.traceEvents[] | select(.cat == "gpu_user_annotation")] | group_by(.name)
        | map({name: .[0].name, count: length, ns: (map(.dur * 1000 | round) | add)})'
    "$gputrace" report -r nvtx --format=json "$trace" | jq '.["nvtx-gpu"] | map(select(.kind != "outside"))
        | group_by(.name) | map({name: .[0].name, count: (map(.count) | add), ns: (map(.gpu_span_ns) | add)})' >by_calls
    jq "$by_rows" "$trace" | diff - by_calls
}

@test "annotations of another count, place or length are differences" {
    local compare=$BATS_TEST_DIRNAME/compare_annotations change
    gzip -dc "$root/tests/data/kineto/kineto-train-h200.json.gz" >kineto.json
    run -0 "$compare" kineto.json kineto.json
    assert_line --regexp '^ *3 +3 +24 .* forward$'
    for change in '(.traceEvents[] | select(.cat == "gpu_user_annotation" and .name == "forward") | .dur) += 1' \
        'del(.traceEvents[] | select(.cat == "gpu_user_annotation" and .name == "backward"))' \
        '(.traceEvents[] | select(.cat == "kernel") | .dur) *= 2' \
        '(first(.traceEvents[] | select(.cat == "user_annotation" and .name == "forward")) | .name) = "other"' \
        'del(first(.traceEvents[] | select(.cat == "kernel")))'; do
        jq "$change" kineto.json >changed.json
        run -1 "$compare" changed.json kineto.json
    done
}

@test "no_cuda" {
    traces "$samples/no_cuda"
    grep -q "warning: .*CUDA" words || {
        echo "no warning that there was nothing to record"
        show
        return 1
    }
}

# CUPTI 13.0 mixed up correlation ids when its API records were switched while threads made calls.
@test "capture_threads: each kernel belongs to its own call, however often recording starts and stops" {
    local interval
    for interval in 200 40; do
        traces --capture-range=cudaProfilerApi --flush-interval=$interval "$samples/capture_threads"
        jq -e '.gputrace.losses.before_launch == 0' "$trace"
        jq -e '[.traceEvents[] | select(.cat == "kernel") | .args.correlation] | length == (unique | length)' "$trace"
    done
}

@test "capture by gputrace.h" {
    traces --capture-range=api "$samples/capture" api
    grep -q '^active at the end: 0$' statement
}

# Both what was stated and what the GPU did. Other tests have their turns on a real GPU meanwhile; in three runs these do
# not come between the same two things.
has_ranges() { # [OPTION...] PROGRAM
    ranges_are_held traces "$@"
}

ranges_are_held() { # HOW [OPTION...] PROGRAM
    local how=$1 run most=1
    local -a runs=()
    shift
    [ -n "${simulated-}" ] || most=3
    for ((run = 1; run <= most; run++)); do
        "$how" "$@"
        cp "$trace" "run$run.json"
        runs+=("run$run.json")
        "$BATS_TEST_DIRNAME/check_device_ranges" "${runs[@]}" >ranges && return 0
    done
    cat ranges
    show
    return 1
}

event_moments() { # COUNT
    jq -e --argjson count "$1" '[.traceEvents[] | select(.cat == "cuda_event")] | length == $count' "$trace"
    jq -e '.gputrace.losses.untimed_ranges == 0' "$trace"
}

@test "device_ranges" {
    has_ranges "$samples/device_ranges"
    event_moments 0
    run grep -c 'is not recorded: its stream, or one that it would wait for, is being captured' words
    assert_output 1
}

# "CUDA Event Record" of what marks a range would be one too many: the program itself records one event.
@test "device_ranges, and when the GPU came to the program's own event" {
    has_ranges --trace=all,event-times "$samples/device_ranges"
    event_moments 1
}

@test "device_ranges on eight devices" {
    [ -n "${simulated-}" ] || skip "has a GPU, and the devices there are were tested"
    SIMGPU_DEVICES=8 has_ranges "$samples/device_ranges"
    grep -q '^expect device-range "outer: 3 kernels" 18$' statement
}

@test "device_ranges, where nothing else but kernels is recorded" {
    kernels_alone() {
        record --trace=kernel "$@"
        sed -i -E '/^expect (api|sync) /d' statement
        "$check_trace" --quiet --expect statement "$trace"
    }
    ranges_are_held kernels_alone "$samples/device_ranges"
    jq -e '[.traceEvents[] | select(.ph != "M") | .cat] | unique == ["capture", "gpu_user_annotation", "kernel"]' "$trace"
}

@test "device_ranges: a plugin gets callbacks for the program's own event alone" {
    heard_by_plugin() {
        record --plugin="$build/samples/plugins/calls.so,file=calls" "$@"
        run -0 awk '$1 ~ /^event_(creation|record)$/ { sum[$1] += $3 } END { print sum["event_creation"], sum["event_record"] }' calls
        assert_output "1 1"
        judge
    }
    ranges_are_held heard_by_plugin "$samples/device_ranges"
}

@test "device ranges without times, of a CUPTI older than CUDA 12.8, are left out, counted and reported" {
    [ -n "${simulated-}" ] || skip "needs an older CUPTI"
    SIMGPU_CUPTI_VERSION=18 record "$samples/device_ranges"
    local ranges
    ranges=$(awk '/^expect device-ranges / { print $3 }' statement)
    jq -e "[.traceEvents[] | select(.cat == \"gpu_user_annotation\")] == [] and .gputrace.losses.untimed_ranges == $ranges" \
        "$trace"
    grep -q "$ranges device ranges without times" words
}

@test "device ranges outside of the capture range are left out" {
    record --capture-range=cudaProfilerApi "$samples/device_ranges"
    jq -e '[.traceEvents[] | select(.cat == "gpu_user_annotation")] == []' "$trace"
    jq -e '.gputrace.losses.untimed_ranges == 0' "$trace"
}

@test "a device range that was wrongly placed is found" {
    record "$samples/device_ranges"
    local change
    # Moved by 5 us at its start, at its end, and onto the row of another stream.
    for change in '.ts -= 5 | .dur += 5' '.dur += 5' '.tid += 1'; do
        jq "(.traceEvents |= (to_entries | (map(select(.value.name == \"passed on: 1 kernels\"))[0].key) as \$i
            | map(.value) | .[\$i] |= ($change)))" "$trace" >changed.json
        run -1 "$BATS_TEST_DIRNAME/check_device_ranges" changed.json
        assert_line --partial "'passed on: 1 kernels'"
    done
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
    printf 'expect %s\n' "processes 2" "kernel vector_add 32" "kernels 32" "api cudaLaunchKernel 32" "flows 134" \
        >statement
    judge
}

@test "samples run as well without gputrace, and the statement is the same" {
    "$samples/vector_add" >alone
    "$samples/capture" api >>alone
    "$samples/nvtx" >>alone
    "$samples/device_ranges" >>alone
    record "$samples/vector_add"
    cp statement traced
    record --capture-range=api "$samples/capture" api
    cat statement >>traced
    record "$samples/nvtx"
    cat statement >>traced
    record "$samples/device_ranges"
    cat statement >>traced
    diff alone traced
}

@test "train.py, and the same kernels as torch.profiler sees" {
    python3 -c 'import torch, sys; sys.exit(not torch.cuda.is_available())' 2>/dev/null ||
        skip "needs PyTorch and a GPU"
    traces --capture-range=cudaProfilerApi python3 "$samples/train.py" --steps 50
    python3 "$samples/train.py" --steps 50 --profile profile.json --kineto kineto.json
    "$BATS_TEST_DIRNAME/compare_kernels" "$trace" profile.json
    "$BATS_TEST_DIRNAME/compare_annotations" "$trace" kineto.json
    traces --capture-range=cudaProfilerApi --trace=all,torch python3 "$samples/train.py" --steps 50
    "$BATS_TEST_DIRNAME/compare_operators" "$trace" kineto.json
}

@test "operators of another count, number or GPU time are differences" {
    local compare=$BATS_TEST_DIRNAME/compare_operators change
    gzip -dc "$root/tests/data/kineto/kineto-train-h200.json.gz" >kineto.json
    run -0 "$compare" kineto.json kineto.json
    assert_line '387 and 387 operators, 21 and 21 flows, 1743.2 and 1743.2 us on the GPU: equal'
    for change in 'del(first(.traceEvents[] | select(.cat == "cpu_op")))' \
        '(first(.traceEvents[] | select(.args."Sequence number")) | .args) |= del(."Sequence number")' \
        'del(first(.traceEvents[] | select(.cat == "fwdbwd" and .ph == "s")))' \
        '(.traceEvents[] | select(.cat == "kernel") | .dur) *= 2' \
        'del(first(.traceEvents[] | select(.cat == "kernel")))'; do
        jq "$change" kineto.json >changed.json
        run -1 "$compare" changed.json kineto.json
    done
}

@test "the trace has the structure of the one that was recorded on an H200" {
    shopt -s nullglob
    local recorded=("$BATS_TEST_DIRNAME"/../data/structure/*.txt) name
    [ ${#recorded[@]} -gt 0 ] || skip "there are no structures in tests/data/structure"
    for file in "${recorded[@]}"; do
        name=$(basename "$file" .txt)
        record --trace=api-all,event-times "$samples/$name"
        "$BATS_TEST_DIRNAME/compare_structure" "$trace" | diff "$file" - || {
            echo "(of $name: < on the H200, > here)"
            return 1
        }
    done
}
