# Traces that other profilers wrote, as the report reads them: figures that were worked out by hand.

load common

foreign=$root/tests/data/foreign

# The trace NAME in the forms in which a report may get it: JSON, .pftrace, and JSON again.
forms() { # NAME
    cp "$foreign/$1.json" it.json
    run -0 "$gputrace" convert --force it.json it.pftrace
    run -0 "$gputrace" convert --force it.pftrace back.json
}

report() { # SECTION FILE [JQ...]: the section's rows
    local section=$1 file=$2
    shift 2
    "$gputrace" report -r "$(section_of "$section")" --format=json "$file" | jq -c --arg section "$section" ".[\$section] | ${*:-.}"
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
    run -0 "$gputrace" report -r nvtx,operators it.json
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
        diff <(report idle cuda.json | sed "s/cuda/$prefix/g; s/outside CUDA/outside GPU calls/") <(report idle it.json)
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

# The trace of these events, JSON, in all forms of forms().
written() { # EVENTS
    printf '{"traceEvents": [%s]}\n' "$1" >it.json
    run -0 "$gputrace" convert --force it.json it.pftrace
    run -0 "$gputrace" convert --force it.pftrace back.json
}

# An event NAME of 10 us in a row.
slice() { # PID TID NAME TIME
    printf '{"ph": "X", "name": "%s", "pid": %s, "tid": %s, "ts": %s, "dur": 10, "args": {}}' "$3" "$1" "$2" "$4"
}

named() { # WHAT PID TID NAME
    printf '{"ph": "M", "name": "%s_name", "pid": %s, "tid": %s, "args": {"name": "%s"}}' "$1" "$2" "$3" "$4"
}

@test "GPU rows of JAX are GPU work, wherever their names stand in the file" {
    local order
    cp "$foreign/jax-gpu-rows.json" jax.json
    for order in . 'map(select(.ph == "X")) + map(select(.ph == "M"))'; do
        written "$(jq -c ".traceEvents | $order | .[]" jax.json | paste -sd,)"
        is_in_each_form kernels '[["loop_fusion",1,100000]]' 'map([.name, .calls, .total_ns])'
        is_in_each_form memtime '[["MemcpyH2D",1,10000]]' 'map([.name, .count, .total_ns])'
        is_in_each_form streams '[[0,13],[0,14]]' 'map([.device, .stream]) | sort'
        is_in_each_form findings '[]' 'map(select(.id == "no-gpu-work"))'
    done
    run -0 "$gputrace" convert it.json it.sqlite
    [ "$(sqlite3 it.sqlite 'select count(*) from kernels')" = 1 ]
    written "$(named process 3 0 /device:GPU:2), $(named thread 3 1 'XLA Modules'), $(named thread 3 2 'Stream #5'), $(slice 3 1 jit_f 1), $(slice 3 2 dot 2)"
    is_in_each_form kernels '["dot"]' 'map(.name)'
    is_in_each_form streams '[[2,5]]' 'map([.device, .stream])'
}

@test "GPU rows of TensorFlow 1, rocprof, Ascend and PyTorch before 1.8 are GPU work" {
    written "$(named process 1 0 '/device:GPU:0/stream:all Compute'), $(named process 2 0 '/device:GPU:0/stream:13 Compute'),
        $(named process 3 0 '/job:localhost/replica:0/task:0/device:GPU:0 Compute'), $(slice 1 0 Conv2D 1), $(slice 2 0 Conv2D 1), $(slice 3 0 Conv2D 1), $(slice 1 0 MEMCPYHtoD 20)"
    is_in_each_form overview '[1,1]' "$items | [.Kernels, .\"Memory copies\"]"
    written "$(named process 6 0 GPU1), $(named process 1 0 COPY), $(named process 2 0 'CPU HIP API'), $(slice 6 0 k1 30), $(slice 1 0 CopyHostToDevice 1), $(slice 2 4 hipMalloc 1)"
    is_in_each_form overview '[1,1,1]' "$items | [.Kernels, .\"Memory copies\", .\"API calls\"]"
    is_in_each_form kernels '[["k1",1]]' 'map([.name, .calls])'
    [ "$(report streams it.json 'map(.device) | sort')" = '[0,1]' ]
    written "$(named process 9 0 'Ascend Hardware'), $(named thread 9 2 'Stream 2'), $(slice 9 2 MatMul 1), $(slice 9 2 EVENT_WAIT 20), $(slice 9 2 MEMCPY_ASYNC 40)"
    is_in_each_form overview '[1,1]' "$items | [.Kernels, .\"Memory copies\"]"
    written "$(slice '"CPU functions"' 1 aten::add 1), $(slice '"CUDA functions"' 3 add_kernel 9), $(slice '"CUDA functions"' 3 'Memcpy HtoD' 29)"
    is_in_each_form overview '[1,1,1]' "$items | [.Kernels, .\"Memory copies\", .\"CPU operators\"]"
    is_in_each_form streams '[3]' 'map(.device)'
}

@test "processes that are called like GPUs, or that hold no work of theirs, are not GPUs" {
    written "$(named process 1 0 'GPU Process'), $(named process 2 0 '/device:GPU:x'), $(named process 3 0 GPU), $(named process 4 0 COPYING), $(slice 1 0 a 1), $(slice 2 0 a 1), $(slice 3 0 a 1), $(slice 4 0 a 1)"
    is_in_each_form overview 0 "$items | .Kernels"
}

@test "a trace without GPU work says so first, and which kinds of events there are" {
    written '{"ph": "X", "cat": "foo", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 5}, {"ph": "X", "cat": "cpu_op", "name": "b", "pid": 1, "tid": 1, "ts": 9, "dur": 5},
        {"ph": "X", "name": "c", "pid": 1, "tid": 1, "ts": 19, "dur": 5}, {"ph": "X", "cat": "foo", "name": "d", "pid": 1, "tid": 1, "ts": 29, "dur": 5}'
    is_in_each_form findings '["no-gpu-work","4 events, none known as GPU work; kinds found: cpu_op (1), foo (2), without a category (1)"]' '.[0] | [.id, .finding]'
    run -0 "$gputrace" report it.json
    assert_line --index 0 --partial 'no GPU work'
    assert_line --index 2 --partial '4 events, none known as GPU work'
    run -0 "$gputrace" report --html=it.html it.json
    grep -q '4 events, none known as GPU work' it.html
    run -0 "$gputrace" report -r findings --process=1 it.json
    refute_output --partial 'none known'
}

@test "memory of PyTorch without a category is its allocator's" {
    forms memory-without-cat
    is_in_each_form memory '[[0,4096,0,1,1,0]]' \
        "map(select(.kind == \"PyTorch's allocator\") | [.device, .peak_bytes, .end_bytes, .allocations, .releases, .failures])"
    forms pytorch-1.9-categories
    is_in_each_form memory '[[1,0,0]]' 'map([.allocations, .releases, .failures])' # without an address
}

@test "memory tables agree where memory was allocated before the trace" {
    forms memory-from-the-middle
    is_in_each_form memory '[104096,48192,2,2]' \
        "map(select(.kind == \"PyTorch's allocator\"))[0] | [.peak_bytes, .end_bytes, .allocations, .releases]"
    is_in_each_form memory-peak '[[100000,null],[4096,1]]' 'map([.total_bytes, .count])'
    is_in_each_form memory-leaks '[[40000,null],[8192,1]]' 'map([.total_bytes, .count])'
    is_in_each_form memory-churn '[[4096,1,1]]' 'map([.total_bytes, .count, .allocations])'
}

@test "calls that are not CUDA's, and ranges of PyTorch, are not called so" {
    calls_of hip >it.json
    jq '.schemaVersion = 1 | .traceEvents += [{ph: "X", cat: "user_annotation", name: "r", pid: 1, tid: 1, ts: 0, dur: 9}]' it.json >torch.json
    run -0 "$gputrace" report -r all torch.json
    refute_output --regexp 'NVTX|CUDA [^a-z]|CUDA call|outside CUDA|cuda[A-Z]'
    assert_output --partial 'host outside GPU calls'
    assert_output --partial 'Ranges (nvtx)'
    assert_output --partial 'hipMallocAsync()'
    run -0 "$gputrace" report -r all torch.json
    refute_output --regexp 'NVTX|CUDA call|outside CUDA'
    calls_of cuda >it.json
    run -0 "$gputrace" report -r all it.json
    assert_output --partial 'host outside CUDA'
    assert_output --partial 'NVTX ranges'
    refute_output --regexp '(^|[^-])--(cpu|delay|trace|capture-range)'
    run -0 "$gputrace" report -r host,host-waits it.json
    refute_output --partial 'gputrace run'
}

@test "advice for traces of gputrace names its options, for others it does not" {
    jq -n '{traceEvents: [range(60) as $i | ($i * 9000) as $t | {ph: "X", cat: "cuda_runtime", name: "cudaLaunchKernel",
        pid: 1, tid: 1, ts: $t, dur: 5, args: {correlation: $i}}, {ph: "X", cat: "kernel", name: "k", pid: 0, tid: 7,
        ts: ($t + 10), dur: 2000, args: {device: 0, stream: 7, correlation: $i}}]}' >it.json
    run -0 "$gputrace" report -r findings it.json
    assert_output --partial 'the host works outside CUDA'
    refute_output --partial ' --cpu'
    jq '.gputrace = {version: "1"}' it.json >own.json
    run -0 "$gputrace" report -r findings own.json
    assert_output --partial -- '--cpu=samples'
}

@test "names of the program stay as they are where calls are not CUDA's, and an event that is not ready is no failure" {
    # shellcheck disable=SC2016 # the dollars are jq's
    jq -n '{deviceProperties: [{id: "0", name: "GPU", numSms: "304", maxThreadsPerMultiprocessor: "2048"}], traceEvents: [range(60) as $i |
        {ph: "X", cat: "user_annotation", name: "NVTX decode CUDA call", pid: 1, tid: 1, ts: ($i * 20000), dur: 19000},
        {ph: "X", cat: "cuda_runtime", name: "hipLaunchKernel", pid: 1, tid: 1, ts: ($i * 20000), dur: 5, args: {correlation: $i}},
        {ph: "X", cat: "kernel", name: "cudaSoftmaxForward", pid: 0, tid: 7, ts: ($i * 20000 + 10), dur: 1000,
         args: {device: 0, stream: 7, correlation: $i, grid: [1, 1, 1], block: [64, 1, 1], "registers per thread": 16, "shared memory": 0}},
        {ph: "X", cat: "cuda_runtime", name: "hipEventQuery", pid: 1, tid: 1, ts: ($i * 20000 + 500), dur: 5, args: {"return value": 600}},
        {ph: "X", cat: "cuda_runtime", name: "hipMalloc", pid: 1, tid: 1, ts: ($i * 20000 + 600), dur: 5, args: {"return value": 2}}]}' >it.json
    run -0 "$gputrace" report -r findings it.json
    output=$(tr -s ' \n' ' ' <<<"$output")
    assert_output --partial 'host works outside GPU calls'
    assert_output --partial 'At: range NVTX decode CUDA call, '
    assert_output --partial 'ost of all cudaSoftmaxForward, whose grid has 1 block for 304 multiprocessors'
    assert_output --partial '60 GPU calls failed: hipMalloc() 60 times with hipErrorMemoryAllocation'
    refute_output --partial hipEventQuery
}

@test "a rank that is written as a text is a rank" {
    jq -n '{distributedInfo: {rank: "1", world_size: "2"}, traceEvents: [
        {ph: "X", cat: "cuda_runtime", name: "cudaLaunchKernel", pid: 100, tid: 7, ts: 1, dur: 5, args: {correlation: 1}},
        {ph: "X", cat: "kernel", name: "ncclDevKernel_AllReduce_Sum_f32_RING_LL", pid: 0, tid: 7, ts: 10, dur: 50,
         args: {device: 0, stream: 7, correlation: 1}}]}' >it.json
    run -0 "$gputrace" report -r ranks -f json it.json
    assert_equal "$(jq -c '[.ranks[].rank]' <<<"$output")" '[1]'
    sed 's/"1"/"1st"/' it.json >other.json
    run -0 "$gputrace" report -r ranks -f json other.json
    assert_equal "$(jq -c '.ranks' <<<"$output")" '[]'
}

@test "a GPU that one set was for is not hardly used beside one that works" {
    local op='{ph: "X", pid: 0, tid: 7, ts: ($i * 16000), dur: 15500, args: {stream: 7}}'
    jq -n "[range(60) as \$i | $op | .cat = \"kernel\" | .name = \"k\" | .args.device = 1]
        + [0 as \$i | $op | .cat = \"gpu_memset\" | .name = \"Memset (Device)\" | .dur = 2 | .args.device = 0]" >it.json
    run -0 "$gputrace" report -r findings -f json it.json
    refute_output --partial low-use
    # With a kernel of 10 ms it has a part of the work.
    jq '.[-1] |= (.cat = "kernel" | .dur = 10000)' it.json >worked.json
    run -0 "$gputrace" report -r findings -f json worked.json
    assert_output --partial low-use
}

@test "a GPU that is named by a text has the number in it, or none" {
    local name kernel='{ph: "X", cat: "kernel", name: "k", pid: 0, tid: 7, ts: 10, dur: 50, args: {stream: 7}}'
    for name in "GPU 1" cuda:1 1 1.0; do
        jq -n --arg name "$name" "[$kernel | .pid = \$name]" >process.json
        jq -n --arg name "$name" "[$kernel | .args.device = \$name]" >device.json
        for name in process device; do
            run -0 "$gputrace" report -r overview $name.json
            assert_line --regexp '^ *GPU 1 busy  '
        done
    done
    jq -n "[$kernel | .pid = \"device\"]" >it.json
    run -0 "$gputrace" report -r overview it.json
    assert_line --regexp '^ *GPU busy  '
    refute_output --partial -9223372036854775808
}

@test "memory from before the trace is in its peak until the first release, and in snapshots" {
    jq -n 'def m($ts; $address; $bytes; $total): {ph: "i", s: "t", name: "[memory]", pid: 100, tid: 100, ts: $ts,
            args: {"Device Type": 1, "Device Id": 0, Addr: $address, Bytes: $bytes, "Total Allocated": $total}};
        [m(5; 1; -4096; 100000), m(6; 2; -4096; 95904), m(8; 3; 4000; 99904)]' >it.json
    run -0 "$gputrace" report -r memory -f json it.json
    jq -e '.memory[0] | [.peak_bytes, .peak_at_ns, .end_bytes] == [104096, 0, 99904]' <<<"$output"
    jq -e '.["memory-peak"] | map([.total_bytes, .at_ns]) == [[104096, 0]]' <<<"$output"
    local at
    for at in 0us:100000 2us:95904 3us:99904; do
        run -0 "$gputrace" report -r memory --snapshot="${at%:*}" -f json it.json
        assert_equal "$(jq '[.memory[].total_bytes] | add' <<<"$output")" "${at#*:}"
    done
}
