#!/usr/bin/env bats
# Traces in another format: Perfetto reads the same events as there are in the JSON, and nothing is lost
# on the way there and back.

load common

data=$root/tests/data
check_pftrace=$root/tests/tools/check_pftrace

# The spool NAME of an H200 in ./spool.
take_spool() { # NAME
    mkdir spool
    gzip -dc "$data/h200/$1.spool.gz" >spool/1-0.spool
    cp "$data/h200/$1.session.json" spool/session.json
}

# All but the file's own name, which is in it. Some versions of jq print numbers as they were written: 2.000 for 2.
same_events() { # ONE.json OTHER.json
    local events='del(.traceName) | walk(if type == "number" then . + 0 else . end) | .traceEvents |= sort'
    diff <(jq -S "$events" "$1") <(jq -S "$events" "$2")
}

both_ways() { # NAME
    take_spool "$1"
    run -0 "$gputrace" convert spool trace.json
    run -0 "$gputrace" convert spool trace.pftrace
    "$check_pftrace" trace.pftrace trace.json
    run -0 "$gputrace" convert trace.pftrace back.json
    refute_output --partial 'left out'
    same_events trace.json back.json
    run -0 "$gputrace" convert trace.json other.pftrace
    refute_output --partial 'left out'
    "$check_pftrace" other.pftrace trace.json
    run -0 "$gputrace" convert other.pftrace again.json
    same_events trace.json again.json
}

@test "vector_add" { both_ways vector_add; }
@test "graphs" { both_ways graphs; }
@test "memory" { both_ways memory; }
@test "streams_events" { both_ways streams_events; }
@test "two training steps with PyTorch" { both_ways train; }
@test "vector_add, recorded with CUPTI 11.8" { both_ways vector_add-cupti-11.8; }

# The flow events of a trace, in an order of their own: the ids alone may differ.
flows_of() { # TRACE.json
    jq -c '[.traceEvents[] | select(.ph == "s" or .ph == "f")] | group_by(.id) | map((map(select(.ph == "s"))[0]) as $call
            | map(select(.ph == "f"))[] | [$call.pid, $call.tid, $call.ts, .pid, .tid, .ts]) | sort | .[]' "$1"
}

# The trace with its flows as members of the slices they connect, as other programs write them.
with_flows_on_slices() { # TRACE.json
    jq '([.traceEvents[] | select(.ph == "s" or .ph == "f")] | group_by(.id)
            | map({("\(.[1].pid) \(.[1].tid) \(.[1].ts)"): 1, ("\(.[0].pid) \(.[0].tid) \(.[0].ts)"): 1}) | add) as $ends
        | .traceEvents |= map(select(.ph != "s" and .ph != "f")
            | if .ph == "X" and .args.correlation and $ends["\(.pid) \(.tid) \(.ts)"]
              then .bind_id = .args.correlation | if .cat | startswith("cuda_") then .flow_out = true else .flow_in = true end
              else . end)' "$1"
}

@test "flows that are members of slices become flow events" {
    take_spool graphs # where several GPU operations have one call
    "$gputrace" convert -q spool events.json
    with_flows_on_slices events.json >slices.json
    [ "$(jq '[.traceEvents[] | select(.ph == "s" or .ph == "f")] | length' slices.json)" = 0 ]
    run -0 "$gputrace" convert slices.json made.json
    refute_output --partial 'left out'
    diff <(flows_of events.json) <(flows_of made.json)
    [ "$(flows_of made.json | wc -l)" -gt 0 ]
    "$check_trace" --quiet --strict made.json # each flow has an id of its own
    run -0 "$gputrace" convert slices.json made.pftrace
    refute_output --partial 'left out'
    "$check_pftrace" made.pftrace made.json
}

@test "flow_in and flow_out that do not link a call to a GPU operation are left out" {
    cat >trace.json <<'END'
{"baseTimeNanoseconds": 1000, "traceEvents": [
{"ph":"X","cat":"cuda_runtime","name":"a","pid":5,"tid":6,"ts":1.000,"dur":1.000,"bind_id":7,"flow_out":true},
{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":3.000,"dur":1.000,"args":{"correlation":7},"bind_id":7,"flow_in":true},
{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":4.000,"dur":1.000,"bind_id":7,"flow_in":false},
{"ph":"X","cat":"other","name":"b","pid":5,"tid":6,"ts":2.000,"dur":1.000,"bind_id":8,"flow_out":true},
{"ph":"X","cat":"cuda_runtime","name":"c","pid":5,"tid":6,"ts":3.000,"dur":1.000,"bind_id":"0x9","flow_out":true},
{"ph":"X","cat":"cuda_runtime","name":"d","pid":5,"tid":6,"ts":4.000,"dur":1.000,"bind_id":10,"flow_out":true,"flow_in":true},
{"ph":"X","cat":"cuda_runtime","name":"e","pid":5,"tid":6,"ts":5.000,"dur":1.000,"flow_out":true}
]}
END
    run -0 "$gputrace" convert trace.json made.json
    assert_output --partial ': 4 events are left out'
    assert_equal "$(jq -c '[.traceEvents[] | select(.ph != "X") | [.ph, .id]]' made.json)" '[["s",7],["f",7]]'
}

@test "--flows is not an option" {
    run -2 "$gputrace" convert --flows=slices spool trace.json
    assert_output --partial "no option '--flows"
}

@test "the checker reports what is broken" {
    take_spool vector_add
    "$gputrace" convert -q spool trace.json
    "$gputrace" convert -q spool trace.pftrace
    jq '(.traceEvents[] | select(.ph == "X") | .dur) |= . + 1' trace.json | sed -E 's/("(ts|dur)": [0-9]+),/\1.000,/' >other.json
    run -1 "$check_pftrace" trace.pftrace other.json
    assert_output --partial 'broken: '
    head -c -1 trace.pftrace >cut.pftrace
    run -1 "$check_pftrace" cut.pftrace
    assert_output --partial 'longer than its message'
}

@test "the output's name decides about gzip, the input's content shows it" {
    take_spool vector_add
    "$gputrace" convert -q spool trace.pftrace.gz
    gzip -t trace.pftrace.gz
    "$check_pftrace" trace.pftrace.gz
    "$gputrace" convert -q spool trace.json.gz
    "$check_pftrace" trace.pftrace.gz trace.json.gz
    mv trace.pftrace.gz trace
    "$gputrace" convert -q trace back.json.gz
    same_events <(gzip -dc trace.json.gz) <(gzip -dc back.json.gz)
}

# A .pftrace.gz holds what a .pftrace compresses section by section, as earlier versions wrote it.
@test "a .pftrace is compressed, and one that is not is read as well" {
    take_spool train
    "$gputrace" convert -q spool trace.json
    "$gputrace" convert -q spool trace.pftrace
    "$gputrace" convert -q spool trace.pftrace.gz
    gzip -dc trace.pftrace.gz >plain.pftrace
    (($(stat -c %s trace.pftrace) < $(stat -c %s plain.pftrace) / 2))
    local trace
    for trace in trace plain; do
        "$check_pftrace" $trace.pftrace trace.json
        run -0 "$gputrace" convert --force $trace.pftrace back.json
        refute_output --partial 'left out'
        same_events trace.json back.json
        "$gputrace" report --format=csv $trace.pftrace | sed "s/$trace.pftrace//" >$trace.csv
    done
    [ "$(wc -l <trace.csv)" -gt 20 ]
    diff trace.csv plain.csv
}

@test "a .pftrace that ends within a section is read up to it; a damaged one is an error" {
    take_spool train
    "$gputrace" convert -q spool trace.pftrace
    head -c -5 trace.pftrace >cut.pftrace
    run -0 "$gputrace" convert cut.pftrace cut.json
    assert_output --partial "'cut.pftrace' is cut off at byte"
    [ "$(jq '[.traceEvents[] | select(.ph == "M")] | length' cut.json)" -gt 4 ]
    run -0 "$gputrace" report -r all cut.pftrace
    assert_output --partial "'cut.pftrace' is cut off at byte"
    (head -c -11 trace.pftrace && printf wrong && tail -c 6 trace.pftrace) >damaged.pftrace # the last packet has 6 bytes
    run -1 "$gputrace" convert damaged.pftrace out.json
    assert_output --regexp "'damaged.pftrace' is damaged: the compressed packet at byte [0-9]+ cannot be unpacked"
    [ ! -e out.json ]
    run -1 "$gputrace" report -r all damaged.pftrace
    assert_output --regexp "'damaged.pftrace' is damaged: the compressed packet at byte [0-9]+ cannot be unpacked"
    run -1 "$check_pftrace" damaged.pftrace
    assert_output --partial 'broken: compressed packets'
}

@test "a .pftrace is recognised, however long its first metadata are" {
    local length
    for ((length = 1; length < 130; length++)); do
        printf '{"a":"%*s","traceEvents":[]}' "$length" x >trace.json
        "$gputrace" convert -q --force trace.json trace.pftrace
        run -0 "$gputrace" convert --force trace.pftrace back.json
        assert_equal "$(jq -r .a back.json | tr -d '\n' | wc -c)" "$length"
    done
}

@test "the .pftrace of many launches is smaller than its .json.gz" {
    "$gputrace" run -q -o trace.pftrace "$samples/launch_loop" 20000
    "$gputrace" convert -q trace.pftrace trace.json.gz
    (($(stat -c %s trace.pftrace) < $(stat -c %s trace.json.gz)))
    "$check_pftrace" trace.pftrace trace.json.gz
}

@test "a trace of PyTorch's profiler keeps its events" {
    run -0 "$gputrace" convert "$data/kineto/kineto-train-h200.json.gz" trace.pftrace
    refute_output --partial 'left out'
    "$check_pftrace" --lone-flows trace.pftrace
    "$gputrace" convert -q trace.pftrace back.json
    local slices='[.traceEvents[] | select(.ph == "X") | [.cat, .name, .ts, .dur, .args]] | sort'
    diff <(gzip -dc "$data/kineto/kineto-train-h200.json.gz" | jq -S "$slices") <(jq -S "$slices" back.json)
    # those to kernels, to synchronisation and between operators
    local flows='[.traceEvents[] | select(.ph == "s" or .ph == "f") | [.ph, .cat, .id, .pid, .tid, .ts]] | sort'
    diff <(gzip -dc "$data/kineto/kineto-train-h200.json.gz" | jq -S "$flows") <(jq -S "$flows" back.json)
}

@test "flows to slices of synchronisation and between operators are kept in a .pftrace" {
    cat >trace.json <<'END'
{"traceEvents": [
{"ph": "X", "name": "Stream Sync", "pid": 0, "tid": 7, "ts": 22, "dur": 9, "cat": "cuda_sync", "args": {"stream": 7, "correlation": 1}},
{"ph": "f", "id": 1, "pid": 0, "tid": 7, "ts": 22, "cat": "ac2g", "name": "ac2g", "bp": "e"},
{"ph": "X", "name": "cudaStreamSynchronize", "pid": 100, "tid": 100, "ts": 20, "dur": 11, "cat": "cuda_runtime", "args": {"correlation": 1}},
{"ph": "s", "id": 1, "pid": 100, "tid": 100, "ts": 20, "cat": "ac2g", "name": "ac2g"},
{"ph": "X", "name": "aten::mul", "pid": 100, "tid": 100, "ts": 0, "dur": 10, "cat": "cpu_op"},
{"ph": "s", "id": 1, "pid": 100, "tid": 100, "ts": 0, "cat": "fwdbwd", "name": "fwdbwd"},
{"ph": "X", "name": "MulBackward0", "pid": 100, "tid": 101, "ts": 50, "dur": 10, "cat": "cpu_op"},
{"ph": "f", "id": 1, "pid": 100, "tid": 101, "ts": 50, "cat": "fwdbwd", "name": "fwdbwd", "bp": "e"}
]}
END
    run -0 "$gputrace" convert trace.json trace.pftrace
    refute_output --partial 'left out'
    "$check_pftrace" trace.pftrace
    "$gputrace" convert -q trace.pftrace back.json
    local flows='[.traceEvents[] | select(.ph == "s" or .ph == "f") | del(.bp)] | sort_by(.cat, .ph) | '"$plain_numbers"
    diff <(jq -S "$flows" trace.json) <(jq -S "$flows" back.json)
}

@test "a .pftrace says which resources limit a kernel's occupancy, and how many waves its grid takes" {
    cat >trace.json <<'END'
{"deviceProperties": [{"id": 0, "name": "NVIDIA H100", "computeMajor": 9, "computeMinor": 0, "warpSize": 32,
  "maxThreadsPerMultiprocessor": 2048, "numSms": 132, "regsPerMultiprocessor": 65536, "sharedMemPerMultiprocessor": 233472}],
"traceEvents": [
{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 1, "dur": 5, "args": {"device": 0, "context": 1, "stream": 7,
  "registers per thread": 64, "shared memory": 34816, "dynamic shared memory": 32768, "shared memory config": 102400,
  "grid": [264, 1, 1], "block": [16, 16, 1]}},
{"ph": "X", "cat": "kernel", "name": "plain", "pid": 0, "tid": 7, "ts": 9, "dur": 5, "args": {"device": 0, "context": 1, "stream": 7,
  "registers per thread": 16, "shared memory": 0, "grid": [2, 3, 4], "block": [64, 1, 1]}},
{"ph": "X", "cat": "kernel", "name": "of a GPU that is not described", "pid": 0, "tid": 7, "ts": 19, "dur": 5, "args": {"device": 1,
  "shared memory": 512, "grid": [1, 1, 1], "block": [64, 1, 1]}}
]}
END
    "$gputrace" convert -q trace.json trace.pftrace
    "$check_pftrace" --kernels trace.pftrace >kernels
    # 8 warps a block: 64 of a multiprocessor / 8; 32 warps fit the registers; 35,840 of 233,472 bytes each
    run -0 jq -c '[.occupancy_limit_warps, .occupancy_limit_blocks, .occupancy_limit_registers, .occupancy_limit_shared_mem,
        .waves_per_multiprocessor, .sm__maximum_warps_per_active_cycle_pct, .shared_mem_static, .shared_mem_dynamic,
        .shared_mem_config_size, .registers_per_thread] | '"$plain_numbers" kernels
    assert_line --index 0 '[8,32,4,6,0.5,50,2048,32768,102400,64]'
    assert_line --index 1 --partial '[32,32,64,228,' # 2 warps a block: 128 warps fit the registers
    assert_line --index 2 '[null,null,null,null,null,null,null,null,null,null]'
    "$gputrace" convert -q trace.pftrace back.json
    local args='[.traceEvents[] | select(.ph == "X") | .args] | sort'
    diff <(jq -S "$args" trace.json) <(jq -S "$args" back.json)
}

@test "a counter keeps its values, however many they are" {
    jq -nc '{traceEvents: [{ph: "C", name: "many", pid: 1, tid: 0, ts: 5,
        args: ([range(200) | {key: "v\(.)", value: .}] | from_entries)}]}' >many.json
    "$gputrace" convert -q many.json many.pftrace
    "$gputrace" convert -q many.pftrace back.json
    for trace in many back; do
        jq -cS '[.traceEvents[] | select(.ph == "C")] | map(.name, .args)' $trace.json >$trace
    done
    assert_equal "$(<back)" "$(<many)"
}

@test "an NVTX range that begins when a call ends ends its own slice" {
    cat >trace.json <<'END'
{"baseTimeNanoseconds": 1000, "traceEvents": [
{"ph":"M","name":"process_name","pid":5,"tid":5,"ts":0.000,"args":{"name":"app"}},
{"ph":"M","name":"thread_name","pid":5,"tid":6,"ts":0.000,"args":{"name":"t"}},
{"ph":"X","cat":"user_annotation","name":"range","pid":5,"tid":6,"ts":3.000,"dur":6.000},
{"ph":"X","cat":"user_annotation","name":"next","pid":5,"tid":6,"ts":9.000,"dur":1.000},
{"ph":"X","cat":"cuda_runtime","name":"a","pid":5,"tid":6,"ts":1.000,"dur":2.000},
{"ph":"X","cat":"cuda_runtime","name":"b","pid":5,"tid":6,"ts":3.000,"dur":6.000},
{"ph":"X","cat":"cuda_runtime","name":"none","pid":5,"tid":6,"ts":9.000,"dur":0.000},
{"ph":"X","cat":"cuda_runtime","name":"c","pid":5,"tid":6,"ts":9.000,"dur":1.000}
]}
END
    "$gputrace" convert -q trace.json trace.pftrace
    "$check_pftrace" trace.pftrace trace.json
}

# What Perfetto's importer makes of a trace: its counts of errors and losses, then flows, and slices by name.
imported() { # TRACE
    cat >import.sql <<'END'
select 'error', name, value from stats where severity in ('error', 'data_loss') and value > 0
union all select 'flows', count(*), count(distinct slice_in) from flow
union all select * from (select 'slice ' || name, count(*), sum(dur) from slice group by name order by name);
END
    "$TRACE_PROCESSOR" -q import.sql "$1" 2>/dev/null
}

@test "Perfetto's importer finds no error, and the same events as in the JSON" {
    [ -x "${TRACE_PROCESSOR-}" ] || skip "TRACE_PROCESSOR names no trace_processor_shell of Perfetto"
    for sample in vector_add graphs streams_events nvtx nvtx_counters; do
        rm -f ./*.json ./*.pftrace ./*.gz
        "$gputrace" run -q -o trace.json "$samples/$sample"
        "$gputrace" convert -q trace.json trace.pftrace
        "$gputrace" convert -q trace.json trace.pftrace.gz
        imported trace.json >expected
        run -1 grep '^"error",' expected
        grep -q '^"slice ' expected
        diff expected <(imported trace.pftrace)
        diff expected <(imported trace.pftrace.gz)
        "$gputrace" run -q -o direct.pftrace "$samples/$sample"
        imported direct.pftrace >direct
        run -1 grep '^"error",' direct
    done
}

# The questions of google/perfetto's ai/skills/perfetto/workflows/gpu: launch_statistics, occupancy, gpu_info. A .pftrace that
# is cut off has no row of errors there: its slices are counted, too.
@test "Perfetto's importer finds the shapes and limits of kernels, and model and address of the GPU" {
    [ -x "${TRACE_PROCESSOR-}" ] || skip "TRACE_PROCESSOR names no trace_processor_shell of Perfetto"
    cat >trace.json <<'END'
{"deviceProperties": [{"id": 0, "name": "NVIDIA H100", "computeMajor": 9, "computeMinor": 0, "warpSize": 32, "pciBusId": "0000:00:06.0",
  "maxThreadsPerMultiprocessor": 2048, "numSms": 132, "regsPerMultiprocessor": 65536, "sharedMemPerMultiprocessor": 233472}],
"traceEvents": [
{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 1, "dur": 5, "args": {"device": 0, "context": 1, "stream": 7,
  "registers per thread": 64, "shared memory": 34816, "dynamic shared memory": 32768, "grid": [264, 1, 1], "block": [16, 16, 1]}},
{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 11, "dur": 5, "args": {"device": 0, "context": 1, "stream": 7,
  "registers per thread": 64, "shared memory": 34816, "dynamic shared memory": 32768, "grid": [264, 1, 1], "block": [16, 16, 1]}}
]}
END
    "$gputrace" convert -q trace.json trace.pftrace
    cat >ask.sql <<'END'
select 'error', name, value from stats where severity in ('error', 'data_loss') and value > 0
union all select 'slices', count(*), sum(dur) from slice
union all select 'gpu', name || '|' || model || '|' || architecture, pci_bdf from gpu
union all select 'shape', extract_arg(arg_set_id, 'workgroup_size') || ' ' || extract_arg(arg_set_id, 'grid_size'),
  extract_arg(arg_set_id, 'thread_count') from gpu_slice where render_stage_category = 2
union all select 'memory', extract_arg(arg_set_id, 'shared_mem_static') || ' ' || extract_arg(arg_set_id, 'registers_per_thread'),
  extract_arg(arg_set_id, 'shared_mem_dynamic') from gpu_slice where render_stage_category = 2
union all select 'waves', extract_arg(arg_set_id, 'waves_per_multiprocessor'),
  extract_arg(arg_set_id, 'sm__maximum_warps_per_active_cycle_pct') from gpu_slice where render_stage_category = 2
union all select 'limits', extract_arg(arg_set_id, 'occupancy_limit_warps') || ' ' || extract_arg(arg_set_id, 'occupancy_limit_blocks'),
  extract_arg(arg_set_id, 'occupancy_limit_registers') || ' ' || extract_arg(arg_set_id, 'occupancy_limit_shared_mem')
  from gpu_slice where render_stage_category = 2;
END
    "$TRACE_PROCESSOR" -q ask.sql trace.pftrace 2>/dev/null | tail -n +2 | tr -d '"' | sort | uniq -c | sed 's/^ *//' >got
    diff - got <<'END'
1 gpu,NVIDIA H100|NVIDIA H100|Hopper,0000:00:06.0
2 limits,8 32,4 6
2 memory,2048 64,32768
2 shape,256 264,67584
1 slices,2,10000
2 waves,0.500000,50.000000
END
}

@test "run -o NAME.pftrace writes Perfetto's format" {
    run -0 "$gputrace" run -o counters.pftrace "$samples/nvtx_counters"
    "$check_pftrace" counters.pftrace
    run -0 "$gputrace" run -o trace.pftrace "$samples/vector_add"
    "$check_pftrace" trace.pftrace
    "$gputrace" convert -q trace.pftrace trace.json
    "$check_trace" --quiet --strict trace.json
    "$check_pftrace" trace.pftrace trace.json
}

@test "an existing file is kept unless --force is given" {
    take_spool vector_add
    echo old >trace.json
    run -1 "$gputrace" convert spool trace.json
    assert_output --partial "'trace.json' is there already: --force replaces it"
    assert_equal "$(cat trace.json)" old
    run -0 "$gputrace" convert --force spool trace.json
    run -1 "$gputrace" convert --force trace.json ./trace.json
    assert_output --partial 'are the same file'
    "$check_trace" --quiet trace.json
}

@test "a file that is not a trace is an error and leaves no output" {
    echo '{"traceEvents": [{"ph":"X"' >cut.json
    run -1 "$gputrace" convert cut.json out.pftrace
    assert_output --partial 'the file is incomplete'
    echo '[{"ph":"X","name":"one","pid":1,"tid":1,"ts":1,"dur":1},{"ph":"X"' >bare.json
    run -0 "$gputrace" convert bare.json out.pftrace
    assert_equal "$(grep -c 'is cut off at byte' <<<"$output")" 1
    assert_line --partial '1 event in'
    rm out.pftrace
    printf '\n\005abc' >cut.pftrace
    run -1 "$gputrace" convert cut.pftrace out.json
    assert_output --partial "'cut.pftrace' is cut off within its first packet: nothing of it can be read"
    printf '\177ELF' >other
    run -1 "$gputrace" convert other out.json
    assert_output --partial 'expected a trace'
    : >empty
    run -1 "$gputrace" convert empty out.json
    assert_output --partial 'the file ends here: expected a trace'
    run -1 "$gputrace" convert missing out.json
    assert_output --partial "cannot open 'missing'"
    local whole=$data/kineto/kineto-train-h200.json.gz
    head -c 100 "$whole" >cut.json.gz
    run -1 "$gputrace" convert cut.json.gz out.pftrace
    assert_output --partial "'cut.json.gz' is damaged or cut off: gzip says '"
    (head -c 8000 "$whole" && printf wrong && tail -c +8006 "$whole") >wrong.json.gz
    run -1 "$gputrace" convert wrong.json.gz out.pftrace
    assert_output --partial "'wrong.json.gz' is damaged or cut off: gzip says '"
    refute_output --partial '<fd'
    assert_equal "$(find . -name 'out*')" ''
}

@test "a pipe is refused, as a trace is read twice" {
    echo '[]' >empty.json
    for input in /dev/stdin - named; do
        [ $input != named ] || mkfifo named
        run -1 timeout 10 bash -c "cat empty.json | '$gputrace' convert $input out.json"
        assert_output "gputrace: cannot convert '$input': it is read twice, so it must be a file, not a pipe or a device"
        [ ! -e out.json ]
    done
}

@test "names without a known format, too few and too many names" {
    run -2 "$gputrace" convert trace.json trace.txt
    assert_output --partial 'must end in .speedscope.json, .speedscope.json.gz, .json, .json.gz, .pftrace, '
    run -2 "$gputrace" convert trace.json
    run -2 "$gputrace" convert a b c
}

@test "a slice that begins with empty arguments and does not end is written as JSON" {
    echo '{"traceEvents":[{"ph":"B","cat":"user_annotation","name":"a","pid":1,"tid":1,"ts":1,"args":{ }},
        {"ph":"X","cat":"user_annotation","name":"b","pid":1,"tid":1,"ts":2,"dur":3,"args":{}}]}' >empty.json
    run -0 "$gputrace" convert empty.json made.json
    assert_equal "$(jq -c '.traceEvents[] | select(.name == "a") | [.dur + 0, .args]' made.json)" '[4,{"open at end":true}]'
}

@test "recover --dump prints each record of a spool, and the spool stays" {
    mkdir spool
    tar -C spool -xzf "$root/tests/data/planted/copies-blocking.tar.gz"
    run -0 "$gputrace" recover --dump spool
    assert_line --partial '"planted_copies", CUPTI 130001'
    assert_line --regexp '^    type 2 +[+]0 +THREAD_NAME .* "planted_copies"$'
    assert_equal "$(grep -c ' KERNEL .* device 0 context 1 stream ' <<<"$output")" 101
    assert_equal "$(grep -c ' MEMCPY ' <<<"$output")" 100
    refute_output --partial damaged
    assert_equal "$(ls spool)" "ended.packed
session.json"
    # A chunk whose end was cut off.
    truncate -s -100 spool/ended.packed
    run -0 "$gputrace" recover --dump spool
    run -2 "$gputrace" recover --dump
    run -2 "$gputrace" recover --dump -o trace.json spool
}
