# The findings of gputrace report: planted programs and their twins, times of small traces computed by hand, clean
# samples, and the manual's lists.

load findings

data=$root/tests/data
man=$root/man/gputrace-findings.7
header=$root/src/analysis/engine/findings.h

@test "copies and sets that block the host, are small, or do not overlap with kernels" {
    planted copies pageable pageable-copies
    planted copies blocking blocking-copies
    planted copies small small-copies
    planted copies serial serial-copies
    planted copies sets blocking-sets
}

@test "waits with nothing queued behind them" {
    planted waits device device-waits
    planted waits stream repeated-waits
    planted waits event repeated-waits
    planted waits item repeated-waits
}

@test "memory that is allocated or pinned in the loop" {
    planted memory allocation allocation-churn
    planted memory pinning pinning-churn repeated-kernels # of few ms
}

@test "allocations in the loop are shown with their call stack where the trace has it" {
    "$gputrace" run -q --backtrace -o stacks.json "$samples/planted_memory" allocation
    "$gputrace" report -r findings --format=json stacks.json |
        jq -e 'any(.findings[]; .id == "allocation-churn" and (.stack | test("main")))'
    "$gputrace" run -q -o plain.json "$samples/planted_memory" allocation
    "$gputrace" report -r findings --format=json plain.json |
        jq -e 'any(.findings[]; .id == "allocation-churn" and .stack == null)'
}

@test "waits and launches are shown with the call stack that most of them have, from the program's own line on" {
    "$gputrace" run -q --stacks=sync -o stacks.json "$samples/planted_waits" device
    "$gputrace" report -r findings --format=json stacks.json |
        jq -e 'any(.findings[]; .id == "device-waits" and (.stack | test("^device\\(bool\\) .*< main \\([^<]*$")))'
    with_id 100 repeated-kernels --stacks=launch "$samples/planted_launches" repeated
    "$gputrace" report -r findings --format=json planted.json |
        jq -e 'any(.findings[]; .id == "repeated-kernels" and (.stack | test("^repeated.*< main \\([^<]*$")))'
    with_id 100 repeated-kernels --stacks=alloc "$samples/planted_launches" repeated
    "$gputrace" report -r findings --format=json planted.json |
        jq -e 'any(.findings[]; .id == "repeated-kernels" and .stack == null)'
}

@test "code that is loaded or compiled, and graphs that are instantiated, in the loop" {
    planted code loading module-loading
    planted code jit jit-compilation
    [ -n "${sanitizer-}" ] || with_id 1 graph-instantiation "$samples/planted_code" graphs
    without_id graph-instantiation "$samples/planted_code" graphs-fixed
}

@test "the default stream and another stream wait for each other" {
    planted streams default-stream default-stream
}

@test "failed calls, crashes, leaks and hazards" {
    planted failures failing failed-calls
    planted failures killed crashed
    with_id 1 leaked-memory --plugin=leaks "$samples/planted_failures" leak
    without_id leaked-memory --plugin=leaks "$samples/planted_failures" leak-fixed
    with_id 1 hazards --plugin=hazards "$samples/planted_failures" race
    without_id hazards --plugin=hazards "$samples/planted_failures" race-fixed
}

@test "memory that grows, is forgotten at the end, or is freed twice is found without a plugin, with its call stack" {
    recorded_trace failures-growing leaked-memory
    run -0 --separate-stderr "$gputrace" report -r findings --format=json planted.json
    jq -e '.findings[] | select(.id == "leaked-memory") | .count == 40 and (.stack | test("^growing\\(bool\\)"))
        and .finding == "Memory grows during all of the run: 40 allocations of 1 MiB are never freed, 40 MiB in all"' <<<"$output"
    recorded_trace failures-forgotten leaked-memory
    run -0 --separate-stderr "$gputrace" report -r findings --format=json planted.json
    jq -e '.findings[0].finding == "1 MiB of the peak of 5 MiB was not freed at the end, most of it 1 allocation of 1 MiB"' <<<"$output"
    recorded_trace failures-twice double-free
    run -0 --separate-stderr "$gputrace" report -r findings --format=json planted.json
    jq -e '.findings[0].finding == "1 call frees memory that was freed before"' <<<"$output"
    # What CUDA does is no error: handles of virtual memory are released more often than they are made.
    jq 'del(.traceEvents[].args.result)' planted.json >done.json
    run -0 ids done.json
    refute_output --partial double-free
}

@test "a part of a trace and a program that was stopped say nothing about memory that is not freed" {
    "$gputrace" run -q -o trace.json "$samples/planted_failures" growing
    "$gputrace" cut --to=50% -o part.json trace.json
    jq '.gputrace.exit = "killed by SIGKILL"' trace.json >killed.json
    local trace
    for trace in part.json killed.json; do
        run -0 ids "$trace"
        refute_output --partial leaked-memory
    done
    run -0 --separate-stderr "$gputrace" report -r findings --to=50% --format=json trace.json
    refute_output --partial leaked-memory
}

@test "no findings on samples that are written well" {
    local sample
    # Not longer: the 135 kernels of device_ranges, of one block each, would be tiny-grids from 2 ms together.
    export SIMGPU_KERNEL_NS=14000
    for sample in vector_add streams_events graphs conditional launches launches_per_thread devices \
        device_ranges managed nvtx_memory_cuda driver pooled; do
        "$gputrace" run -q -o trace.json "$samples/$sample" >/dev/null
        run -0 ids trace.json
        # A busy machine makes the host late.
        ! grep -vxE '(launch-bound|low-use|gpu-gaps|host-work)?' <<<"$output" || fail "$sample has these findings: $output"
    done
}

@test "where no rule finds a fault the report says what the GPU was idle for" {
    local case
    for case in copies-serial waits-event launches-bound; do
        recorded $case-fixed trace.json
        run "$gputrace" report -r findings trace.json
        assert_line --index 1 --regexp '^  No rule finds a fault\. The GPU is busy [0-9.]+ % of the time; idle longest: .* of .*\.$'
    done
}

@test "a small training trace of torch.profiler has none of the findings about copies, waits, memory and code" {
    run -0 ids "$data/kineto/kineto-train-h200.json.gz"
    refute_output --regexp '(copies|sets|waits|churn|memory|loading|compilation|instantiation|stream|calls|records)'
    assert_line --index 0 launch-bound # the GPU is busy for 19 % of three steps
}

# --- small traces: times are in us ---

@test "of a synchronous copy, the wait for earlier kernels does not count" {
    local round='launched(7; $t; $t + 10; 300; $i * 2 + 1),
        call("cudaMemcpy"; $t + 20; 480; $i * 2 + 2), copy("Memcpy DtoH (Device -> Pinned)"; 7; $t + 310; 170; $i * 2 + 2; 1000000)'
    run found 'range(10) | . as $i | ($i * 1000) as $t | '"$round"
    assert_output 'blocking-copies 1900000 1900000 10'
    run found 'range(9) | . as $i | ($i * 1000) as $t | '"$round"
    refute_output
}

@test "synchronous copies of pinned memory gain at most the rest of the run" {
    # A run of 1000 us, 900 of them in calls: the copies take 850, which can overlap with 100 us, and 50 are saved.
    run found 'launched(7; 0; 0; 100; 100),
        (range(10) | call("cudaMemcpy"; 100 + 90 * .; 90; .), copy("Memcpy HtoD (Pinned -> Device)"; 7; 105 + 90 * .; 85; .; 1000000))'
    assert_output 'blocking-copies 900000 150000 10'
    # A program that waits before it begins to copy has no more to overlap with.
    run found 'launched(7; 0; 0; 100; 100),
        (range(10) | call("cudaMemcpy"; 5100 + 90 * .; 90; .), copy("Memcpy HtoD (Pinned -> Device)"; 7; 5105 + 90 * .; 85; .; 1000000))'
    assert_output --partial 'blocking-copies 900000 150000 10'
    # Pageable copies become shorter.
    run found 'launched(7; 0; 0; 100; 100),
        (range(10) | call("cudaMemcpy"; 100 + 90 * .; 90; .), copy("Memcpy HtoD (Pageable -> Device)"; 7; 105 + 90 * .; 85; .; 1000000))'
    assert_output 'blocking-copies 900000 900000 10'
}

@test "asynchronous copies count if they are of pageable memory and not small" {
    local copies='range(10) | call("cudaMemcpyAsync"; 1000 * .; 100; .), copy($name; 7; 1000 * . + 30; 60; .; $bytes)'
    run found '"Memcpy HtoD (Pageable -> Device)" as $name | 1000000 as $bytes | '"$copies"
    assert_output 'pageable-copies 1000000 1000000 10'
    run found '"Memcpy HtoD (Pageable -> Device)" as $name | 65536 as $bytes | '"$copies"
    refute_output
    run found '"Memcpy HtoD (Pinned -> Device)" as $name | 1000000 as $bytes | '"$copies"
    refute_output
}

@test "copies of two threads at the same time cost the time of one" {
    run found 'range(10) | (1000 * .) as $t | (call("cudaMemcpyAsync"; $t; 100; 2 * .), (call("cudaMemcpyAsync"; $t; 110; 2 * . + 1) | .tid = 2),
        copy("Memcpy HtoD (Pageable -> Device)"; 7; $t + 30; 60; 2 * .; 1000000), copy("Memcpy HtoD (Pageable -> Device)"; 8; $t + 35; 60; 2 * . + 1; 1000000))'
    assert_output 'pageable-copies 1100000 1100000 20'
}

@test "one of a thing is told as one" {
    one() { # TEXT EVENTS
        run found "$2"
        run jq -r '.findings[].finding' <("$gputrace" report -r findings --format=json small.json)
        assert_output --partial "$1"
    }
    one 'The host waits for 1 synchronous copy of 977 KiB' \
        'launched(7; 0; 0; 5; 100), call("cudaMemcpy"; 100; 12000; 1), copy("Memcpy HtoD (Pinned -> Device)"; 7; 110; 11000; 1; 1000000)'
    one '1 asynchronous copy of pageable memory (977 KiB) blocks the host' \
        'launched(7; 0; 0; 5; 100), call("cudaMemcpyAsync"; 100; 12000; 1), copy("Memcpy HtoD (Pageable -> Device)"; 7; 110; 11000; 1; 1000000)'
    one 'The host waits for 1 synchronous set of' 'launched(7; 0; 0; 5; 100), call("cudaMemset"; 100; 12000; 1), op("gpu_memset"; "Memset (Pinned)"; 7; 110; 11000; 1)'
    one 'in 1 sequence of 40' 'launched(7; 0; 0; 5; 100), (range(40) | call("cudaMemcpyAsync"; 10 * .; 5; .), copy("Memcpy HtoD (Pinned -> Device)"; 7; 10 * . + 6; 2; .; 4096))'
    one '1 kernel leaves most multiprocessors of the GPU empty' 'shaped("k"; 3; 256; 32; 7; 0; 5000; 1)'
    one 'The last wave of 1 kernel has' 'shaped("k"; 1100; 256; 32; 7; 0; 5000; 1)'
    one '1 kernel runs few threads' 'shaped("k"; 100000; 128; 250; 7; 0; 5000; 1)'
    one '1 matrix product is computed in float32' 'op("kernel"; "ampere_sgemm_128x64_nn"; 7; 0; 5000; 1)'
    one 'of 1 communication kernel (' 'op("kernel"; "ncclDevKernel_X"; 7; 0; 5000; 1)'
    one 'Loading code takes 1 call after' 'launched(7; 0; 10; 100; 1), call("cuModuleLoadData"; 200; 30000; 2), launched(7; 31000; 31010; 100; 3)'
}

@test "sets block the host if they are of its memory" {
    local sets='range(10) | call("cudaMemset"; 1000 * .; 100; .), op("gpu_memset"; $name; 7; 1000 * . + 20; 70; .)'
    run found '"Memset (Pinned)" as $name | '"$sets"
    assert_output 'blocking-sets 1000000 1000000 10'
    run found '"Memset (Device)" as $name | '"$sets"
    refute_output
}

@test "small copies count from eight in sequence on, without the last copy's share" {
    # From the first call to the end of the last copy: 10 * copies - 2 us.
    local sequence='range($count) | call("cudaMemcpyAsync"; $t + 10 * .; 5; $i * 100 + .),
        copy("Memcpy HtoD (Pinned -> Device)"; 7; $t + 10 * . + 6; 2; $i * 100 + .; 4096)'
    local sequences='range(5) | . as $i | (1000 * $i) as $t | ('$sequence'), launched(7; $t + 200; $t + 210; 10; $i * 100 + 99)'
    run found "8 as \$count | $sequences"
    assert_output 'small-copies 390000 341250 40'
    run found "7 as \$count | $sequences"
    refute_output
    # One call started all of them.
    run found "8 as \$count | $sequences | .args.correlation |= . - . % 100"
    refute_output
}

@test "copies and kernels that take turns cost the shorter of the two" {
    local turns='range(21) | launched(13; 0; 200 * . + 100; 100; . * 2), call("cudaMemcpyAsync"; 0; 5; . * 2 + 1),
        copy("Memcpy HtoD (Pinned -> Device)"; 13; 200 * . + $late; 60; . * 2 + 1; 1000000)'
    # The copy before the first kernel does not count.
    run found "30 as \$late | $turns"
    assert_output 'serial-copies 1200000 1200000 20'
    run found "120 as \$late | $turns"
    refute_output
    run found "30 as \$late | [$turns][:60][]"
    refute_output
}

# The GPU is idle for 3010 us, and 2780 of them are gained without waiting for launches: 230 are left for the waits.
@test "a wait costs at most its length, and counts if the GPU became idle in it" {
    local rounds='range(21) | launched(13; 200 * .; 200 * . + 10; 50; . * 2), call($name; 200 * . + $at; 70 - $at; . * 2 + 1)'
    run found '"cudaDeviceSynchronize" as $name | 6 as $at | '"$rounds"
    assert_line 'device-waits 1280000 230000 20'
    run "$gputrace" report -r findings --width=300 small.json
    assert_output --regexp '2\. 20 times the host waits [^;]*; up to 230 µs can be gained; else the same time as 1\)'
    run found '"cudaStreamSynchronize" as $name | 6 as $at | '"$rounds"
    assert_line 'repeated-waits 1280000 230000 20'
    run found '"cudaEventSynchronize" as $name | 61 as $at | '"$rounds"
    refute_output --partial waits
    run found '"cudaEventSynchronize" as $name | 6 as $at | ['"$rounds"'][3:][]'
    refute_output --partial waits
}

@test "a wait costs at most the idle time after it" {
    run found 'range(21) | launched(13; 200 * .; 200 * . + 10; 160; . * 2), call("cudaStreamSynchronize"; 200 * . + 6; 185; . * 2 + 1)'
    assert_line 'repeated-waits 800000 800000 20'
}

@test "GPUs work at the same time: the cost is that of one of them" {
    run found 'range(21) | . as $i | (0, 1) as $gpu | (launched(13; 200 * $i; 200 * $i + 10; 50; $i * 4 + $gpu),
        call("cudaStreamSynchronize"; 200 * $i + 6; 64; $i * 4 + 2 + $gpu)) | .args.device = $gpu
        | if .cat == "cuda_runtime" then .tid = $gpu + 1 else . end'
    assert_line 'repeated-waits 1280000 230000 40'
}

@test "a wait of another thread is not the reason that the GPU is idle" {
    run found 'range(21) | launched(13; 200 * .; 200 * . + 10; 50; . * 2),
        (call("cudaStreamSynchronize"; 200 * . + 6; 64; . * 2 + 1) | .tid = 2)'
    refute_output --partial waits
}

@test "allocations and releases count between kernels" {
    local rounds='range($count) | launched(13; 1000 * .; 1000 * . + 10; 100; . * 3),
        call($allocate; 1000 * . + 500; 100; . * 3 + 1), call($release; 1000 * . + 700; 50; . * 3 + 2)'
    run found '11 as $count | "cudaMalloc" as $allocate | "cudaFree" as $release | '"$rounds"
    assert_output 'allocation-churn 1500000 1500000 20'
    run found '11 as $count | "cudaHostAlloc" as $allocate | "cudaFreeHost" as $release | '"$rounds"
    assert_output 'pinning-churn 1500000 1500000 20'
    run found '10 as $count | "cudaMalloc" as $allocate | "cudaFree" as $release | '"$rounds"
    refute_output
    run found '11 as $count | "cudaMallocAsync" as $allocate | "cudaFreeAsync" as $release | '"$rounds"
    refute_output
}

@test "allocations gain at most the time in which the GPU is idle" {
    # The GPU is idle for 20 us around each pair of calls.
    run found 'range(11) | launched(13; 1000 * .; 1000 * . + 10; 990; . * 3),
        call("cudaMalloc"; 1000 * . + 500; 100; . * 3 + 1), call("cudaFree"; 1000 * . + 950; 54; . * 3 + 2) | .ts += 10 * (.ts / 1000 | floor)'
    assert_line --regexp '^allocation-churn 1540000 200000 20$'
}

@test "managed memory that migrates to the GPU and back counts unless it was prefetched" {
    local moves='launched(13; 0; 10; 9990; 1), (range(10) | {ph: "X", cat: "unified_memory", pid: 0, tid: 99, dur: 100,
        args: {bytes: 65536, reason: $reason}} + ({name: "Unified Memory memcpy HtoD", ts: (1000 * . + 100)},
        {name: "Unified Memory memcpy DtoH", ts: (1000 * . + 600)}) | select(.name | endswith($ways)))'
    run found '"coherence" as $reason | "" as $ways | '"$moves"
    assert_output 'managed-memory 2000000 2000000 20'
    run found '"coherence" as $reason | "HtoD" as $ways | '"$moves"
    refute_output
    run found '"user" as $reason | "" as $ways | '"$moves"
    refute_output
}

@test "modules that are loaded after the first kernel was launched count from a tenth of the run on" {
    local loads='launched(13; $first; $first + 10; 10; 1), launched(13; 9990; 9995; 5; 2),
        (range(10) | call("cuModuleLoadData"; 100 + 200 * .; $each; . + 10) | .cat = "cuda_driver")'
    run found '0 as $first | 150 as $each | '"$loads"
    assert_output 'module-loading 1500000 1500000 10'
    run found '0 as $first | 99 as $each | '"$loads"
    refute_output
    run found '3000 as $first | 150 as $each | '"$loads"
    refute_output
}

@test "the compiler's time is that of compiling, not of loading" {
    run found 'launched(13; 0; 10; 10; 1), launched(13; 9990; 9995; 5; 2),
        (range(2) | (call("cuModuleLoadData"; 100 + 2000 * .; 1000; . + 10) | .cat = "cuda_driver"),
            {ph: "X", cat: "compilation", name: "JIT compile", pid: 1, tid: 1, ts: (2000 * . + 150), dur: 900,
             args: {"cache hit": (. == 5)}})'
    assert_output 'jit-compilation 1800000 1800000 2'
    # The GPU works for 9500 us of 10000: a host that is earlier gains no more than the rest.
    run found 'launched(13; 0; 10; 9495; 1), launched(13; 9990; 9995; 5; 2),
        {ph: "X", cat: "compilation", name: "JIT compile", pid: 1, tid: 1, ts: 100, dur: 900, args: {"cache hit": 0}}'
    assert_output 'jit-compilation 900000 500000 1'
}

@test "graphs that are instantiated again and again" {
    local rounds='range($count) | launched(13; 1000 * .; 1000 * . + 10; 100; . * 3),
        call("cudaStreamEndCapture"; 1000 * . + 300; 20; . * 3 + 1), call($build; 1000 * . + 500; 100; . * 3 + 2)'
    run found '11 as $count | "cudaGraphInstantiate" as $build | '"$rounds"
    assert_output 'graph-instantiation 1200000 1200000 10'
    run found '11 as $count | "cudaGraphExecUpdate" as $build | '"$rounds"
    refute_output
}

@test "the default stream holds up work that was launched long before" {
    local turns='range(21) | . as $i | call("cudaLaunchKernel"; $i; 1; $i), kernel([7, $other][$i % 2]; 100 * $i + 50; 100; $i)'
    run found "13 as \$other | $turns"
    assert_output 'default-stream 2000000 1000000 20'
    # Kernels with a block for each multiprocessor could not run at once in any other streams.
    run found "13 as \$other | ($turns) | if .cat == \"kernel\" then .args.grid = [132, 1, 1] else . end"
    refute_output
    # Another context of the same GPU does not wait for it.
    run found "13 as \$other | ($turns) | if .args.stream == 13 then .args.context = 2 else . end"
    refute_output
    run found "[range(21)] | length as \$n | 13 as \$other | (range(20) | call(\"cudaStreamWaitEvent\"; . + 30; 0.5; . + 100)), ($turns)"
    refute_output
    run found 'range(21) | . as $i | call("cudaLaunchKernel"; $i; 1; $i), kernel([14, 13][$i % 2]; 100 * $i + 50; 100; $i)'
    refute_output
    run found "13 as \$other | [$turns][:40][]"
    refute_output
}

@test "the failed assertion of a kernel is said before what the trace lost" {
    jq -n "$words "'{gputrace: {losses: {unstamped: 3}}, traceEvents: [launched(13; 0; 10; 100; 1),
        (call("cudaDeviceSynchronize"; 200; 5; 5) | .args."return value" = 710)]}' >small.json
    run -0 "$gputrace" report -r findings small.json
    assert_line --partial "1. A kernel's assertion failed; 1 CUDA call failed: cudaDeviceSynchronize() once with cudaErrorAssert"
    assert_output --partial 'in what the program wrote to stderr'
    run -0 ids small.json
    assert_output $'failed-calls\nlost-records'
}

@test "failed calls are counted by function and error" {
    run found 'launched(13; 0; 10; 100; 1), (range(3) | call("cudaMalloc"; 200 + 10 * .; 5; . + 5) | .args."return value" = 2),
        (call("cudaFree"; 300; 5; 9) | .args."return value" = 1)'
    assert_output 'failed-calls 0 null 4'
    run "$gputrace" report -r findings --width=300 small.json
    assert_output --partial '4 CUDA calls failed: cudaMalloc() 3 times with cudaErrorMemoryAllocation, cudaFree() once with'
}

@test "a loss is a finding, but not of what a crash cut off, and not a text that was cut" {
    jq -n '{traceEvents: [], gputrace: {version: "0", losses: {cut_texts: 11}}}' >cut.json
    run ids cut.json
    refute_output
    jq -n '{traceEvents: [], gputrace: {version: "0", losses: {cupti_dropped: 7, in_flight: 2, cut_texts: 11}}}' >loss.json
    run ids loss.json
    assert_output lost-records
    "$gputrace" report -r findings loss.json | grep -q '9 records are lost or doubtful, most of them "cupti dropped"'
    jq -n '{traceEvents: [], gputrace: {version: "0", losses: {in_flight: 2},
            processes: [{pid: 5, state: "ended without its exit handlers", losses: {}}]}}' >crash.json
    run ids crash.json
    assert_output crashed
}

@test "a process that called _exit() in a program that succeeded did not crash, unless it left something undone" {
    ends() { # EXIT IN_FLIGHT OPEN_CALLS
        jq -n --arg exit "$1" --argjson flight "$2" --argjson open "$3" '{traceEvents: [], gputrace: {version: "0", exit: $exit,
            losses: {}, processes: [{pid: 5, state: "finished"}, {pid: 6, state: "ended without its exit handlers",
            open_calls: $open, losses: {in_flight: $flight}}]}}' >ends.json
        ids ends.json
    }
    run ends 'exit 0' 0 '[]'
    refute_output
    run ends 'exit 1' 0 '[]'
    assert_output crashed
    run ends 'exit 0' 1 '[]'
    assert_output crashed
    run ends 'exit 0' 0 '[{"thread": 6, "function": "cuCtxSynchronize", "ts": 1}]'
    assert_output crashed
}

@test "rules whose data was not recorded are named" {
    "$gputrace" run -q -o waits.json --trace=-runtime,-driver "$samples/planted_waits" stream
    run "$gputrace" report -r findings --format=csv waits.json
    assert_output --regexp 'Not enough data for .*repeated-waits,.*: runtime, driver were not recorded'
    refute_output --partial managed-memory
    refute_output --partial 'times the host waits'
}

@test "calls that failed come before what costs time" {
    run found 'range(10) | call("cudaMemcpy"; 1000 * .; 500; .), copy("Memcpy HtoD (Pageable -> Device)"; 7; 1000 * . + 20; 470; .; 1000000)
        | if .cat == "cuda_runtime" and .ts == 3000 then .args."return value" = 1 else . end'
    assert_line --index 0 --regexp '^failed-calls '
    assert_line --index 1 --regexp '^blocking-copies |^pageable-copies '
}

@test "where no rule speaks, the report says how busy the GPU is and why it is idle, and json has no row" {
    run found 'launched(7; 0; 10; 50; 1), launched(7; 570; 580; 320; 2)'
    refute_output
    run "$gputrace" report -r findings --width=300 small.json
    assert_line --index 1 '  No rule finds a fault. The GPU is busy 41 % of the time; idle longest: 510 of 900 µs, host outside CUDA.'
    run -0 "$gputrace" report -r findings --fail-on=any small.json
    run found 'kernel(7; 0; 10; 1), kernel(7; 20; 10; 2)'
    run "$gputrace" report -r findings --width=300 small.json
    assert_line --regexp 'The GPU is busy 67 % of the time; no calls are recorded, so why it is idle is not known\.$'
}

# --- the manual ---

@test "gputrace-findings(7) lists the rules and the thresholds that there are" {
    sed -n '/^#define FINDING_RULES/,/[^\\]$/ s/.*X(\([a-z0-9_]*\)).*/\1/p' "$header" | tr _ - >rules
    sed -n '/^\.Ss Rules/,/^\.El/ s/^\.It Cm //p' "$man" >listed
    [ "$(wc -l <rules)" -ge 19 ]
    diff rules listed
    run "$gputrace" report --fail-on=nothing-of-this trace.json
    assert_output --partial "$(paste -sd, rules | sed 's/,/, /g')"
    sed -n 's/^ *X(\([A-Z_]*\), \([0-9]*\), *$/\1 \2/p; s/^ *X(\([A-Z_]*\), \([0-9]*\), *"\(.*\)").*/\1 \2 \3/p' "$header" >thresholds
    sed -n '/^\.Ss Thresholds/,/^\.El/ s/^\.It \([A-Z_]*\) Ta \([0-9]*\) Ta /\1 \2 /p' "$man" >listed
    [ "$(wc -l <thresholds)" -ge 17 ]
    diff thresholds listed
}
