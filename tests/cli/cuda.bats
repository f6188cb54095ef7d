# gputrace run on programs that use CUDA: what is recorded, from when to when, and what happens when things go wrong.

load common

@test "a sample's trace has its kernels, copies, calls and flows" {
    run -0 "$gputrace" run "$samples/vector_add"
    assert_line --regexp "^gputrace: [0-9,]+ events in 'trace\.json' \([0-9.]+ [kM]B\); to look at it, open https://ui.perfetto.dev or run 'gputrace report trace\.json'$"
    [ "$(count kernel)" -gt 0 ]
    [ "$(count gpu_memcpy)" -gt 0 ]
    [ "$(count cuda_runtime)" -gt 0 ]
    [ "$(jq '[.traceEvents[] | select(.ph == "s")] | length' trace.json)" -gt 0 ]
    "$check_trace" --strict trace.json
}

@test "--trace=none records nothing" {
    "$gputrace" run --trace=none "$samples/vector_add"
    jq -e '[.traceEvents[] | select(.ph != "M")] == []' trace.json
}

@test "--trace=kernel records kernels alone" {
    "$gputrace" run --trace=kernel "$samples/vector_add"
    [ "$(count kernel)" -gt 0 ]
    jq -e '[.traceEvents[] | select(.ph == "X" and .cat != "kernel")] == []' trace.json
}

@test "the report of --trace=-kernel says that kernels were not recorded, of every format" {
    "$gputrace" run --trace=-kernel "$samples/vector_add"
    "$gputrace" convert -q trace.json trace.pftrace
    for trace in trace.json trace.pftrace; do
        run -0 "$gputrace" report -r overview,kernels,streams "$trace"
        assert_line --regexp '^  Kernels +not recorded$'
        assert_line '  not recorded (left out by --trace): kernel'
        assert_line --regexp '^  Memory copies +[1-9]'
    done
}

@test "--trace=-memory records all but memory" {
    "$gputrace" run "$samples/memory"
    [ "$(jq '[.traceEvents[] | select(.ph == "C")] | length' trace.json)" -gt 0 ]
    "$gputrace" run --trace=-memory "$samples/memory"
    [ "$(jq '[.traceEvents[] | select(.ph == "C")] | length' trace.json)" -eq 0 ]
    [ "$(count cuda_runtime)" -gt 0 ]
}

@test "--trace=-nvtx and --trace=nvtx divide what is recorded" {
    "$gputrace" run --trace=-nvtx "$samples/vector_add"
    [ "$(count user_annotation)" -eq 0 ]
    [ "$(count kernel)" -gt 0 ]
    "$gputrace" run --trace=nvtx "$samples/vector_add"
    [ "$(count user_annotation)" -gt 0 ]
    [ "$(count kernel)" -eq 0 ]
}

@test "--graph=graph shows a launch as one slice" {
    "$gputrace" run -o node.json "$samples/graphs"
    "$gputrace" run --graph=graph -o graph.json "$samples/graphs"
    [ "$(count kernel node.json)" -gt "$(count kernel graph.json)" ]
}

@test "--delay beyond the end records nothing, --duration stops and the program runs on" {
    "$gputrace" run --delay=1000 "$samples/vector_add"
    jq -e '[.traceEvents[] | select(.ph == "X")] == []' trace.json
    run -0 "$gputrace" run --duration=0.000001 "$samples/launch_loop" 1000
    [ "$(count kernel)" -lt 1000 ]
}

@test "--capture-range=cudaProfilerApi records what lies between start and stop" {
    "$gputrace" run --capture-range=cudaProfilerApi "$samples/capture" cudaProfilerApi >statement
    "$check_trace" --strict --expect statement trace.json
}

@test "outside of the capture range API calls are thrown away, and the spool does not grow" {
    need_simulated
    local launches bytes
    for launches in 100000 400000; do
        "$gputrace" run --capture-range=cudaProfilerApi --keep-spool --spool-dir="$PWD" "$samples/launch_loop" "$launches"
        bytes[launches]=$(cat gputrace-*/*.spool | wc -c)
        rm -r gputrace-*
    done
    # One of CUPTI's buffers, 4 MiB, may be on its way in either run. 300,000 calls would be more than 20 MB.
    [ "${bytes[400000]}" -le $((bytes[100000] + (8 << 20))) ]
}

@test "--capture-range=nvtx:NAME records what lies in the range" {
    "$gputrace" run --capture-range=nvtx:middle "$samples/capture" nvtx >statement
    "$check_trace" --strict --expect statement trace.json
}

@test "--capture-range=nvtx:NAME@DOMAIN looks at that domain alone" {
    "$gputrace" run --capture-range=nvtx:middle@samples "$samples/capture" nvtx-domain >statement
    "$check_trace" --strict --expect statement trace.json
    "$gputrace" run --capture-range=nvtx:middle@other "$samples/capture" nvtx-domain
    [ "$(count kernel)" -eq 0 ]
}

@test "--capture-range=api records what the program asks for" {
    "$gputrace" run --capture-range=api "$samples/capture" api >statement
    "$check_trace" --strict --expect statement trace.json
}

@test "a program can cut a pause into the recording" {
    "$gputrace" run "$samples/capture" pause >statement
    "$check_trace" --strict --expect statement trace.json
}

@test "a program killed in mid-launch leaves a trace of all before" {
    need_simulated
    SIMGPU_KILL_LAUNCH=50 run -137 "$gputrace" run "$samples/launch_loop" 100
    [ "$(jq '[.traceEvents[] | select(.cat == "cuda_runtime" and .name == "cudaLaunchKernel")] | length' trace.json)" -ge 49 ]
    "$check_trace" trace.json
}

@test "a program that crashes keeps its signal and leaves a trace" {
    need_simulated
    [ -z "${sanitizer-}" ] || skip "a sanitizer takes the signal"
    SIMGPU_CRASH_LAUNCH=50 run -139 "$gputrace" run "$samples/launch_loop" 100
    # What the GPU had not finished by then, or CUPTI not collected, is there without times.
    [ $(($(count kernel) + $(count gpu_in_flight))) -ge 49 ]
}

@test "CUPTI taken by another: said plainly, and the program runs" {
    need_simulated
    SIMGPU_CUPTI_TAKEN=1 run -0 "$gputrace" run "$samples/vector_add"
    assert_output --partial 'CUPTI'
    assert_equal "$(count kernel)" 0
    [ "$(count user_annotation)" -gt 0 ]
}

@test "--cupti names the libcupti to use; another file is reported, and the program runs" {
    need_simulated
    run -0 "$gputrace" run --cupti="$simgpu/libcupti.so.13" "$samples/vector_add"
    [ "$(count kernel)" -gt 0 ]
    echo 'no library' >libcupti.so
    run -0 "$gputrace" run --cupti=./libcupti.so "$samples/vector_add"
    assert_output --partial 'the requested libcupti cannot be loaded'
    [ "$(count kernel)" -gt 0 ]
}

@test "a CUPTI that is too old is named in a warning and not used: it would crash the program" {
    need_simulated
    SIMGPU_CUPTI_VERSION=17 run -0 "$gputrace" run --cupti="$simgpu/libcupti.so.13" "$samples/vector_add"
    assert_output --partial "libcupti.so.13' is CUPTI 17: 18 (of CUDA 11.8) is the oldest that works"
    [ "$(count kernel)" -eq 0 ]
}

@test "records that CUPTI dropped are in the last line" {
    need_simulated
    SIMGPU_DROP_RECORDS=10 run -0 "$gputrace" run "$samples/launch_loop" 1000
    assert_line --regexp "^gputrace: [0-9,]+ events .* incomplete: [0-9,]+ records? dropped by CUPTI"
}

@test "no GPU at all: the program's own failure, and no crash of ours" {
    need_simulated
    SIMGPU_NO_DEVICE=1 run "$samples/vector_add"
    local own=$status
    SIMGPU_NO_DEVICE=1 run "$gputrace" run "$samples/vector_add"
    assert_equal "$status" "$own"
    jq -e .traceEvents trace.json
}

@test "without a driver, or without a GPU, the program is not said to use no CUDA" {
    [ -n "${simulated-}" ] || skip "this machine has a driver"
    [ -z "${sanitizer-}" ] || skip "the program would lack the sanitizer's runtime"
    printf '#include <cuda_runtime.h>\n__global__ void k() {}\nint main() { k<<<1, 1>>>(); return cudaDeviceSynchronize(); }\n' >app.cu
    nvcc -o app app.cu # with the real runtime, linked statically
    LD_LIBRARY_PATH='' run -35 "$gputrace" run ./app
    assert_line "gputrace: warning: CUDA found no driver, and './app' used no NVTX, so the trace is empty: 'gputrace doctor' says what CUDA needs"
    refute_line --partial 'neither'
    CUDA_VISIBLE_DEVICES='' SIMGPU_NO_DEVICE=1 run -100 "$gputrace" run ./app
    assert_line --partial "warning: CUDA found no GPU, and './app' "
}

@test "without a driver NVTX of a CUDA program is recorded, and the warning says that CUDA is missing" {
    [ -n "${simulated-}" ] || skip "this machine has a driver"
    [ -z "${sanitizer-}" ] || skip "the program would lack the sanitizer's runtime"
    printf '#include <cuda_runtime.h>\n#include <nvtx3/nvToolsExt.h>\n__global__ void k() {}\nint main() { nvtxMarkA("x"); k<<<1, 1>>>(); return 0; }\n' >app.cu
    nvcc -o app app.cu
    LD_LIBRARY_PATH='' run -0 "$gputrace" run ./app
    assert_line "gputrace: warning: CUDA found no driver, and './app' was recorded without it: 'gputrace doctor' says what CUDA needs"
    run -0 "$gputrace" run ./app
    refute_output --partial warning
    LD_LIBRARY_PATH='' run -0 "$gputrace" run "$samples/nvtx" # has nothing for a GPU
    refute_output --partial warning
}

@test "NVTX without CUDA is traced" {
    run -0 "$gputrace" run "$samples/nvtx"
    [ "$(count user_annotation)" -gt 0 ]
    refute_output --partial warning
}

@test "a child process of the program is traced too" {
    script app "'$samples/nvtx'" "'$samples/vector_add'"
    run -0 "$gputrace" run ./app
    [ "$(count kernel)" -gt 0 ]
    [ "$(jq '[.traceEvents[] | select(.cat == "user_annotation") | .pid] | unique | length' trace.json)" -ge 2 ]
    "$check_trace" --strict trace.json
}

@test "a process that outlives the program is reported" {
    script app "(exec >/dev/null 2>&1 3>&-; '$samples/launch_loop' 30000000) &" 'echo $! >pid' \
        'while ! ls "$GPUTRACE_SPOOL"/*.spool >/dev/null 2>&1; do sleep 0.05; done'
    run -0 "$gputrace" run ./app
    kill "$(cat pid)" || true
    assert_line --partial "still runs: what it does from now on is not in the trace"
}
