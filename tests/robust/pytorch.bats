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

# Two ranks with NCCL. They share a GPU where there is one.
for_ranks() {
    need_torch
    export NCCL_SOCKET_IFNAME=lo OMP_NUM_THREADS=1
    torchrun=(python3 -m torch.distributed.run --nproc-per-node=2 --master-addr=127.0.0.1
        --master-port=$((20000 + RANDOM % 20000)))
}

# Every kernel of NCCL says which operation of which ranks it is.
described() { # TRACE
    jq -e '[.traceEvents[] | select(.cat == "kernel" and (.name | startswith("ncclDevKernel"))) | .args]
        | length > 0 and all(.["Collective name"] != null and .Seq != null and .["Group size"] == 2
                             and .["Process Group Ranks"] == "[0, 1]")' "$1" >/dev/null ||
        fail "a kernel has no arguments: $(jq -c '[.traceEvents[] | select(.cat == "kernel" and (.name | startswith("ncclDevKernel")))]
            | [length, (map(select(.args["Process Group Ranks"] == null)) | .[0])]' "$1")"
}

trains() { # HOW
    for_ranks
    local pid
    "${torchrun[@]}" "$app" "$1" >plain
    traced --nccl "${torchrun[@]}" "$app" "$1" >got
    diff plain got
    [[ "$(cat got)" == "8 steps, sum 31744, then "* ]]
    sound in_flight
    named
    described trace.json
    for rank in 0 1; do
        pid=$(process ".rank == $rank")
        assert_equal "$(ranges_of step "$pid")" 8
        jq -e --argjson pid "$pid" --arg name "rank $rank: " --arg command "pytorch_processes.py $1" '[.traceEvents[]
            | select(.name == "process_name" and .pid == $pid) | .args.name | startswith($name) and contains($command)] == [true]' trace.json
        jq -e --argjson pid "$pid" '.gputrace.processes[] | select(.pid == $pid) | .local_rank == .rank and (.gpu_pids | length) >= 1' trace.json
        # The rows of its GPU have its kernels.
        jq -e --argjson pid "$pid" '(.gputrace.processes[] | select(.pid == $pid) | [.gpu_pids[]]) as $gpus
            | [.traceEvents[] | select(.cat == "kernel" and (.pid | IN($gpus[])))] | length >= 40' trace.json
    done
}

@test "torchrun with two ranks: DistributedDataParallel" {
    trains ddp
}

@test "torchrun with two ranks: weights in shards" {
    trains fsdp
}

@test "torchrun with two ranks: layers split over both" {
    trains tensor
}

@test "a trace for each rank of torchrun; one of both, merged; and their report" {
    for_ranks
    timeout "$limit" "${torchrun[@]}" --no-python "$gputrace" run -q --nccl -o rank.%r.json python3 "$app" ddp >got
    [[ "$(cat got)" == "8 steps, sum 31744, then "* ]]
    for rank in 0 1; do
        "$check_trace" --strict --expect <(echo "expect loss in_flight 0..") rank.$rank.json
        jq -e --argjson rank $rank '.distributedInfo | .rank == $rank and .world_size == 2 and .backend == "nccl"
            and .pg_count >= 1 and .nccl_version != null' rank.$rank.json
    done
    "$gputrace" merge rank.0.json rank.1.json -o job.json
    described job.json
    "$check_trace" --strict --expect <(echo "expect loss in_flight 0..") job.json
    for input in job.json 'rank.0.json rank.1.json'; do
        # shellcheck disable=SC2086 # two words
        "$gputrace" report -r comm,ranks --format=json $input >report
        jq -e '(.comm | map(select(.operation == "allreduce") | .count) | add) >= 8 and (.ranks | length) == 2' report
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
