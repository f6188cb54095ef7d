# PyTorch's processes in one trace: workers that load batches, ranks of torchrun, and its own profiler beside gputrace.

load robust

setup_file() { export BATS_TEST_TIMEOUT=90; }

limit=80

app=$BATS_TEST_DIRNAME/pytorch_processes.py

need_torch() {
    need_plain
    python3 -c 'import torch, sys; sys.exit(not torch.cuda.is_available())' 2>/dev/null ||
        skip "needs PyTorch and a GPU"
}

# Ranges of a name in a process, or in all.
ranges_of() { # NAME [PID]
    jq --arg name "$1" --argjson pid "${2:-null}" '[.traceEvents[] | select(.cat == "user_annotation" and .name == $name)
        | select($pid == null or .pid == $pid)] | length' trace.json
}

# The pid of the process that FILTER, of jq, chooses; exactly one.
process() { # FILTER
    jq -er "[.gputrace.processes[] | select($1)] | if length == 1 then .[0].pid else empty end" trace.json ||
        fail "not one process is '$1': $(jq -c '.gputrace.processes[] | {pid, rank, command, state}' trace.json)"
}

# Every process that recorded has rows with a name in which its command stands.
named() {
    jq -e '[.traceEvents[] | select(.ph == "M" and .name == "process_name")] as $names | .gputrace.processes
        | all(.pid as $pid | $names | any(.pid == $pid and (.args.name | contains("python"))))' trace.json >/dev/null ||
        fail "a process has no name: $(jq -c '.traceEvents[] | select(.name == "process_name") | [.pid, .args.name]' trace.json)"
}

loads() { # HOW
    need_torch
    python3 "$app" "$1" >plain
    traced python3 "$app" "$1" >got
    diff plain got
    sound in_flight
    named
    local main
    main=$(process '.gpu_pids != {}') # no worker has rows of a GPU
    assert_equal "$(ranges_of step "$main")" 8
    assert_equal "$(ranges_of load "$main")" 0
    assert_equal "$(ranges_of load)" 32
    assert_equal "$(workers)" 3
    [ "$(count kernel)" -ge 40 ]
    jq -e --argjson pid "$main" '.gputrace.processes[] | select(.pid == $pid) | .state == "finished" and .losses.in_flight == 0' trace.json
}

@test "a DataLoader with two workers that are forked" {
    loads fork
}

@test "a DataLoader with two workers that are spawned" {
    loads spawn
}

@test "torchrun with two ranks" {
    need_torch
    local pid others=()
    export GLOO_SOCKET_IFNAME=lo NCCL_SOCKET_IFNAME=lo OMP_NUM_THREADS=1
    traced python3 -m torch.distributed.run --nproc-per-node=2 --master-addr=127.0.0.1 \
        --master-port=$((20000 + RANDOM % 20000)) "$app" rank >got
    assert_equal "$(cat got)" "8 steps, sum 31744"
    sound in_flight
    named
    for rank in 0 1; do
        pid=$(process ".rank == $rank")
        assert_equal "$(ranges_of step "$pid")" 8
        jq -e --argjson pid "$pid" --arg name "rank $rank: " '[.traceEvents[] | select(.name == "process_name" and .pid == $pid)
            | .args.name | startswith($name) and contains("pytorch_processes.py rank")] == [true]' trace.json
        jq -e --argjson pid "$pid" '.gputrace.processes[] | select(.pid == $pid) | .local_rank == .rank and (.gpu_pids | length) >= 1' trace.json
        # The rows of its GPU have its kernels.
        jq -e --argjson pid "$pid" '(.gputrace.processes[] | select(.pid == $pid) | [.gpu_pids[]]) as $gpus
            | [.traceEvents[] | select(.cat == "kernel" and (.pid | IN($gpus[])))] | length >= 40' trace.json
    done
}

# CUPTI has one subscriber: the second gets no callbacks. The program is unharmed in either case, and the
# trace is one of all there is, or the reason is said.
beside_profiler() { # HOW
    need_torch
    python3 "$app" "$1" >plain 2>plain.err
    traced python3 "$app" "$1" >got
    diff plain got
    "$check_trace" trace.json
    assert_equal "$(ranges_of step)" 8
    echo "# $1: alone: $(tail -n 1 plain.err); traced: $(grep 'torch.profiler saw' said); $(count kernel) kernels in the trace" >&3
    [ "$(count kernel)" -ge 40 ] || grep -q 'CUDA is not recorded' said
}

@test "torch.profiler under gputrace, begun before CUDA" {
    beside_profiler profiled-first
}

@test "torch.profiler under gputrace, begun after CUDA" {
    beside_profiler profiled-later
}
