# Traces of torch.profiler as others make them: kernels that communicate without NCCL, Python's functions, ranks without
# metadata of collective operations. Inputs: tests/data/foreign.

load common

foreign=$root/tests/data/foreign

# row SECTION KEY VALUE FILE: the row of the section whose KEY is VALUE, as JSON
row() {
    "$gputrace" report -r "$1" -f json "$4" | jq -c --arg section "$1" --arg key "$2" --arg value "$3" \
        '.[$section][] | select((.[$key] | tostring) == $value)'
}

ids() {
    "$gputrace" report -r findings -f json "$1" | jq -r '.findings[].id'
}

@test "DeepEP's dispatch and combine communicate: computation runs beside them, and their grids are no finding" {
    local trace=$foreign/deepep-is-computation.json
    row temporal what communication "$trace" | jq -e '.total_ns == 48000000 and .overlapped_ns == 24000000'
    row temporal what computation "$trace" | jq -e '.total_ns == 24000000'
    row overlap what "communication while kernels computed" "$trace" | jq -e '.overlap_percent == 50'
    run -0 ids "$trace"
    assert_output exposed-communication
}

@test "all-reduces of symmetric memory communicate: in temporal, ranks, parts, and the findings" {
    local trace=$foreign/symmetric-memory-all-reduce.json
    row temporal what communication "$trace" | jq -e '.total_ns == 18000000'
    row temporal what computation "$trace" | jq -e '.total_ns == 0'
    row ranks rank 0 "$trace" | jq -e '.communication_ns == 18000000 and .exposed_ns == 18000000 and .compute_ns == 0'
    run -0 ids "$trace"
    assert_output exposed-communication
    "$gputrace" report --partial "$trace" -o one.gpr
    row ranks rank 0 one.gpr | jq -e '.communication_ns == 18000000 and .compute_ns == 0'
}

# rank RANK LATE KERNEL…: a trace of ten iterations of these kernels, which begin LATE µs late and end as if they did not
rank() {
    local rank=$1 late=$2 i kernel at=0 id=0
    shift 2
    printf '{"distributedInfo":{"backend":"nccl","rank":%s,"world_size":2},"deviceProperties":[{"id":0}],"traceEvents":[' "$rank"
    for i in {1..10}; do
        for kernel in "$@"; do
            at=$((at + 3000))
            printf '{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":%s,"tid":7,"ts":%s,"dur":5,"args":{"correlation":%s}},' \
                $((100 + rank)) $((at + late - 10)) $((++id))
            printf '{"ph":"X","cat":"kernel","name":"%s","pid":0,"tid":7,"ts":%s,"dur":%s,"args":{"device":0,"stream":7,"correlation":%s}},' \
                "$kernel" $((at + late)) $((1500 - late)) $id
        done
    done
    printf '{"ph":"M","name":"process_name","pid":%s,"args":{"name":"python"}}]}' $((100 + rank))
}

waits() {
    "$gputrace" report -r ranks -f json "$@" | jq -c '.ranks[] | [.rank, .waited_ns, .delayed_ns, .late_ns]'
}

@test "without metadata the n-th operation of each rank is the n-th of the others where counts and kinds agree" {
    local reduce="ncclDevKernel_AllReduce_Sum_f32_RING_LL(int)" gather="ncclDevKernel_AllGather_RING_LL(int)"
    rank 0 0 "$reduce" "$gather" >zero.json
    rank 1 400 "$reduce" "$gather" >one.json
    rank 1 400 "$reduce" "$gather" "$gather" >more.json
    rank 1 400 "$reduce" "$reduce" >other.json
    run -0 waits zero.json one.json
    assert_output $'[0,8000000,0,0]\n[1,0,8000000,7600000]'
    run -0 waits zero.json more.json
    assert_output $'[0,null,null,null]\n[1,null,null,null]'
    run -0 waits zero.json other.json
    assert_output $'[0,null,null,null]\n[1,null,null,null]'
    for name in zero one; do "$gputrace" report --partial $name.json -o $name.gpr; done
    run -0 waits zero.gpr one.gpr
    assert_output $'[0,8000000,0,0]\n[1,0,8000000,7600000]'
    run -0 "$gputrace" report -r comm -f json zero.gpr one.gpr
    jq -e '.comm | map([.operation, .count, .wait_ns]) == [["allreduce",10,4000000],["allgather",10,4000000]]' <<<"$output"
}

@test "who waited is not known of a rank alone, and of kernels that send and receive; the columns are left out" {
    rank 0 0 "ncclDevKernel_SendRecv(int)" >zero.json
    rank 1 400 "ncclDevKernel_SendRecv(int)" >one.json
    run -0 waits zero.json
    assert_output '[0,null,null,null]'
    run -0 waits zero.json one.json
    assert_output $'[0,null,null,null]\n[1,null,null,null]'
    run -0 "$gputrace" report -r ranks zero.json one.json
    refute_output --partial aited
}

# x CATEGORY NAME TID START DURATION [ARGS [PID]]
x() {
    printf '{"ph":"X","cat":"%s","name":"%s","pid":%s,"tid":%s,"ts":%s,"dur":%s,"args":{%s}}\n' "$1" "$2" "${7-100}" "$3" "$4" "$5" "${6-}"
}

# Functions of Python around launches and a wait; the order in the file is none.
python_trace() {
    {
        x kernel gemm 7 60 300 '"device":0,"stream":7,"correlation":1' 0
        x kernel relu 7 400 100 '"device":0,"stream":7,"correlation":2' 0
        x cuda_runtime cudaLaunchKernel 100 30 10 '"correlation":1'
        x cuda_runtime cudaLaunchKernel 100 250 10 '"correlation":2'
        x cuda_runtime cudaDeviceSynchronize 100 500 20000 '"correlation":3'
        x python_function "<built-in method mm of type object at 0x7f>" 100 20 100
        x python_function "torch/nn/modules/module.py(1532): _call_impl" 100 200 150
        x python_function "nn.Module: Net_0" 100 210 130
        x python_function "train.py(60): forward" 100 220 110
        x python_function "/opt/venv/lib/python3.11/site-packages/pack/f.py(3): act" 100 230 90
        x python_function "train.py(42): step" 100 10 400
        x python_function "train.py(50): wait" 100 450 20100
        x python_function "train.py(9): main" 100 0 30000
        x cpu_op aten::mm 100 25 80
    } | paste -sd, | sed 's/^/{"with_stack":1,"deviceProperties":[{"id":0}],"traceEvents":[/;s/$/]}/' >python.json
}

@test "functions of Python that the profiler recorded are the call stack of what is launched and waited for in them" {
    run -0 "$gputrace" report -r lines -f json "$foreign/python-function-lines.json"
    jq -e '.lines | map([.name, .gpu_ns]) == [["step (train.py:42)", 300000]]' <<<"$output"
    python_trace
    "$gputrace" convert python.json python.pftrace
    for name in python.json python.pftrace; do
        "$gputrace" report -r lines -f json $name | jq -c '.lines[] | [.name, .gpu_ns, .operations, .waited_ns, .waits, .stack]' >got
        diff - got <<'END'
["wait (train.py:50)",null,null,20000000,1,"wait (train.py:50) < main (train.py:9)"]
["step (train.py:42)",300000,1,null,null,"<built-in method mm of type object at 0x7f> < step (train.py:42) < main (train.py:9)"]
["forward (train.py:60)",100000,1,null,null,"act (/opt/venv/lib/python3.11/site-packages/pack/f.py:3) < forward (train.py:60) < nn.Module: Net_0 < _call_impl (torch/nn/modules/module.py:1532) < step (train.py:42) < main (train.py:9)"]
END
    done
    run -0 "$gputrace" report -r nvtx,operators -f json python.json
    jq -e '(.nvtx | length) == 0 and (.operators | map(.name)) == ["aten::mm"]' <<<"$output"
}

@test "findings have the functions of Python that the profiler recorded as their call stack" {
    jq '.traceEvents |= map(if .cat == "kernel" then .name = "tiny" else . end) + [
        {"ph": "X", "cat": "python_function", "name": "train.py(9): main", "pid": 100, "tid": 100, "ts": 0, "dur": 90000},
        {"ph": "X", "cat": "python_function", "name": "train.py(42): step", "pid": 100, "tid": 100, "ts": 0, "dur": 80000}]' \
        "$foreign/deepep-is-computation.json" >python.json
    run -0 "$gputrace" report -r findings -f json python.json
    jq -e '.findings | any(.id == "tiny-grids" and .stack == "step (train.py:42) < main (train.py:9)")' <<<"$output"
}
