# gputrace report: figures against what jq counts in the same traces, formats against other programs' parsers.

load common

data=$root/tests/data
kineto=$data/kineto/kineto-train-h200.json.gz
small=$data/report/small.json
compilation=$data/report/compilation.json
memory=$data/report/memory.json
pytorch=$data/report/pytorch-memory.json
errors=$data/report/errors.json

report() { # SECTION TRACE [OPTION...]: the section's rows as JSON
    local section=$1 trace=$2
    shift 2
    "$gputrace" report -r "$(section_of "$section")" --format=json "$@" "$trace" | jq --arg section "$section" '.[$section]'
}

# jq's words for nanoseconds, and for the figures of a row; independent of how the report finds them.
# shellcheck disable=SC2016 # the dollars are jq's
words='
    def ns: . * 1000 | round;
    def median: sort | if length % 2 == 1 then .[length / 2 | floor] else (.[length / 2 - 1] + .[length / 2]) / 2 end;
    def figures($calls): {total_ns: add, ($calls): length, avg_ns: (add / length), med_ns: median, min_ns: min, max_ns: max};
    def stddev: (add / length) as $mean | if length == 1 then 0 else (map(. - $mean | . * .) | add) / (length - 1) | sqrt end;
    def by_name($calls): group_by(.name) | map({name: .[0].name} + (map(.dur | ns) | figures($calls)));
    def close($a; $b): ($a - $b) | fabs < 1e-6 * ([($a | fabs), 1] | max);
'

@test "kernels of a Kineto trace: counts and sums are those in its .expect.json" {
    report kernels "$kineto" | jq -S 'map({key: .name, value: [.calls, .total_ns]}) | from_entries' >got
    jq -S '.by_name | map_values([.[0], (.[1] * 1000 | round)])' "$data/kineto/kineto-train-h200.expect.json" >expected
    diff expected got
    [ "$(report kernels "$kineto" | jq 'map(.calls) | add')" -eq 72 ]
    [ "$(report kernels "$kineto" | jq 'map(.total_ns) | add')" -eq 1667793 ]
}

@test "figures of kernels and API calls are those that jq finds" {
    for trace in "$kineto" "$small"; do
        gzip -dcf "$trace" >trace.json
        for pair in "kernels kernel" "api cuda_runtime cuda_driver"; do
            read -r section categories <<<"$pair"
            jq -S --arg cats "$categories" "$words"'
                ($cats | split(" ")) as $cats
                | [.traceEvents[] | select(.ph == "X" and (.cat as $c | $cats | index($c)))] | by_name("calls")' \
                trace.json >expected
            report "$section" trace.json |
                jq -S 'map({name, total_ns, calls, avg_ns, med_ns, min_ns, max_ns}) | sort_by(.name)' >got
            diff expected got
        done
    done
}

@test "the standard deviation is that of a sample" {
    gzip -dc "$kineto" | jq "$words"'
        [.traceEvents[] | select(.cat == "kernel")] | group_by(.name) | map({key: .[0].name, value: (map(.dur | ns) | stddev)})
        | from_entries' >expected
    report kernels "$kineto" | jq -e --slurpfile expected expected "$words"'
        length == 19 and all(.[]; close(.stddev_ns; $expected[0][.name]))'
}

@test "shares of time add up to a hundred" {
    for section in kernels api memtime; do
        report $section "$kineto" | jq -e '(map(.time_percent) | add) as $sum | $sum > 99.999999 and $sum < 100.000001'
    done
}

@test "memory operations: bytes, times and bandwidth are those that jq finds" {
    gzip -dc "$kineto" | jq -S "$words"'
        [.traceEvents[] | select(.cat == "gpu_memcpy" or .cat == "gpu_memset")] | group_by(.name)
        | map({name: .[0].name, bytes: (map(.args.bytes) | add), ns: (map(.dur | ns) | add), count: length})' >expected
    report memtime "$kineto" | jq -S 'map({name, total_ns, count, bandwidth_gb_s}) | sort_by(.name)' >by-time
    report memsize "$kineto" | jq -S 'map({name, total_bytes, count, bandwidth_gb_s}) | sort_by(.name)' >by-size
    jq '[.[] | .ns]' expected | diff - <(jq '[.[] | .total_ns]' by-time)
    jq '[.[] | .bytes]' expected | diff - <(jq '[.[] | .total_bytes]' by-size)
    jq '[.[] | .count]' expected | diff - <(jq '[.[] | .count]' by-size)
    jq -e --slurpfile got by-size "$words"'
        [., $got[0]] | transpose | all(close(.[0].bytes / .[0].ns; .[1].bandwidth_gb_s))' expected
    jq '[.[] | .bandwidth_gb_s]' by-time | diff - <(jq '[.[] | .bandwidth_gb_s]' by-size)
}

@test "a cell of a table is never blank" {
    "$gputrace" report --format=markdown -r nvtx "$data/report/nvtx.json" >tables
    "$gputrace" report --format=markdown -r api "$errors" >>tables
    "$gputrace" report --format=markdown -r sync "$kineto" >>tables
    [ "$(grep -c '^|' tables)" -gt 30 ]
    grep -F '| total' tables
    run -1 grep -E '\| +\|' <(grep -vF '| total' tables)
}

@test "kernels are not listed by range in a trace without ranges" {
    jq '.traceEvents |= map(select(.cat | (. // "") | endswith("user_annotation") | not))' "$small" >no-ranges.json
    "$gputrace" report -r all --width=0 no-ranges.json >tables
    grep -F '  Kernels' tables
    grep -E '^Not in this trace: .* nvtx, ' tables
    run -1 grep -F '(nvtx-kernels)' tables
    run -1 grep -F '(outside ranges)' tables
}

@test "ranges within one another, on the GPU and by kernel are those that were worked out by hand" {
    # The first table is that of the ranges by name.
    "$gputrace" report -r nvtx --time-unit=us --width=0 --names=full "$data/report/nvtx.json" | sed '1,/^$/d' |
        diff "$data/report/nvtx.txt" -
    "$gputrace" report -r nvtx --format=csv "$data/report/nvtx.json" | sed '1,/^\r*$/d' | diff "$data/report/nvtx.csv" -
    # Markdown takes no blanks before a name.
    "$gputrace" report -r nvtx --format=markdown "$data/report/nvtx.json" | grep -F '| step/forward/forward |'
}

@test "ranges of a Kineto trace: the tree has all of their time once, and all time of kernels" {
    report nvtx-tree "$kineto" | jq -e '(map(.self_ns) | add) == (map(select(.depth == 0) | .total_ns) | add)'
    report nvtx-tree "$kineto" | jq -e '(map(.count) | add) == 18'
    report nvtx "$kineto" | jq -S 'map({name, total_ns, count}) | sort_by(.name)' >sums
    report nvtx-tree "$kineto" | jq -S 'group_by(.name) | map({name: .[0].name, total_ns: (map(.total_ns) | add),
        count: (map(.count) | add)})' | diff sums -
    report nvtx-kernels "$kineto" | jq -e '(map(.total_ns) | add) == 1667793 and (map(.calls) | add) == 72'
}

@test "GPU busy time of a range: what overlaps counts once, on each GPU by itself, in all sections alike" {
    # Two streams of one GPU overlap (100 to 300 us), another GPU is busy meanwhile; the inner range has one operation.
    cat >busy.json <<'END'
{"traceEvents":[
{"ph":"X","cat":"user_annotation","name":"step","pid":9,"tid":9,"ts":0,"dur":90},
{"ph":"X","cat":"user_annotation","name":"step","pid":9,"tid":9,"ts":10,"dur":20},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":9,"ts":15,"dur":1,"args":{"correlation":1}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":9,"ts":40,"dur":1,"args":{"correlation":2}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":9,"ts":50,"dur":1,"args":{"correlation":3}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":9,"ts":95,"dur":1,"args":{"correlation":4}},
{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":100,"dur":150,"args":{"device":0,"context":1,"stream":7,"correlation":1}},
{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":8,"ts":200,"dur":100,"args":{"device":0,"context":1,"stream":8,"correlation":2}},
{"ph":"X","cat":"kernel","name":"k","pid":1,"tid":7,"ts":100,"dur":20,"args":{"device":1,"context":2,"stream":7,"correlation":3}},
{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":900,"dur":3,"args":{"device":0,"context":1,"stream":7,"correlation":4}}]}
END
    "$gputrace" report -f json busy.json >got
    jq -e '.nvtx | map([.name, .kind, .gpu_busy_ns, .gpu_span_ns])
        == [["step", "range", 220000, null], ["(outside ranges)", "outside", 3000, null]]' got
    jq -e '."nvtx-tree" | map([.path, .gpu_busy_ns])
        == [["step", 220000], ["step/step", 150000], ["(outside ranges)", 3000]]' got
    jq -e '."nvtx-gpu" | map([.name, .device, .stream, .gpu_busy_ns, .gpu_span_ns])
        == [["step", 0, 7, 150000, 300000], ["step", 0, 8, 100000, 100000], ["step", 1, 7, 20000, 20000],
            ["(outside ranges)", 0, 7, 3000, null]]' got
    jq -e '."nvtx-kernels" | map([.range, .calls, .total_ns, .gpu_busy_ns])
        == [["step/step", 1, 150000, 150000], ["step", 2, 120000, 120000], ["(outside ranges)", 1, 3000, 3000]]' got
}

# The GPU's busy time by range of Kineto's trace, as jq finds it: the ranges of the main thread and the calls of any.
kineto_busy() {
    gzip -dc "$kineto" | jq -S "$words"'
        [.traceEvents[] | select(.ph == "X")] as $all
        | [$all[] | select(.cat == "cuda_runtime" or .cat == "cuda_driver")
            | {key: "\(.args.correlation)", value: .ts}] | from_entries as $calls
        | [$all[] | select(.cat == "kernel" or .cat == "gpu_memcpy" or .cat == "gpu_memset")
            | {called: $calls["\(.args.correlation)"], start: (.ts | ns), ns: (.dur | ns)}] as $operations
        | [$all[] | select(.cat == "user_annotation") | . as $range | {name,
            ns: ([$operations[] | select(.called >= $range.ts and .called <= $range.ts + $range.dur) | .ns] | add // 0)}]
        | group_by(.name) | map({name: .[0].name, ns: (map(.ns) | add)})'
}

@test "ranges of a Kineto trace: all sections have one GPU busy time, with the kernels of the backward pass" {
    # On its one stream no two operations overlap.
    kineto_busy >expected
    report nvtx "$kineto" | jq -S 'map({name, ns: .gpu_busy_ns}) | sort_by(.name)' | diff expected -
    report nvtx-tree "$kineto" | jq -S 'group_by(.name) | map({name: .[0].name, ns: (map(.gpu_busy_ns) | add)})' |
        diff expected -
    report nvtx-gpu "$kineto" | jq -S 'map({name, ns: .gpu_busy_ns}) | sort_by(.name)' |
        diff <(jq -S 'map(select(.ns > 0))' expected) -
    # 30 of backward's kernels were launched by autograd's thread, 3 by the main one.
    report nvtx-kernels "$kineto" | jq -e 'all(.gpu_busy_ns == .total_ns and .range != "(outside ranges)")
        and ([.[] | select(.range | endswith("/backward")) | .calls] | add) == 33'
}

@test "kernels of autograd's threads: by flows, by sequence numbers, and outside of ranges where neither is there" {
    local no_flows='del(.traceEvents[] | select(.cat == "fwdbwd"))'
    local no_numbers='del(.traceEvents[].args?["Sequence number"]?)'
    report nvtx-kernels "$kineto" >expected
    gzip -dc "$kineto" | jq -c "$no_numbers" >flows.json
    report nvtx-kernels flows.json | diff expected -
    gzip -dc "$kineto" | jq -c "$no_flows" >numbers.json
    report nvtx-kernels numbers.json | diff expected -
    "$gputrace" convert -q "$kineto" kineto.pftrace
    report nvtx-kernels kineto.pftrace | diff expected -
    jq -c "$no_numbers" numbers.json >neither.json
    report nvtx-kernels neither.json |
        jq -e '[.[] | select(.range == "(outside ranges)") | .calls] | add == 30'
    # Two threads that count alike: whose operator it was is not known.
    jq -c '.traceEvents += [.traceEvents[] | select(.cat == "cpu_op" and .args["Fwd thread id"] == 0) | .tid = 5]' \
        numbers.json >ambiguous.json
    report nvtx-kernels ambiguous.json |
        jq -e '[.[] | select(.range == "(outside ranges)") | .calls] | add == 30'
}

@test "kernels of autograd's threads: their own range, that of the waiting thread, that of the forward operator" {
    cat >autograd.json <<'END'
{"traceEvents":[
{"ph":"X","cat":"user_annotation","name":"forward","pid":9,"tid":1,"ts":0,"dur":100},
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":9,"tid":1,"ts":10,"dur":5,"args":{"Sequence number":3,"Fwd thread id":0}},
{"ph":"s","cat":"fwdbwd","name":"fwdbwd","id":1,"pid":9,"tid":1,"ts":10},
{"ph":"X","cat":"cpu_op","name":"MmBackward0","pid":9,"tid":2,"ts":200,"dur":5,"args":{"Sequence number":3,"Fwd thread id":1}},
{"ph":"f","cat":"fwdbwd","name":"fwdbwd","id":1,"pid":9,"tid":2,"ts":200,"bp":"e"},
{"ph":"X","cat":"user_annotation","name":"hook","pid":9,"tid":2,"ts":210,"dur":10},
{"ph":"X","cat":"user_annotation","name":"backward","pid":9,"tid":1,"ts":300,"dur":100},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":2,"ts":150,"dur":1,"args":{"correlation":1}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":2,"ts":201,"dur":1,"args":{"correlation":2}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":2,"ts":215,"dur":1,"args":{"correlation":3}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":2,"ts":310,"dur":1,"args":{"correlation":4}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":3,"ts":320,"dur":1,"args":{"correlation":5}},
{"ph":"X","cat":"kernel","name":"before","pid":0,"tid":7,"ts":500,"dur":1,"args":{"device":0,"stream":7,"correlation":1}},
{"ph":"X","cat":"kernel","name":"operator","pid":0,"tid":7,"ts":510,"dur":1,"args":{"device":0,"stream":7,"correlation":2}},
{"ph":"X","cat":"kernel","name":"own","pid":0,"tid":7,"ts":520,"dur":1,"args":{"device":0,"stream":7,"correlation":3}},
{"ph":"X","cat":"kernel","name":"waiting","pid":0,"tid":7,"ts":530,"dur":1,"args":{"device":0,"stream":7,"correlation":4}},
{"ph":"X","cat":"kernel","name":"another","pid":0,"tid":7,"ts":540,"dur":1,"args":{"device":0,"stream":7,"correlation":5}}]}
END
    report nvtx-kernels autograd.json | jq -c 'map({key: .name, value: .range}) | from_entries | to_entries | sort_by(.key)
        | map("\(.key): \(.value)") | .[]' -r >got
    printf '%s\n' 'another: (outside ranges)' 'before: (outside ranges)' 'operator: forward' 'own: hook' \
        'waiting: backward' | diff - got
}

@test "spans on the GPU of a trace without its host are those of its rows" {
    gzip -dc "$kineto" | jq 'del(.traceEvents[] | select(.cat == "user_annotation"))' >device.json
    report nvtx-gpu device.json | jq -e 'map(select(.name == "forward")) | .[0]
        | .gpu_span_ns == 1505854 and .count == 3 and .stream == 7 and .device == 0 and .gpu_ops == null'
    report nvtx device.json | jq -e 'map(select(.name == "forward")) | .[0]
        | .gpu_span_ns == 1505854 and .gpu_count == 3 and .gpu_busy_ns == null'
}

@test "launch latency is that of jq's join by correlation" {
    gzip -dc "$kineto" | jq -S "$words"'
        [.traceEvents[] | select(.cat == "cuda_runtime" or .cat == "cuda_driver")
            | {key: "\(.args.correlation)", value: {end: ((.ts + .dur) | ns), dur: (.dur | ns)}}] as $calls
        | ($calls | from_entries) as $calls
        | [.traceEvents[] | select(.cat == "kernel" or .cat == "gpu_memcpy" or .cat == "gpu_memset")
            | $calls["\(.args.correlation)"] as $call
            | {name, gpu: (.dur | ns), api: $call.dur, queue: ([(.ts | ns) - $call.end, 0] | max)}]
        | group_by(.name)
        | map({name: .[0].name, calls: length, api_med_ns: (map(.api) | median), gpu_max_ns: (map(.gpu) | max),
               queue_med_ns: (map(.queue) | median), queue_max_ns: (map(.queue) | max)})' >expected
    report latency "$kineto" |
        jq -S 'map({name, calls, api_med_ns, gpu_max_ns, queue_med_ns, queue_max_ns}) | sort_by(.name)' >got
    # jq adds ts and dur as doubles, which may be a nanosecond off at these times
    jq -e --slurpfile got got '[., $got[0]] | transpose | all(.[0].name == .[1].name and .[0].calls == .[1].calls
        and .[0].api_med_ns == .[1].api_med_ns and .[0].gpu_max_ns == .[1].gpu_max_ns
        and (.[0].queue_med_ns - .[1].queue_med_ns | fabs) <= 1 and (.[0].queue_max_ns - .[1].queue_max_ns | fabs) <= 1)' expected
}

@test "latency: the outer call counts, operations without a call are counted, waits are never negative" {
    report latency "$small" >got
    jq -e '.[] | select(.name == "void add<float>(int, float*)")
        | .calls == 2 and .api_max_ns == 10000 and .queue_max_ns == 5000 and .queue_avg_ns == 2500' got
    jq -e '.[] | select(.name == "scan") | .calls == 0 and .unmatched == 1 and .api_avg_ns == null' got
}

value_of() { # ITEM TRACE
    report overview "$2" | jq -r --arg item "$1" '.[] | select(.item == $item) | .value'
}

@test "the overview's counts are those that jq finds" {
    gzip -dc "$kineto" >trace.json
    [ "$(value_of Kernels "$kineto")" -eq "$(count kernel)" ]
    [ "$(value_of "Memory copies" "$kineto")" -eq "$(count gpu_memcpy)" ]
    [ "$(value_of "Memory sets" "$kineto")" -eq "$(count gpu_memset)" ]
    [ "$(value_of "API calls" "$kineto")" -eq $(($(count cuda_runtime) + $(count cuda_driver))) ]
    [ "$(value_of "Ranges" "$kineto")" -eq "$(count user_annotation)" ]
    [ "$(value_of Processes "$kineto")" -eq 1 ]
    [ "$(value_of Threads "$kineto")" -eq 2 ]
}

@test "busy is the union of intervals, of a device and of each of its streams" {
    [ "$(value_of "GPU 0 busy time" "$small")" -eq 66500 ]
    [ "$(value_of "GPU 1 busy time" "$small")" -eq 1001 ]
    report streams "$small" >got
    jq -e 'map(select(.device == 0 and .stream == 7)) | length == 1 and .[0].busy_ns == 56000 and .[0].kernels == 2
        and .[0].first_ns == 115000 and .[0].last_ns == 441000' got
    jq -e '.[] | select(.device == 0 and .stream == 13) | .busy_ns == 10500 and .name == "stream 13 (copies)"' got
    jq -e '.[] | select(.device == 1) | .busy_ns == 1001' got
}

@test "the overview shows the program, its exit status and its losses" {
    [ "$(value_of Program "$small")" = "./app --size 3" ]
    [ "$(value_of "Ended with" "$small")" = "exit 0" ]
    [ "$(value_of "Time span" "$small")" -eq 900000 ]
    [ "$(value_of "Lost or doubtful: cupti dropped" "$small")" -eq 2 ]
    [ "$(value_of "Lost or doubtful: in flight" "$small")" -eq 1 ]
    [ -z "$(value_of "Lost or doubtful: spool dropped" "$small")" ]
    report overview "$small" | jq -e '.[] | select(.item == "GPU 1 busy") | .detail == "Test GPU B"'
}

@test "API calls that failed are counted" {
    report api "$small" | jq -e 'map({key: .name, value: .failures}) | from_entries
        | .cudaMalloc == 1 and .cudaLaunchKernel == 0 and (add == 1)'
}

@test "errors have the names of the API that returned them, and the overview counts failed calls" {
    report api "$errors" | jq -c '.[] | [.name, .calls, .failures, .errors]' >got
    cat >expected <<'END'
["cuMemAlloc",3,3,"2 × CUDA_ERROR_OUT_OF_MEMORY (2), 1 × error 12345"]
["cudaMemcpy",1,1,"cudaErrorInvalidMemcpyDirection (21)"]
["cudaGetLastError",1,0,null]
["cudaStreamQuery",1,0,null]
["cudaFree",1,0,null]
END
    diff expected got
    report overview "$errors" | jq -c '.[] | select(.item == "Failed API calls") | [.value, .detail]' >got
    echo '[4,"2 × CUDA_ERROR_OUT_OF_MEMORY (2), 1 × cudaErrorInvalidMemcpyDirection (21), 1 × error 12345"]' | diff - got
    [ "$(value_of "Failed API calls" "$kineto")" -eq 0 ]
    report memory-failures "$memory" | jq -e '.[0].error == "CUDA_ERROR_OUT_OF_MEMORY (2)"'
    report phases "$compilation" | jq -e 'map(.error // empty) == ["CUDA_ERROR_INVALID_PTX (218)"]'
    report compilation "$compilation" | jq -e '.[] | select(.failures > 0) | .errors == "CUDA_ERROR_INVALID_PTX (218)"'
}

@test "errors: each function and error is a row with its count, its first and its last time" {
    report errors "$errors" | jq -c '.[] | [.name, .error, .code, .count, .first_ns, .last_ns]' >got
    diff got - <<'END'
["cuMemAlloc","CUDA_ERROR_OUT_OF_MEMORY (2)",2,2,30000,50000]
["cudaMemcpy","cudaErrorInvalidMemcpyDirection (21)",21,1,0,0]
["cuMemAlloc","error 12345",12345,1,40000,40000]
END
}

@test "calls that return an earlier error, or that work is not done yet, are not failures" {
    jq -n '[["cudaGetLastError", 700], ["cudaPeekAtLastError", 2], ["cudaEventQuery", 600], ["cudaStreamQuery_v3020", 600],
            ["cuEventQuery", 600], ["cuStreamQuery_ptsz", 600], ["cuLibraryGetKernel", 209], ["cudaStreamQuery", 700],
            ["cudaDeviceEnablePeerAccess", 704], ["cuCtxDisablePeerAccess", 705], ["cudaPointerGetAttributes", 1],
            ["cuPointerGetAttribute", 1], ["cuGetProcAddress_v2", 500],
            ["cudaEventElapsedTime", 600], ["cuLibraryGetKernel", 1], ["cudaDeviceEnablePeerAccess", 101]]
        | to_entries | map({ph: "X", cat: (if .value[0] | startswith("cuda") then "cuda_runtime" else "cuda_driver" end),
            name: .value[0], pid: 1, tid: 1, ts: .key, dur: 1, args: {correlation: .key, "return value": .value[1]}})' >answers.json
    [ "$(value_of "Failed API calls" answers.json)" -eq 4 ]
    report api answers.json | jq -c 'map(select(.failures > 0) | [.name, .errors]) | sort' >got
    echo '[["cuLibraryGetKernel","CUDA_ERROR_INVALID_VALUE (1)"],["cudaDeviceEnablePeerAccess","cudaErrorInvalidDevice (101)"],["cudaEventElapsedTime","cudaErrorNotReady (600)"],["cudaStreamQuery","cudaErrorIllegalAddress (700)"]]' |
        diff - got
}

@test "before a crash: a call that failed is not listed as one that returned" {
    report crashes "$errors" | jq -c '.[] | select(.what == "Call") | [.name, .detail]' >got
    cat >expected <<'END'
["cudaStreamQuery","returned cudaErrorNotReady (600)"]
["cuMemAlloc","failed: CUDA_ERROR_OUT_OF_MEMORY (2)"]
["cuMemAlloc","failed: error 12345"]
["cuMemAlloc","failed: CUDA_ERROR_OUT_OF_MEMORY (2)"]
["cudaFree","returned"]
END
    diff expected got
    jq '.traceEvents |= .[:2]' "$errors" >early.json
    run -0 "$gputrace" report -r crashes early.json
    assert_line --index 0 'Crashes and kills (crashes)'
    assert_line --regexp '^  Call .* cudaMemcpy .* failed: cudaErrorInvalidMemcpyDirection \(21\)$'
    assert_line --regexp '^  Call .* cudaGetLastError .* returned cudaErrorInvalidMemcpyDirection \(21\)$'
}

@test "a call of a further row of its thread, and many failures before it, keep their results" {
    jq '.traceEvents |= ([.[0] | .ts = 200 | .tid = 536870913 | .args.thread = 100]
        + [range(100) as $i | {ph: "X", cat: "cuda_runtime", name: "cudaMalloc", pid: 100, tid: 100,
            ts: ($i / 2), dur: 0.1, args: {correlation: (1000 + $i), "return value": 2}}])' "$errors" >many.json
    report crashes many.json | jq -c '[.[] | select(.what == "Call") | .detail] | [length, .[0], .[-1]]' >got
    echo '[5,"failed: cudaErrorMemoryAllocation (2)","failed: cudaErrorInvalidMemcpyDirection (21)"]' | diff - got
}

@test "synchronisation: who waited for what" {
    report sync "$small" | jq -c '.[] | [.kind, .waiter, .target, .count, .total_ns]' >got
    cat >expected <<'END'
["cudaStreamSynchronize","thread 101 (worker)","GPU 0 stream 7",1,100000]
["cudaDeviceSynchronize","thread 100","GPU 0",1,50000]
["cudaMemcpy","thread 100",null,1,25000]
["Stream Wait Event","GPU 0 stream 13","event on GPU 0 stream 7",1,null]
END
    diff expected got
}

@test "synchronisation: a wait is one row, whether its call, its record or both are in the trace" {
    # 1: two records in a call that blocks; 2: the same id in another process; 3: no call; 4: a call that blocks in part;
    # 5: a query; 6: a stream's wait, whose record says how long the call took.
    cat >sync.json <<'END'
{"traceEvents":[
{"ph":"X","cat":"cuda_runtime","name":"cudaDeviceSynchronize","pid":9,"tid":9,"ts":100,"dur":50,"args":{"correlation":1}},
{"ph":"X","cat":"cuda_driver","name":"cuCtxSynchronize_v2","pid":9,"tid":9,"ts":101,"dur":48,"args":{"correlation":1}},
{"ph":"X","cat":"cuda_sync","name":"Context Sync","pid":0,"tid":1,"ts":102,"dur":40,"args":{"stream":-1,"correlation":1,"device":0}},
{"ph":"X","cat":"cuda_sync","name":"Context Sync","pid":0,"tid":1,"ts":142,"dur":3,"args":{"stream":-1,"correlation":1,"device":0}},
{"ph":"X","cat":"cuda_runtime","name":"cudaStreamSynchronize","pid":10,"tid":10,"ts":500,"dur":20,"args":{"correlation":1}},
{"ph":"X","cat":"cuda_sync","name":"Stream Sync","pid":0,"tid":7,"ts":600,"dur":7,"args":{"stream":7,"correlation":3,"device":0}},
{"ph":"X","cat":"cuda_runtime","name":"cudaFree","pid":9,"tid":9,"ts":700,"dur":90,"args":{"correlation":4}},
{"ph":"X","cat":"cuda_sync","name":"Context Sync","pid":0,"tid":1,"ts":701,"dur":11,"args":{"stream":-1,"correlation":4,"device":0}},
{"ph":"X","cat":"cuda_runtime","name":"cudaEventQuery","pid":9,"tid":9,"ts":800,"dur":9,"args":{"correlation":5}},
{"ph":"X","cat":"cuda_sync","name":"Event Sync","pid":0,"tid":1,"ts":801,"dur":8,"args":{"stream":-1,"correlation":5,"device":0}},
{"ph":"X","cat":"cuda_runtime","name":"cudaStreamWaitEvent","pid":9,"tid":9,"ts":900,"dur":4,"args":{"correlation":6}},
{"ph":"X","cat":"cuda_sync","name":"Stream Wait Event","pid":0,"tid":8,"ts":901,"dur":2,"args":{"stream":8,"correlation":6,"device":0,"wait_on_stream":7}}]}
END
    report sync sync.json | jq -c '.[] | [.kind, .waiter, .target, .count, .total_ns]' >got
    cat >expected <<'END'
["cudaDeviceSynchronize","thread 9","GPU 0",1,50000]
["cudaStreamSynchronize","thread 10",null,1,20000]
["cudaFree","thread 9","GPU 0",1,11000]
["Stream Sync","a thread","GPU 0 stream 7",1,7000]
["Stream Wait Event","GPU 0 stream 8","event on GPU 0 stream 7",1,null]
END
    diff expected got
    report sync sync.json |
        jq -e '.[4] | [.avg_ns, .med_ns, .min_ns, .max_ns, .stddev_ns] | all(. == null)'
    # A number for each wait of a recording: as many as calls that block.
    mkdir streams
    gzip -dc "$data/h200/streams_events.spool.gz" >streams/1-0.spool
    cp "$data/h200/streams_events.session.json" streams/session.json
    "$gputrace" recover -q --keep -o streams.json streams
    report sync streams.json | jq '[.[] | select(.total_ns) | .count] | add' >got
    jq '[.traceEvents[] | select(.cat == "cuda_runtime" and (.name | test("Synchronize$")))] | length' streams.json |
        diff - got
}

@test "NVTX: nested ranges, started ranges, marks and the GPU's busy time in them" {
    report nvtx "$small" | jq -c '.[] | [.kind, .domain, .name, .count, .total_ns, .gpu_busy_ns, .open]' >got
    cat >expected <<'END'
["range",null,"step",2,300000,66000,null]
["start/end",null,"epoch",2,40000,0,null]
["range","other","step",1,10000,0,null]
["start/end",null,"never ended",0,0,66000,1]
["mark",null,"checkpoint",1,null,null,null]
["outside",null,"(outside ranges)",null,null,1501,null]
END
    diff expected got
}

@test "NVTX: a range that was pushed and never popped is one row" {
    echo '[{"ph":"X","cat":"user_annotation","name":"step","pid":1,"tid":1,"ts":0,"dur":5,"args":{"open at end":true}}]' >open.json
    report nvtx open.json | jq -e 'map([.name, .kind, .count, .open, .gpu_busy_ns]) == [["step", "range", 1, 1, null]]'
}

@test "memory: peak and its time, bytes at the end, allocations, failures and unknown releases" {
    report memory "$small" |
        jq -c '.[] | [.kind, .device, .peak_bytes, .peak_at_ns, .end_bytes, .allocations, .releases, .failures, .unknown]' >got
    cat >expected <<'END'
["PyTorch's allocator, reserved",0,2097152,85000,2097152,null,null,null,null]
["Device",0,1052672,70000,4096,2,2,1,1]
["Pinned",null,8192,80000,8192,1,0,0,null]
["PyTorch's allocator",0,1536,86000,1024,2,1,0,null]
END
    diff expected got
}

@test "memory: double and unknown frees, reserved and used bytes of pools" {
    report memory "$memory" |
        jq -c '.[] | [.kind, .device, .peak_bytes, .end_bytes, .allocations, .releases, .failures, .double, .unknown]' >got
    cat >expected <<'END'
["Pool reserved",0,33554432,33554432,null,null,null,null,null]
["Device",0,2101248,1048576,5,4,1,1,null]
["Pool",0,2097152,0,1,1,0,null,null]
["Pool used",0,2097152,0,null,null,null,null,null]
["Pinned",null,8192,8192,1,0,0,null,null]
["Unknown",0,null,null,0,0,0,null,1]
END
    diff expected got
}

@test "memory: the peak by kind and call stack of its allocations" {
    report memory-peak "$memory" |
        jq -c '.[] | [.total_bytes, .share_percent, .count, .at_ns, .size_bytes, .device, .kind, .where]' >got
    cat >expected <<'END'
[2097152,50,2,400000,1048576,0,"Device","keep(int) (leak.cu:12)"]
[2097152,50,1,400000,2097152,0,"Pool","grab() (grab.h:5)"]
[8192,100,1,600000,8192,null,"Pinned",null]
END
    diff expected got
}

@test "memory: allocations that are left at the end, with their addresses and call stacks" {
    report memory-leaks "$memory" |
        jq -c '.[] | [.total_bytes, .count, .first_ns, .last_ns, .kind, .where, .stack, .addresses]' >got
    cat >expected <<'END'
[1048576,1,100000,100000,"Device","keep(int) (leak.cu:12)","cuMemAlloc_v2 (libcuda.so.1+0x10) < cudaMalloc (libcudart.so.13+0x20) < keep(int) (/src/leak.cu:12) < main (/src/leak.cu:40)","0x1000"]
[8192,1,600000,600000,"Pinned",null,null,"0x5000"]
END
    diff expected got
}

@test "memory: short-lived allocations, how many of all, how long they lived" {
    report memory-churn "$memory" |
        jq -c '.[] | [.total_bytes, .count, .allocations, .per_second_bytes, .avg_ns, .min_ns, .max_ns, .size_bytes, .where]' >got
    cat >expected <<'END'
[8192,2,2,2048000,750,500,1000,4096,"grab() (grab.h:5)"]
[1048576,1,2,262144000,300000,300000,300000,1048576,"keep(int) (leak.cu:12)"]
END
    diff expected got
}

@test "memory: failed allocations, and the bytes allocated at that time" {
    report memory-failures "$memory" |
        jq -c '.[] | [.at_ns, .asked_bytes, .held_bytes, .held_by_kind, .result, .device, .kind, .where]' >got
    cat >expected <<'END'
[410000,1099511627776,4194304,"Device 2097152, Pool 2097152",2,0,"Device","app+0x4000"]
END
    diff expected got
}

@test "memory: a snapshot lists the allocations of its time" {
    report memory "$memory" --snapshot=450us |
        jq -c '.[] | [.total_bytes, .count, .first_ns, .last_ns, .kind, .where, .addresses]' >got
    cat >expected <<'END'
[2097152,2,100000,200000,"Device","keep(int) (leak.cu:12)","0x1000 0x2000"]
[2097152,1,400000,400000,"Pool","grab() (grab.h:5)","0x9000"]
END
    diff expected got
    # at each time: as many bytes as jq counts
    for us in 0 99 100 299 300 300.4 300.5 301 499 500 1999 2000 2100 3199 3200 4000; do
        jq --argjson us "$us" '[.traceEvents[] | select(.cat == "memory" and .ts <= 1000 + $us and .args.result == null)
            | if .name | startswith("Allocate") then .args.bytes else -.args.bytes end] | add // 0' "$memory" >expected
        report memory "$memory" --snapshot="${us}us" | jq 'map(.total_bytes) | add // 0' >got
        diff expected got
    done
    run -0 "$gputrace" report -r memory --snapshot=0.00045 "$memory"
    assert_line 'Memory allocated at 450 µs (memory)'
    run -0 "$gputrace" report -r memory --snapshot=2ms "$memory"
    assert_line 'Memory allocated at 2 ms (memory)'
    assert_line 'Memory still allocated at the end (memory-leaks)'
}

@test "a snapshot beyond the end of the trace says which time was asked for and where the trace ends" {
    run --separate-stderr -0 "$gputrace" report -r memory --snapshot=2s "$memory"
    assert_line --index 0 'Memory allocated at the end of the trace, 4 ms (--snapshot asked for 2 s) (memory)'
    assert_equal "$stderr" "gputrace: warning: '$memory' ends at 4 ms, before the 2 s of --snapshot: showing what was allocated at its end"
    run --separate-stderr -0 "$gputrace" report -r memory --snapshot=4000us "$memory"
    assert_line --index 0 'Memory allocated at 4 ms (memory)'
    assert_equal "$stderr" ""
    run --separate-stderr -0 "$gputrace" report -r kernels,memory-leaks --snapshot=2s "$memory"
    assert_equal "$stderr" "gputrace: section 'memory-leaks' is now part of 'memory'"
}

@test "a snapshot of standard input, and one at something that is not a time, are errors" {
    run -1 "$gputrace" report -r memory --snapshot=1 - <"$memory"
    assert_output 'gputrace: a snapshot needs a file: standard input cannot be read twice'
    run -2 "$gputrace" report -r memory --snapshot=noon "$memory"
    assert_output --partial "--snapshot: 'noon' is not a time (try 2, 0.5 or 300ms)"
}

@test "PyTorch's own memory events: of two threads by time, of host and device, out of memory" {
    report memory "$pytorch" | jq -c '.[] | [.kind, .device, .peak_bytes, .peak_at_ns, .end_bytes, .allocations, .releases, .failures]' >got
    cat >expected <<'END'
["PyTorch's allocator, reserved",0,4194304,2100000,4194304,null,null,null]
["PyTorch's allocator",0,3072,30000,2048,3,2,1]
["PyTorch's allocator, host",null,64,2000000,64,1,0,0]
END
    diff expected got
    report memory-peak "$pytorch" | jq -c '.[] | [.total_bytes, .count, .at_ns, .device, .kind]' >got
    cat >expected <<'END'
[3072,3,30000,0,"PyTorch's allocator"]
[64,1,2000000,null,"PyTorch's allocator, host"]
END
    diff expected got
    report memory-leaks "$pytorch" | jq -c '.[] | [.total_bytes, .addresses]' >got
    cat >expected <<'END'
[2048,"0x7f0000000000 0x7f0000000400"]
[64,"0x558418e46000"]
END
    diff expected got
    report memory-churn "$pytorch" | jq -e 'length == 1 and .[0].count == 1 and .[0].avg_ns == 20000'
    report memory-failures "$pytorch" | jq -e 'length == 1 and .[0].asked_bytes == 10000000000 and .[0].held_bytes == 2048'
    report memory "$pytorch" --snapshot=35us | jq -e 'map(.total_bytes) == [3072]'
}

@test "ranges: those that the program put into streams, by name and device, and they are not NVTX's" {
    cat >ranges.json <<'END'
{"schemaVersion":1,"traceEvents":[
{"ph":"X","cat":"gpu_user_annotation","name":"step","pid":0,"tid":7,"ts":10,"dur":5,"args":{"range":1,"from":"gputrace_device_range"}},
{"ph":"X","cat":"gpu_user_annotation","name":"step","pid":0,"tid":8,"ts":20,"dur":7,"args":{"range":2,"from":"gputrace_device_range","open at end":true}},
{"ph":"X","cat":"gpu_user_annotation","name":"step","pid":1,"tid":7,"ts":20,"dur":2,"args":{"range":3,"from":"gputrace_device_range"}},
{"ph":"X","cat":"gpu_user_annotation","name":"pushed","pid":0,"tid":7,"ts":40,"dur":1,"args":{"thread":5}}]}
END
    report ranges ranges.json | jq -c '.[] | [.name, .device, .total_ns, .count, .min_ns, .max_ns, .open]' >got
    cat >expected <<'END'
["step",0,12000,2,5000,7000,1]
["step",1,2000,1,2000,2000,null]
END
    diff expected got
    report nvtx ranges.json | jq -e 'map(.name) == ["pushed"]'
}

@test "compilation: by name, counted once, failures and what the cache had" {
    report compilation "$compilation" |
        jq -c '.[] | [.name, .total_ns, .passed_ns, .count, .med_ns, .max_ns, .failures, .cache_hits]' >got
    cat >expected <<'END'
["PTX compilation",120000000,88000000,2,60000000,80000000,0,null]
["JIT compile",70000000,70000000,1,70000000,70000000,0,0]
["Graph capture",2000000,2000000,1,2000000,2000000,0,null]
["Module load",1600000,1300000,3,500000,800000,1,null]
["JIT cache store",1000000,1000000,1,1000000,1000000,0,null]
["Lazy function load",30000,30000,1,30000,30000,0,null]
["JIT cache load",20000,20000,1,20000,20000,0,1]
["at least one of them",null,91330000,null,null,null,null,null]
END
    diff expected got
    [ "$(value_of "Compilation time" "$compilation")" -eq 91330000 ]
    [ -z "$(value_of "Compilation time" "$small")" ]
}

@test "phases: the longest first, when, where and how they ended" {
    report phases "$compilation" |
        jq -c '.[] | [.name, .duration_ns, .at_ns, .thread, .process, .function, .result, .cache, .ending]' >got
    cat >expected <<'END'
["PTX compilation",80000000,2000000,"thread 100","app (100)","cuModuleLoadData",null,null,null]
["JIT compile",70000000,3000000,"thread 100","app (100)",null,null,"miss",null]
["PTX compilation",40000000,50000000,"thread 101 (worker)","app (100)","cuModuleLoadData",null,null,null]
["Graph capture",2000000,110000000,"thread 300","app (100)","cuStreamBeginCapture_v2",null,null,"its thread ended"]
["JIT cache store",1000000,73000000,"thread 100","app (100)",null,null,null,null]
["Module load",800000,1200000,"thread 200","child (200)","cuLibraryLoadData",null,null,null]
["Module load",500000,1000000,"thread 100","app (100)","cuLibraryLoadData",null,null,null]
["Module load",300000,100000000,"thread 101 (worker)","app (100)","cuModuleLoadData",218,null,null]
["Lazy function load",30000,120000000,"thread 100","app (100)","cuLaunchKernel",null,null,null]
["JIT cache load",20000,51000000,"thread 101 (worker)","app (100)",null,null,"hit",null]
END
    diff expected got
}

@test "plugins: what they said, with its stack, and their time" {
    report plugins "$compilation" | jq -c '.[] | [.plugin, .process, .calls, .time_ns, .line, .stack]' >got
    cat >expected <<'END'
["leaks","app (100)",1234,1200000,"4.0 MiB in 2 allocations (Device)","cudaMalloc (libcudart.so.13+0x1234) < make() (/home/user/make.h:7) < main (/home/user/leak.cu:42) < 0x7f0000009999"]
["leaks","app (100)",null,null,"all else was freed",null]
["calls","child (200)",7,350,null,null]
END
    diff expected got
    run -0 "$gputrace" report -r plugins "$compilation"
    assert_line --regexp '^  Plugin +Process +Calls +Time +Line$'
    assert_line --regexp '^  leaks +app \(100\) +1,234 +1\.20 ms +4\.0 MiB in 2 allocations \(Device\)$'
    refute_output --partial libcudart
}

@test "rows of compilation and plugins are not threads, and a plugin's slices are not the program's time" {
    [ "$(value_of Threads "$compilation")" -eq 3 ]
    [ "$(value_of "Time span" "$compilation")" -eq 150000000 ]
}

@test "--by-grid has a row for each grid" {
    report kernels "$small" --by-grid | jq -c '.[] | [.name, .grid, .block, .calls]' >got
    cat >expected <<'END'
["void add<float>(int, float*)","8x1x1","128x1x1",1]
["void add<float>(int, float*)","4x1x1","128x1x1",1]
["void add<double>(int, double*)","8x1x1","128x1x1",1]
["scan","1x1x1","32x1x1",1]
END
    diff expected got
}

@test "--names: short ones are put together, mangled ones where the trace has them" {
    report kernels "$small" --names=short | jq -c 'map([.name, .calls])' >got
    echo '[["add",3],["scan",1]]' | diff - got
    report kernels "$small" --names=mangled | jq -c 'map([.name, .calls])' >got
    echo '[["_Z3addIfEviPT_",2],["void add<double>(int, double*)",1],["scan",1]]' | diff - got
}

@test "plain, gzip, several members and standard input give the same report" {
    gzip -dc "$kineto" >plain.json
    size=$(stat -c %s plain.json)
    { head -c $((size / 3)) plain.json | gzip; tail -c +$((size / 3 + 1)) plain.json | gzip; } >members.json
    cp "$kineto" no-suffix
    "$gputrace" report -r all plain.json >expected
    for trace in "$kineto" members.json no-suffix; do
        "$gputrace" report -r all "$trace" | diff expected -
    done
    "$gputrace" report -r all - <"$kineto" | diff expected -
    # shellcheck disable=SC2002 # a pipe cannot be read twice
    cat plain.json | "$gputrace" report -r all - | diff expected -
}

@test "standard input and pipes take traces of every format" {
    gzip -dc "$kineto" >plain.json
    "$gputrace" convert -q plain.json trace.pftrace
    "$gputrace" convert -q plain.json trace.pftrace.gz
    cp "$kineto" trace.json.gz
    for trace in plain.json trace.json.gz trace.pftrace trace.pftrace.gz; do
        "$gputrace" report -r kernels,memtime --format=csv "$trace" >expected
        [ "$(wc -l <expected)" -gt 20 ]
        "$gputrace" report -r kernels,memtime --format=csv - <$trace | diff expected -
        # shellcheck disable=SC2002 # a pipe cannot be read twice
        cat $trace | "$gputrace" report -r kernels,memtime --format=csv - | diff expected -
        "$gputrace" report -r kernels,memtime --format=csv <(cat $trace) | diff expected -
        # it comes slowly, and gzip's header by itself
        { head -c 5 $trace; sleep 0.3; tail -c +6 $trace; } |
            "$gputrace" report -r kernels,memtime --format=csv - | diff expected -
        python3 - "$gputrace" $trace >got <<'END'
import socket, subprocess, sys, threading
ours, theirs = socket.socketpair()
sender = threading.Thread(target=lambda: (ours.sendall(open(sys.argv[2], "rb").read()), ours.shutdown(socket.SHUT_WR)))
sender.start()
subprocess.run([sys.argv[1], "report", "-r", "kernels,memtime", "--format=csv", "-"], stdin=theirs, check=True)
sender.join()
END
        diff expected got
        rm -f named
        mkfifo named
        cat $trace >named &
        "$gputrace" report -r kernels,memtime --format=csv named | diff expected -
        { head -c 5 $trace; sleep 0.3; tail -c +6 $trace; } >named &
        "$gputrace" report -r kernels,memtime --format=csv named | diff expected -
    done
    mkfifo other
    cat trace.pftrace >named &
    cat trace.pftrace >other &
    "$gputrace" report -r overview named other | grep -c '  Kernels' | grep -Fx 2
    : >named &
    run -1 "$gputrace" report named
}

@test "a bare array gives the same rows, also without its end" {
    gzip -dc "$kineto" | jq -c '.traceEvents' >array.json
    report kernels "$kineto" >expected
    report kernels array.json | diff expected -
    jq -c '.[]' array.json | sed '1s/^/[/; $!s/$/,/' >open.json
    run --separate-stderr -0 "$gputrace" report -r kernels --format=json open.json
    jq .kernels <<<"$output" | diff expected -
    # shellcheck disable=SC2154 # bats sets stderr
    [[ $stderr == *"cut off"* ]]
}

hostile=$'a,"b"\r\n| pipe |\t<i>*_`\x1b[31m\\ \xe2\x82\xac\x7f'

hostile_trace() { # a kernel of that name, and one whose bytes are not UTF-8
    jq -n --arg name "$hostile" '[{ph: "X", cat: "kernel", name: $name, pid: 0, tid: 7, ts: 1, dur: 2, args: {}}]' >hostile.json
    printf '[{"ph":"X","cat":"kernel","name":"bad \xff\xc0\x80 bytes","pid":0,"tid":7,"ts":1,"dur":2}]' >bytes.json
}

@test "names of any content come back from JSON and CSV as they were" {
    hostile_trace
    [ "$(report kernels hostile.json | jq -j '.[0].name')" = "$hostile" ]
    "$gputrace" report -r kernels --format=csv hostile.json >hostile.csv
    HOSTILE=$hostile python3 - <<'END'
import csv, os
rows = list(csv.DictReader(open("hostile.csv", newline="")))
assert len(rows) == 1 and rows[0]["name"] == os.environ["HOSTILE"], rows
END
    report kernels bytes.json | jq -e '.[0].name == "bad \ufffd\ufffd\ufffd bytes"'
}

@test "names of any content keep to their line in tables and Markdown" {
    hostile_trace
    for format in table markdown; do
        "$gputrace" report -r kernels --format=$format hostile.json >hostile.txt
        [ "$(grep -c 'pipe' hostile.txt)" -eq 1 ]
        grep -F 'a,"b"' hostile.txt | grep -F '[31m'
        run ! grep -P '[\x00-\x09\x0b-\x1f\x7f]' hostile.txt
        "$gputrace" report -r kernels --format=$format bytes.json | iconv -f UTF-8 -t UTF-8 >/dev/null
    done
    grep -F '\| pipe \|' hostile.txt
}

@test "csv: every record of a table has the columns of its head" {
    for section in overview kernels api memtime memsize sync latency nvtx memory streams compilation plugins; do
        case $section in
        compilation | plugins) trace=$compilation ;;
        *) trace=$small ;;
        esac
        "$gputrace" report -r $section --format=csv "$trace" >table.csv
        python3 - <<'END'
import csv, itertools
rows = csv.reader(open("table.csv", newline=""))
tables = [list(table) for some, table in itertools.groupby(rows, bool) if some]
for table in tables:
    assert len(table) > 0 and len({len(row) for row in table}) == 1 and len(set(table[0])) == len(table[0]), table
assert sum(map(len, tables)) > 2 * len(tables), tables
END
    done
}

@test "several traces: each has its heading, and json is an array" {
    run -0 "$gputrace" report -r kernels "$small" "$kineto"
    assert_line "=== $small ==="
    assert_line "=== $kineto ==="
    run -0 "$gputrace" report -r kernels --format=markdown "$small" "$kineto"
    assert_line --partial "# "
    "$gputrace" report --format=json -r kernels "$small" "$kineto" | jq -e 'length == 2 and (.[1].kernels | length) == 19'
}

@test "csv: rows of several traces and sections say which, and those of one section do not" {
    "$gputrace" report --format=csv -r kernels "$small" >one.csv
    grep '^time_percent,' one.csv
    # One head, so that it is one table.
    "$gputrace" report --format=csv -r kernels "$small" "$kineto" >traces.csv
    [ "$(wc -l <traces.csv)" -eq $(($(grep -c . one.csv) + 19)) ]
    sed -n "s|^$small,||p" traces.csv | diff <(sed 1d one.csv) -
    "$gputrace" report --format=csv -r kernels,api "$small" >sections.csv
    sed -n 's/^kernels,//p' sections.csv | diff <(sed 1d one.csv) -
    "$gputrace" report --format=csv "$small" "$kineto" >several.csv
    python3 - "$small" <<'END'
import csv, itertools, sys
for some, table in itertools.groupby(csv.reader(open("several.csv", newline="")), bool):
    table = list(table)
    assert not some or (table[0][:2] == ["trace", "section"] and len({tuple(row[:2]) for row in table[1:]}) <= 1), table
    assert len(set(table[0])) == len(table[0]), table[0]
END
    [ "$(grep -c "^$small,kernels," several.csv)" -eq "$(sed 1d one.csv | wc -l)" ]
}

@test "--top cuts tables and says so; JSON and CSV have all rows" {
    run -0 "$gputrace" report -r kernels --top=2 "$kineto"
    assert_line "  … and 17 more rows (--top=0 shows all)"
    assert_line --regexp "100\.0 +1\.67 ms +72 +total"
    run -0 "$gputrace" report -r kernels --top=2 -u us "$kineto"
    assert_line --regexp "100\.0 +1667\.793 +72 +total"
    [ "$(report kernels "$kineto" | jq length)" -eq 19 ]
    [ "$(report kernels "$kineto" --top=4 | jq length)" -eq 4 ]
    report latency "$kineto" | jq -e 'length == 22'
    run -0 "$gputrace" report -r latency "$kineto"
    assert_line "  … and 2 more rows (--top=0 shows all)"
    run -0 "$gputrace" report -r latency --top=0 "$kineto"
    refute_line --partial "more row"
}

@test "--sort takes any column, by its name or its key" {
    for column in total total_ns calls avg med min max stddev time name; do
        "$gputrace" report -r kernels --sort=$column "$kineto" >/dev/null
    done
    report kernels "$kineto" --sort=calls | jq -e 'map(.calls) | . == (sort | reverse)'
    report kernels "$kineto" --sort=name | jq -e 'map(.name) | . == sort'
    report kernels "$kineto" --sort=max | jq -e 'map(.max_ns) | . == (sort | reverse)'
}

@test "--time-unit is used in tables and csv" {
    run -0 "$gputrace" report -r kernels --time-unit=ms "$small"
    assert_line --regexp 'Total \(ms\) +Calls +Avg \(ms\)'
    run -0 "$gputrace" report -r kernels --format=csv --time-unit=us "$small"
    assert_line --regexp '^time_percent,total_us,calls,avg_us'
    assert_line --regexp '^97\.085,50\.000,2,25\.000,'
}

@test "--time-unit=s leaves four digits to short times, in tables as in the overview" {
    run -0 "$gputrace" report -r kernels,overview -u s "$small"
    assert_line --regexp '^  Time span +0\.0009000 s$'
    assert_line --regexp '^  GPU 1 busy time +0\.000001001 s$'
    # Total, Calls, Avg: kernels of 50 µs and 1 µs
    assert_line --regexp '^ +97\.1 +0\.000050000 +2 +0\.000025000 .* add<float>$'
    run -0 "$gputrace" report -r kernels -u ms "$kineto"
    assert_line --regexp ' 0\.006207 +3 +0\.002069 +0\.002048 '
    run -0 "$gputrace" report -r kernels -u us "$small"
    assert_line --regexp '^ +97\.1 +50\.000 +2 +25\.000 .* add<float>$'
}

@test "a report on a spool, on its trace and on its .pftrace are the same" {
    for run in train graphs memory streams_events vector_add; do
        mkdir "$run"
        gzip -dc "$data/h200/$run.spool.gz" >"$run/1-0.spool"
        cp "$data/h200/$run.session.json" "$run/session.json"
        "$gputrace" recover -q --keep -o "$run.json" "$run"
        "$gputrace" convert -q "$run" "$run.pftrace"
        "$gputrace" report --format=csv "$run.json" >expected
        [ "$(wc -l <expected)" -gt 50 ]
        "$gputrace" report --format=csv "$run" >got
        diff expected got
        "$gputrace" report --format=csv "$run.pftrace" >got
        diff expected got
    done
    run ! "$gputrace" report --snapshot=1ms -r memory "$run/none"
    "$gputrace" report --snapshot=1ms -r memory --format=csv memory.json >expected
    "$gputrace" report --snapshot=1ms -r memory --format=csv memory >got
    diff expected got
}

# The sections' words, in their order, as the help lists them.
all_sections() {
    "$gputrace" report -r list | cut -d ' ' -f 1
    echo all
}

@test "sections are chosen with -r, in the report's own order" {
    run -0 "$gputrace" report -r streams,kernels "$small"
    assert_output --regexp $'^Kernels \\(kernels\\)\n.*\nStreams \\(streams\\)\n'
    refute_output --partial "API calls"
    "$gputrace" report --format=json "$small" | jq -r 'keys_unsorted[]' >got
    { echo trace; all_sections | grep -vx all; } >words
    grep -vxE 'idle-where|idle-streams|temporal|critical-names|phases|(nvtx|memory)-.*' got | diff words -
}

@test "-r list prints the question that each section answers, in a line" {
    run -0 --separate-stderr "$gputrace" report -r list
    assert_equal "$stderr" ''
    printf '%s\n' "${lines[@]}" | cut -d ' ' -f 1 | diff <(all_sections | grep -vx all) -
    assert_line --regexp '^idle +Why did the GPUs do nothing\?$'
    for line in "${lines[@]}"; do
        [[ $line == *[a-z]\? ]] && [ ${#line} -le 100 ]
    done
    "$gputrace" diff -r list >compared
    "$gputrace" report -r list | comm -13 <(sort compared) <(sort) | grep '^hang '
    grep '^kernels ' compared
    for command in report diff; do
        "$gputrace" $command -f json -r list | jq -r '.[] | "\(.section) \(.question)"' >from-json
        "$gputrace" $command -r list | tr -s ' ' | diff - from-json
        run -2 "$gputrace" $command -r list -f csv
        assert_output "gputrace: '-r list' prints a table or JSON: use --format=json, or no --format"
    done
}

@test "a word of -r prints its parts, too; their own words choose one table, with a notice" {
    tables() { # WORD TRACE
        "$gputrace" report -r "$1" "$2" | sed -nE 's/^.* \(([a-z-]+)\)$/\1/p' | paste -sd ' '
    }
    assert_equal "$(tables memory "$memory")" 'memory memory-peak memory-leaks memory-churn memory-failures'
    assert_equal "$(tables nvtx "$data/report/nvtx.json")" 'nvtx nvtx-tree nvtx-gpu nvtx-kernels'
    assert_equal "$(tables compilation "$compilation")" 'compilation phases'
    assert_equal "$(tables idle,queue,overlap,critical-path "$kineto")" \
        'idle idle-where critical-path critical-names temporal overlap queue idle-streams'
    # A part that has nothing to show takes no space.
    jq 'del(.traceEvents[] | select(.args.error? // .args.result? // empty))' "$memory" >no-failures.json
    assert_equal "$(tables memory no-failures.json)" 'memory memory-peak memory-leaks memory-churn'
    run -0 --separate-stderr "$gputrace" report -r memory-leaks "$memory"
    assert_equal "$stderr" "gputrace: section 'memory-leaks' is now part of 'memory'"
    assert_line --index 0 'Memory still allocated at the end (memory-leaks)'
    refute_line --partial '(memory)'
    "$gputrace" report -r memory -f json "$memory" | jq -e 'has("memory") and has("memory-leaks")'
}

@test "an empty section is left out unless it was asked for" {
    echo '[]' >empty.json
    run -0 "$gputrace" report -r all --width=0 empty.json
    assert_line "Not in this trace: $(all_sections | grep -vx -e findings -e overview -e all | paste -sd, | sed 's/,/, /g')"
    run -0 "$gputrace" report -r kernels empty.json
    assert_output $'Kernels (kernels)\n  none in this trace'
    for format in csv json markdown; do
        "$gputrace" report --format=$format empty.json >/dev/null
    done
}

# small.json, as it is when --trace takes away these words of its: the events that they name are not there.
without() { # WORD...
    jq --args '
        {kernel: "kernel", memcpy: "gpu_memcpy", memset: "gpu_memset", runtime: "cuda_runtime", driver: "cuda_driver",
         sync: "cuda_sync", memory: "memory", nvtx: "user_annotation", compile: "compilation"} as $categories
        | ($ARGS.positional | map($categories[.])) as $gone
        | .gputrace.options.trace = (($categories | keys) + ["event", "stream", "graph"] - $ARGS.positional)
        | del(.traceEvents[] | select(.cat as $cat | ($gone | index($cat)) or (.ph == "C" and ($gone | index("memory")))
            or (.cat == "gpu_user_annotation" and ($gone | index("user_annotation")))))' "$@" <"$small" >without.json
}

@test "what --trace left out is not recorded in its sections, neither 0 nor none" {
    local word section
    without
    jq 'del(.gputrace.options)' without.json >no-options.json
    "$gputrace" report -r all without.json | diff <("$gputrace" report -r all no-options.json) -
    while read -r word section; do
        # shellcheck disable=SC2086 # several words
        without ${word//,/ }
        for section in $section; do
            # The key of each table chooses it alone.
            run -0 --separate-stderr "$gputrace" report -r "$section" without.json
            assert_line --index 1 "  not recorded (left out by --trace): ${word//,/, }"
            [ "$(printf '%s\n' "${lines[@]}" | grep -cv '^Not recorded ')" -eq 2 ] # but for its parts
            run -0 --separate-stderr "$gputrace" report -r "$section" --format=markdown without.json
            assert_line --index 1 "not recorded (left out by --trace): ${word//,/, }"
            "$gputrace" report -r "$section" --format=csv without.json | grep -F "not recorded: ${word%%,*}"
            "$gputrace" report -r "$(section_of "$section")" --format=json without.json |
                jq -e --arg section "$section" --arg words "$word" '.[$section] == null and .not_recorded == ($words | split(","))'
        done
    done <<'END'
kernel kernels nvtx-kernels
memcpy,memset memtime memsize
kernel,memcpy,memset latency streams nvtx-gpu
runtime,driver api errors latency nvtx-gpu nvtx-kernels
runtime,driver,sync sync
memory memory memory-peak memory-leaks memory-churn memory-failures
nvtx nvtx nvtx-tree nvtx-gpu nvtx-kernels
compile compilation phases
END
}

@test "what --trace left out in part is named below the rows, and its counts are not recorded" {
    without kernel
    run -0 "$gputrace" report -r all --width=0 without.json
    assert_line --regexp '^  GPU 0 busy time .* without kernel$'
    assert_line --regexp '^  Kernels +not recorded$'
    assert_line --regexp '^Not recorded \(left out by --trace\): kernels, nvtx-kernels$'
    refute_line --regexp '^Not in this trace: .*kernels'
    for section in latency streams nvtx nvtx-gpu; do
        run -0 "$gputrace" report -r $section without.json
        assert_line '  not recorded (left out by --trace): kernel'
    done
    report streams without.json | jq -e 'length == 2 and all(.kernels == null and .copies != null)'
    run -0 "$gputrace" report -r streams without.json
    assert_line --regexp '^ +[0-9.]+ +[0-9.]+ µs +not recorded +[0-9]'
    report nvtx-gpu without.json | jq -e 'length > 0 and all(.kernels == null)'
    without memset driver
    run -0 "$gputrace" report -r overview,api without.json
    assert_line --regexp '^  Memory sets +not recorded$'
    assert_line --regexp '^  API calls +[0-9]+ +without driver$'
    assert_line '  not recorded (left out by --trace): driver'
    without kernel memcpy memset runtime driver nvtx compile
    for item in "GPU busy" Kernels "Memory copies" "Memory sets" "API calls" "Failed API calls" "NVTX ranges" Compiling; do
        [ "$(value_of "$item" without.json)" = "not recorded" ]
    done
}

# What a terminal of COLUMNS characters shows of a report, with colours marked: <1> is bold.
on_terminal() { # COLUMNS ARGUMENT...
    local columns=$1
    shift
    TERM=xterm command script -qec "stty cols $columns; $(printf '%q ' "$gputrace" report "$@")" /dev/null |
        tr -d '\r' | sed 's/\x1b\[\([0-9]*\)m/<\1>/g'
}

@test "tables fit the lines of a terminal, with the most important columns" {
    command -v script >/dev/null || skip "there is no script(1)"
    local columns
    for columns in 60 80 120 200; do
        on_terminal $columns -r all --color=never "$kineto" >report
        [ "$(wc -L <report)" -le $columns ]
        [ "$(grep -c '^  Time %  *Total  *Calls ' report)" -ge 2 ]
    done
    grep -E '^  Time % +Total +Calls +Avg +Med +Min +Max +StdDev +Name$' report
    on_terminal 80 -r kernels --color=never "$kineto" >report
    grep -E '^  Time % +Total +Calls +Avg +Max +Name$' report
    grep -F 'Columns left out: --columns=all shows them' report
    on_terminal 200 -r kernels --color=never "$kineto" >report
    run ! grep -F 'Columns left out' report
}

@test "on a terminal a report, a page and a comparison say what they read, while it takes long" {
    command -v script >/dev/null || skip "there is no script(1)"
    local words
    for words in "report slow" "report --html=page.html slow" "diff slow '$small'"; do
        rm -f slow shown
        mkfifo slow
        command script -qfec "'$gputrace' $words" shown >/dev/null 3>&- &
        exec 9>slow # the trace comes when progress is seen
        timeout 60 sh -c 'until grep -q "gputrace: reading" shown; do sleep 0.05; done'
        cat "$small" >&9
        exec 9>&-
        wait $!
        grep -qE $'\x1b\[Kgputrace: reading (slow|traces), [0-9]+ s' shown
        # The line is cleared before anything else is written.
        assert_equal "$(tr '\r' '\n' <shown | grep 'gputrace: reading' | grep -v ', [0-9]* s$')" ''
        [[ $words != *html* ]] || [ -s page.html ]
    done
    run --separate-stderr -0 "$gputrace" report "$small"
    assert_equal "$stderr" ''
}

@test "a terminal has a pager, which may be missing, end early or be unwanted; files and pipes have none" {
    command -v script >/dev/null || skip "there is no script(1)"
    export GPUTRACE_PAGER='sed s/^/paged:/'
    on_terminal 100 "$kineto" >report
    grep -E '^paged:.*kineto-train-h200' report
    run ! grep -vE '^paged:' report
    on_terminal 100 --no-pager "$kineto" >report
    run ! grep paged: report
    "$gputrace" report "$kineto" >report
    run ! grep paged: report
    GPUTRACE_PAGER=/nowhere/less on_terminal 100 "$kineto" | grep -F 'More: gputrace report -r list'
    # The shell reads it, as it does git's.
    GPUTRACE_PAGER='PAGED=yes env' on_terminal 100 "$kineto" | grep -x PAGED=yes
    # It ends early, and the exit status is the report's.
    local errors=$root/tests/data/report/errors.json
    run -3 env script -qec "GPUTRACE_PAGER='head -n 1' '$gputrace' report -r all --fail-on=any '$errors'" /dev/null
    [ "${#lines[@]}" -eq 1 ]
}

@test "files and pipes have lines of 120 characters, and whole names and all columns when asked" {
    "$gputrace" report -r kernels --names=full "$kineto" >report
    [ "$(wc -L <report)" -le 120 ]
    "$gputrace" report -r kernels --names=full --width=0 "$kineto" >report
    grep -F 'StdDev' report
    for name in "$(report kernels "$kineto" | jq -r '.[4].name')"; do
        grep -F " $name" report
    done
    "$gputrace" report -r kernels --width=90 "$kineto" >report
    [ "$(wc -L <report)" -le 90 ]
    "$gputrace" report -r kernels --width=90 --columns=all "$kineto" >report
    grep -F 'StdDev' report
}

@test "names that are shortened stay different" {
    local width
    for width in 70 80 90 100; do
        "$gputrace" report -r kernels --width=$width --columns=time,name -n 0 --names=full "$kineto" >report
        sed -n 's/^ *[0-9.]\+  //p' report | grep -v '^total' | sort >names
        [ "$(wc -l <names)" -eq 19 ]
        [ "$(uniq -d names | wc -l)" -eq 0 ]
    done
    grep -F '…' names
}

@test "--columns shows these columns, in this order and in every format" {
    run -0 "$gputrace" report -r kernels,memsize --columns=name,max,share -u us "$kineto"
    assert_line --regexp '^  Name +Max \(µs\)$'
    assert_line --regexp '^  Operation +Max +Bytes %$'
    run -0 "$gputrace" report -r kernels --columns=name,total_ns -f csv "$small"
    assert_line --index 0 --partial 'name,total_ns'
    report kernels "$small" --columns=calls,name | jq -e '.[0] | keys_unsorted == ["calls", "name"]'
    # A section without any of them has its own.
    run -0 "$gputrace" report -r streams,kernels --columns=name,stddev "$small"
    assert_line --regexp '^  Name +StdDev$'
    run -2 "$gputrace" report -r kernels --columns=name,nmae "$small"
    assert_output --partial "no column 'nmae' to show: did you mean 'name'?"
    run -2 "$gputrace" report --columns= "$small"
    assert_output --partial "no column '' to show"
}

@test "--columns that have nothing in them are an error for people, which lists those that have" {
    run -1 "$gputrace" report -r nvtx --columns=domain "$kineto"
    assert_output "gputrace: '$kineto': section 'nvtx' has nothing in columns 'domain': it has total, gpu_busy, count, avg, med, min, max, stddev, kind, name"
    run -1 "$gputrace" report -r kernels --columns=grid,block -f markdown "$kineto"
    run -0 "$gputrace" report -r kernels --columns=grid,name "$kineto"
    run -0 "$gputrace" report -r kernels --columns=grid,block -f csv "$kineto"
    run -0 "$gputrace" report -r errors --columns=name "$kineto"
    run -2 "$gputrace" report -r overview --columns=name "$kineto"
    assert_output --partial "cannot show 'name': these sections have none"
    # Programs get all columns.
    "$gputrace" report -r kernels --columns=all -f csv "$kineto" | diff <("$gputrace" report -r kernels -f csv "$kineto") -
}

@test "colours and bars are for terminals, unless asked for" {
    command -v script >/dev/null || skip "there is no script(1)"
    on_terminal 120 -r kernels,errors "$small" >report
    grep -F '<1>Kernels<0> (kernels)' report
    grep -F '97.1 <36>████████<0> ' report
    grep -F '<31>cudaErrorMemoryAllocation (2)<0>' report
    on_terminal 120 -r overview,api "$small" >report
    grep -F 'Failed API calls                 <31>1<0>' report
    grep -F 'Lost or doubtful: in flight      <31>1<0>' report
    grep -E ' <31>1<0>  <31>cudaErrorMemoryAllocation \(2\)<0> .*cudaMalloc' report
    run ! grep -F '<31>0<0>' report
    NO_COLOR=1 on_terminal 120 -r kernels,errors "$small" >report
    run ! grep -E '<[0-9]+>' report
    grep -F '97.1 ████████ ' report
    on_terminal 120 --color=never -r kernels "$small" >report
    run ! grep -E '<[0-9]+>' report
    "$gputrace" report "$small" >report
    run ! grep -P '\x1b|█' report
    "$gputrace" report -r kernels --color=always "$small" >report
    grep -P '^\x1b\[1mKernels\x1b\[0m' report
    for format in csv json markdown; do
        "$gputrace" report --format=$format --color=always "$small" >report
        run ! grep -P '\x1b|█' report
    done
}

@test "a locale without UTF-8 gets ASCII, any other UTF-8" {
    LC_ALL=C "$gputrace" report --color=always -r all -n 2 "$kineto" >report
    run ! grep -P '[^\x00-\x7f]' report
    grep -F ' us ' report
    grep -F '########' report
    LC_ALL=C "$gputrace" report -r all "$errors" >report
    run ! grep -P '[^\x00-\x7f]' report
    grep -F '2 x CUDA_ERROR_OUT_OF_MEMORY (2)' report
    LC_ALL=C "$gputrace" report -r memory --snapshot=450us "$memory" | grep -F 'at 450 us (memory)'
    LC_ALL=C.UTF-8 "$gputrace" report -r kernels "$kineto" | grep -F ' µs '
    env -u LC_ALL -u LC_CTYPE -u LANG "$gputrace" report -r kernels "$kineto" | grep -F ' µs '
}

@test "numbers in tables have a unit that suits them and separators; programs get exact ones" {
    cat >units.json <<'END'
{"traceEvents":[
{"ph":"X","cat":"kernel","name":"long","pid":0,"tid":7,"ts":0,"dur":12345678,"args":{"device":0,"stream":7}},
{"ph":"X","cat":"kernel","name":"short","pid":0,"tid":7,"ts":12345679,"dur":0.9996,"args":{"device":0,"stream":7}},
{"ph":"X","cat":"gpu_memcpy","name":"copy","pid":0,"tid":7,"ts":12345690,"dur":999999.7,"args":{"device":0,"stream":7,"bytes":4831838208}}]}
END
    jq '.traceEvents += [range(1234) | {ph: "X", cat: "cuda_runtime", name: "cudaMalloc", pid: 9, tid: 9, ts: (20000000 + 2 * .), dur: 1}]' \
        units.json >many.json
    run -0 "$gputrace" report -r all many.json
    assert_line --regexp '^ +100\.0 +12\.3 s  +1 .* long$'
    assert_line --regexp '^ +0\.0 +1\.00 µs +1 .* short$'
    assert_line --regexp '^ +100\.0 +4\.50 GiB +1 .* 4\.83 GB/s +copy$'
    assert_line --regexp '^ +100\.0 +1\.23 ms +1,234 .* cudaMalloc$'
    assert_line --regexp '^  API calls +1,234$'
    report kernels many.json | jq -e 'map(.total_ns) == [12345678000, 1000]'
    run -0 "$gputrace" report -r api -f markdown many.json
    assert_line --regexp '^\| 100\.0 \| 1234\.000 \| 1234 \|'
}

@test "without -r the report is one screen: what ran, findings, where the time goes, kernels" {
    run -0 "$gputrace" report "$kineto"
    assert_line --index 0 'kineto-train-h200.json.gz · H200 · 9.07 ms · GPU busy 19 % · 3 steps of 2.98 ms'
    [ "$(grep -cE '\([a-z-]+\)$' <<<"$output")" -eq 3 ]
    assert_line 'Findings (findings)'
    assert_line 'Where a step goes (time)'
    assert_line 'Kernels (kernels)'
    assert_line '  … and 14 more rows (--top=0 shows all)'
    assert_line --index -1 --partial 'More: gputrace report -r list'
    [ "${#lines[@]}" -le 36 ] # and four empty ones
    run -0 "$gputrace" report -n 12 "$kineto"
    assert_line '  … and 7 more rows (--top=0 shows all)'
    run -0 "$gputrace" report -r all "$kineto"
    assert_line 'Launch latency (latency)'
    assert_line 'Overview (overview)'
    refute_line --partial 'More: '
    run -0 "$gputrace" report --snapshot=2ms "$memory"
    assert_line 'Memory allocated at 2 ms (memory)'
}

@test "an empty --fail-on is an error, and what is said in place of findings is no wider than the rest" {
    run -2 "$gputrace" report --fail-on= "$kineto"
    assert_output 'gputrace: no finding to fail on: --fail-on is empty'
    run -0 "$gputrace" report --width=60 --from=99% "$kineto"
    assert_line '  No rule finds a fault. Nothing ran on a GPU in 90.7 µs;'
    assert_line '    threads were in CUDA calls for 12.8 µs, 12.8 µs of it in'
}

@test "of two processes the one whose steps take longest says how long a step is" {
    # The host of process 1, which warms up for 100 ms, is ahead of its GPU, which waits for process 2.
    jq -n '{traceEvents: [range(20) as $i | {pid: 1, from: (if $i == 0 then 0 else 95000 + 5000 * $i end), length: (if $i == 0 then 100000 else 5000 end)},
            {pid: 2, from: (if $i == 0 then 30000 else 90000 + 10000 * $i end), length: (if $i == 0 then 70000 else 10000 end)}
        | ({ph: "X", cat: "user_annotation", name: "step \($i)", pid, tid: .pid, ts: .from, dur: .length},
           {ph: "X", cat: "cuda_runtime", name: "cudaLaunchKernel", pid, tid: .pid, ts: .from, dur: 5, args: {correlation: (100 * .pid + $i)}},
           {ph: "X", cat: "kernel", name: "k", pid: .pid, tid: 7, ts: (.from + 10), dur: 4000, args: {device: .pid, stream: 7, correlation: (100 * .pid + $i)}})]}' >two.json
    run -0 "$gputrace" report two.json
    assert_line --index 0 --partial ' · 19 steps of 10 ms'
}

@test "one rank alone has no table of ranks on the first screen" {
    gzip -dc "$kineto" | jq '.distributedInfo = {backend: "nccl", rank: 0, world_size: 1}' >rank.json
    run -0 "$gputrace" report rank.json
    assert_line 'Kernels (kernels)'
    refute_line 'Ranks (ranks)'
    run -0 "$gputrace" report -r ranks rank.json
    assert_line 'Ranks (ranks)'
}

@test "where nothing ran on a GPU the report says how long threads were in calls" {
    jq 'del(.traceEvents[] | select(.args.fault))' "$memory" >right.json
    run -0 "$gputrace" report right.json
    assert_line --partial 'Nothing ran on a GPU in 4 ms; threads were in CUDA calls for 20 µs, 10 µs of it in cudaFree().'
}

@test "a finding of idle time says the time that the table has, and the parts of a step add up to it" {
    run -0 "$gputrace" report -r findings,time "$kineto"
    assert_line --partial 'The GPU waits for the host to launch: 1.44 of 2.98 ms of a step'
    assert_line --regexp '^ +1\.44 ms +48\.2 +waiting for launches$'
    report time "$kineto" >rows
    report steps "$kineto" >steps
    jq -e 'length > 5 and (map(.share_percent) | add - 100 | fabs < 1e-3)' rows
    jq -e 'map(.time_ns) | add | . == 2983296' rows
}

@test "kernels have pretty names in tables and full ones for programs, unless asked" {
    run -0 "$gputrace" report -r kernels,latency,nvtx --width=0 "$kineto"
    [ "$(grep -cE ' multi_tensor_apply<TernaryOpScalar, Lerp<float>>$' <<<"$output")" -ge 3 ]
    refute_output --partial 'at::native'
    run -0 "$gputrace" report -r kernels --format=markdown "$kineto"
    assert_output --partial 'reduce\<Mean\<float\>\>'
    report kernels "$kineto" | jq -e 'map(select(.name | startswith("void at::native::reduce_kernel<"))) | length == 2'
    report kernels "$kineto" --names=pretty | jq -e 'map(.name) | length == 19 and (unique | length) == 19 and (index("reduce<Mean<float>>") != null)'
    "$gputrace" report -r kernels -f csv "$kineto" | grep -F 'void at::native::'
    run -0 "$gputrace" report -r kernels --names=full --width=0 "$kineto"
    assert_output --partial 'void at::native::reduce_kernel<'
}

@test "an error about an option lists the valid ones" {
    run -2 "$gputrace" report -r kernels,nonsense "$small"
    assert_output "gputrace: --report: 'nonsense' is not valid: use $(all_sections | paste -sd, | sed 's/,/, /g'), list"
    run -2 "$gputrace" report --format=xml "$small"
    assert_output --partial "use table, csv, json, markdown"
    run -2 "$gputrace" report --names=x "$small"
    assert_output --partial "use pretty, full, short, mangled"
    run -2 "$gputrace" report --time-unit=h "$small"
    assert_output --partial "use auto, ns, us, ms, s"
    for top in x -1 1x '' 99999999999999999999999; do
        run -2 "$gputrace" report --top="$top" "$small"
        assert_output --partial "is not a number of rows"
    done
    run -2 "$gputrace" report -r kernels --sort=size "$small"
    assert_output "gputrace: no column 'size' to sort by: these sections have time, total, calls, avg, med, min, max, stddev, grid, block, name"
    run -2 "$gputrace" report
    assert_output --partial "no trace to report on"
}

@test "a word that is nearly right gets a suggestion" {
    run -2 "$gputrace" report -r overview,kernel "$small"
    assert_output --partial "--report: 'kernel' is not valid: did you mean 'kernels'? Valid are findings, "
    run -2 "$gputrace" report -f JSON "$small"
    assert_output --partial "--format: 'JSON' is not valid: did you mean 'json'? Valid are table, csv, json, markdown"
    run -2 "$gputrace" report -r kernels -s totl "$small"
    assert_output --partial "no column 'totl' to sort by: did you mean 'total'? These sections have time, total, "
}

@test "without a file the newest trace of this directory is reported" {
    run -2 "$gputrace" report
    assert_output "gputrace: no trace to report on: no 'trace.json' in this directory; use 'gputrace report FILE', or write a trace with 'gputrace run PROGRAM'"
    "$gputrace" run -q -o trace.json sh -c 'exit 0' first
    "$gputrace" run -q -o trace.pftrace sh -c 'exit 0' second
    touch -d '1 hour ago' trace.json
    run -0 --separate-stderr "$gputrace" report -r overview -f csv
    assert_line --partial 'sh -c exit 0 second'
    # shellcheck disable=SC2154 # Bats sets it
    assert_equal "$stderr" "gputrace: this is the report of 'trace.pftrace'"
    touch trace.json
    run -0 --separate-stderr "$gputrace" report -r overview -f csv
    assert_line --partial 'sh -c exit 0 first'
}

@test "a file that is not a trace is an error with its name, the place and what was expected" {
    echo 'hello' >text
    run -1 "$gputrace" report text
    assert_output "gputrace: 'text', line 1 (byte 0): found 'h': expected a trace in the trace-event format, {\"traceEvents\": [...]} or [...]"
    echo '{"a": 1}' >other.json
    run -1 "$gputrace" report other.json
    assert_output "gputrace: 'other.json' is JSON but not a trace: expected the key \"traceEvents\""
    printf '{\n"traceEvents": [\n{"ph": "X"' >cut.json
    run -1 "$gputrace" report cut.json
    assert_output --partial "'cut.json', line 3 (byte $(wc -c <cut.json)): the file ends here: expected the rest of the events"
    head -c 100 "$kineto" >cut.json.gz
    run -1 "$gputrace" report cut.json.gz
    assert_output --partial "'cut.json.gz' is damaged or cut off"
    run -1 "$gputrace" report missing.json
    assert_output --partial "cannot open 'missing.json': No such file or directory"
    run -1 "$gputrace" report - <text
    assert_output --partial "'standard input', line 1 (byte 0)"
}

@test "a report that cannot be written is an error" {
    [ -e /dev/full ] || skip "needs /dev/full"
    run -1 bash -c '"$1" report "$2" >/dev/full' _ "$gputrace" "$small"
    assert_output --partial "cannot write to standard output: No space left on device"
}

@test "one is not said in the plural, and counts have separators, in all sections of all traces" {
    local trace said range='{"ph":"X","cat":"user_annotation","name":"a","pid":1,"tid":1,"dur":1,"ts":'
    echo "[${range}0}]" >one.json
    { echo '['; seq -f "$range%.0f}," 12000; echo "${range}0}]"; } >many.json
    for trace in "$data"/{foreign,report}/*.json "$kineto" one.json many.json; do
        for said in "-r all -n 0" ""; do
            # shellcheck disable=SC2086 # several words
            "$gputrace" report $said --width=0 "$trace" >>said
        done
    done
    [ "$(wc -l <said)" -gt 1000 ]
    # "1 events", but "rank 1 makes" and "1 ms".
    run -1 grep -E '(^|[^0-9.,:#/+-])1 [a-z]+s\b' <(sed -E 's/1 (ms|ns|is|has|makes|takes|was|keeps)\b//g; s/(rank|GPU|stream) 1\b//g' said)
    # Numbers of errors and of a GPU are no counts.
    run -1 grep -E '(^|[ (])[0-9]{5,}($|[ )])' <(sed -E 's/(error|GPU|thread|process|pid) [0-9]+//g' said)
}

@test "-v says what each step of a report took" {
    run -0 --separate-stderr "$gputrace" report -v "$root/tests/data/report/small.json"
    assert_equal "$(sed -nE 's/^gputrace: (.*): [0-9]+[.][0-9]{3} s$/\1/p' <<<"$stderr" | head -n 3 | paste -sd,)" \
        'trace read,operations and calls joined,findings'
}

@test "a record of a wait is joined with the call of its process, not with another's of the same correlation id" {
    cat >trace.json <<'END'
{"gputrace":{"version":"0.1.0","processes":[{"pid":100,"gpu_pids":{"0":101}},{"pid":200,"gpu_pids":{"0":201}}]},"traceEvents":[
{"ph":"X","cat":"kernel","name":"other","pid":101,"tid":13,"ts":5,"dur":500,"args":{"device":0,"context":1,"stream":13,"correlation":1}},
{"ph":"X","cat":"kernel","name":"own","pid":201,"tid":13,"ts":5,"dur":500,"args":{"device":0,"context":1,"stream":13,"correlation":1}},
{"ph":"X","cat":"cuda_runtime","name":"cudaStreamSynchronize","pid":100,"tid":7,"ts":300,"dur":210,"args":{"correlation":2}},
{"ph":"X","cat":"cuda_sync","name":"Stream Sync","pid":101,"tid":99,"ts":302,"dur":200,"args":{"device":0,"context":1,"stream":13,"correlation":2,"wait_on_stream":-1,"wait_on_cuda_event_record_corr_id":0}},
{"ph":"X","cat":"cuda_runtime","name":"cudaMalloc","pid":200,"tid":8,"ts":301,"dur":5,"args":{"correlation":2}}]}
END
    "$gputrace" report -r sync -f json trace.json | jq -c '.sync[] | [.kind, .waiter, .target, .total_ns]' >got
    diff - got <<'END'
["cudaStreamSynchronize","thread 7","GPU 0 stream 13",210000]
END
}
