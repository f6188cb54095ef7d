# Traces that other profilers wrote, as the report reads them: figures that were worked out by hand.

load common

foreign=$root/tests/data/foreign

# The trace NAME in the forms in which a report may get it: JSON, .pftrace, and JSON again.
forms() { # NAME
    cp "$foreign/$1.json" it.json
    run -0 "$gputrace" convert it.json it.pftrace
    run -0 "$gputrace" convert it.pftrace back.json
}

report() { # SECTION FILE [JQ...]: the section's rows
    local section=$1 file=$2
    shift 2
    "$gputrace" report -r "$section" --format=json "$file" | jq -c --arg section "$section" ".[\$section] | ${*:-.}"
}

# Whether JQ of SECTION is EXPECTED of each form of the trace.
is_in_each_form() { # SECTION EXPECTED JQ
    local file
    for file in it.json it.pftrace back.json; do
        [ "$(report "$1" "$file" "$3")" = "$2" ] || { report "$1" "$file" && return 1; }
    done
}

items='map({(.item): .value}) | add'

# Sixty kernels of 3 ms, between them a wait, an allocation and a release, called PREFIX….
calls_of() { # PREFIX
    jq -n --arg api "$1" '{deviceProperties: [{id: 0, name: "X"}], traceEvents: [range(60) as $i | ($i * 4200) as $t |
        def call($name; $at; $dur; $id): {ph: "X", cat: "cuda_runtime", name: ($api + $name), pid: 1, tid: 1, ts: ($t + $at),
            dur: $dur, args: {correlation: ($i * 4 + $id)}};
        call("LaunchKernel"; 0; 5; 1), {ph: "X", cat: "kernel", name: "k", pid: 0, tid: 0, ts: ($t + 10), dur: 3000,
            args: {device: 0, stream: 0, correlation: ($i * 4 + 1)}},
        call("DeviceSynchronize"; 20; 3000; 2), call("Malloc"; 3050; 500; 3), call("Free"; 3600; 500; 4)]}'
}

@test "shared memory of a launch is not an error, and a kernel's kind is not a range" {
    forms hip-shared-memory-is-error
    is_in_each_form overview '[0,1,1]' "$items | [.\"Failed API calls\", .\"API calls\", .Kernels]"
    is_in_each_form errors '[]' .
    is_in_each_form findings 0 length
    run -0 "$gputrace" report --fail-on=failed-calls it.json
    run -0 "$gputrace" report -r nvtx-tree,nvtx,operators,nvtx-kernels it.json
    refute_output --partial 'Dispatch Kernel'
}

# The test of trace/json/parse has each argument on each category. Here what sections say of the ones that share memory.
@test "arguments of another category change no section" {
    local category
    for category in cuda_runtime cuda_driver kernel gpu_memcpy gpu_memset cuda_sync user_annotation gpu_user_annotation \
        cpu_op python_function overhead Trace unknown; do
        jq -n --arg category "$category" '{ph: "X", cat: $category, name: "hipX", pid: 1, tid: 1, ts: 1, dur: 5,
            args: {correlation: 1, device: 1, stream: 7}} as $event | {traceEvents: [$event]}' >bare.json
        jq '.traceEvents[0].args += {fault: "leak", held: 5, "held by kind": "x", address: "0x10", waker: 3, "cache hit": 1,
            ending: "x", function: "f", "Addr": 5, "Bytes": 4096, "Total Allocated": 4096, "Total Reserved": 8192,
            "Device Type": 1}' bare.json >full.json
        "$gputrace" report -r all --format=json bare.json | jq 'del(.trace)' >bare
        "$gputrace" report -r all --format=json full.json | jq 'del(.trace)' >full
        diff bare full
    done
}

@test "calls of HIP, MUSA and others are what CUDA's of the name are" {
    local prefix
    calls_of cuda >cuda.json
    for prefix in hip musa mtia; do
        calls_of $prefix >it.json
        diff <(report idle cuda.json | sed "s/cuda/$prefix/g") <(report idle it.json)
        diff <(report findings cuda.json 'map([.id, .cost_ns, .gain_ns])') <(report findings it.json 'map([.id, .cost_ns, .gain_ns])')
        [ "$(report findings it.json 'map(.id) | contains(["device-waits", "allocation-churn"])')" = true ]
    done
}

@test "calls and waits of other accelerators are of Kineto's categories for them" {
    local category
    for category in xpu_runtime xpu_driver mtia_runtime privateuse1_runtime privateuse1_driver; do
        jq -n --arg category $category '{traceEvents: [range(100) as $i | ($i * 100) as $t | {ph: "X", cat: $category,
            name: "urEnqueueKernelLaunch", pid: 100, tid: 100, ts: $t, dur: 20, args: {correlation: $i}},
            {ph: "X", cat: "kernel", name: "gemm", pid: 0, tid: 9, ts: ($t + 30), dur: 10,
            args: {correlation: $i, device: 0, "sycl queue": 3}}]}' >it.json
        run -0 "$gputrace" convert --force it.json it.pftrace
        run -0 "$gputrace" convert --force it.pftrace back.json
        is_in_each_form overview '[100,100]' "$items | [.\"API calls\", .Kernels]"
        is_in_each_form latency 100 '.[0].calls'
        is_in_each_form streams 3 '.[0].stream'
        is_in_each_form findings '["launch-bound"]' 'map(.id)'
    done
    jq -n '{traceEvents: [{ph: "X", cat: "mtia_ccp_events", name: "op", pid: 0, tid: 9, ts: 1, dur: 10, args: {}}]}' >it.json
    [ "$(report streams it.json '.[0] | [.stream, .kernels]')" = '[9,1]' ]
}

@test "categories of PyTorch 1.8 to 1.10 are read" {
    forms pytorch-1.9-categories
    is_in_each_form overview '[1,1,1,1,1,1,42]' \
        "$items | [.Kernels, .\"Memory copies\", .\"Memory sets\", .\"API calls\", .\"CPU operators\", .Threads, .\"GPU 0 busy\"]"
    is_in_each_form operators '[["aten::mm",1,100000]]' 'map([.name, .calls, .gpu_ns])'
    is_in_each_form kernels '[["gemm",1]]' 'map([.name, .calls])'
    run -0 jq -c '[.traceEvents[] | select(.cat == "ac2g") | .ph]' back.json
    assert_output '["s","f"]'
    run -0 "$gputrace" convert it.json it.sqlite
    [ "$(sqlite3 it.sqlite 'select count(*) from kernels')" = 1 ]
}

@test "GPUs without an operation are not idle GPUs" {
    forms unused-gpu-low-use
    is_in_each_form findings '[]' .
    run -0 "$gputrace" report --fail-on=low-use it.json
    run -0 "$gputrace" report -r all it.json
    refute_output --partial 'GPU 0'
}

@test "of a copy without bytes neither bandwidth nor total is known" {
    forms copy-without-bytes
    is_in_each_form memtime '[[null,1]]' 'map([.bandwidth_gb_s, .count])'
    is_in_each_form memsize '[[null,null,null,1]]' 'map([.bandwidth_gb_s, .total_bytes, .avg_bytes, .count])'
    jq '.traceEvents += [.traceEvents[1] | .args.bytes = 40000 | .ts = 40]' it.json >some.json
    [ "$(report memsize some.json '.[0] | [.bandwidth_gb_s, .total_bytes, .avg_bytes, .count]')" = '[4,40000,40000,2]' ]
    jq '.traceEvents += [range(20) as $i | .traceEvents[] | .ts += $i * 1e5 | .dur = 5e4 | .args.correlation += $i + 1]' it.json >many.json
    run -0 "$gputrace" report -r findings many.json
    assert_output --partial 'copies of unknown size'
}
