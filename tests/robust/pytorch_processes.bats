#!/usr/bin/env bats
# Operators of PyTorch in processes that use neither CUDA nor NVTX.

load robust

setup_file() { export BATS_TEST_TIMEOUT=120; }

limit=100

app=$BATS_TEST_DIRNAME/pytorch_processes.py

before_each() {
    need_plain
    need_simulated
}

need_torch() { /usr/bin/python3 -c 'import torch' 2>/dev/null || skip "needs Debian's python3-torch"; }

trace() { run -0 "$gputrace" run -o trace.json --trace=all,torch "$@"; }

# How many processes have this operator.
processes_with() { jq --arg name "$1" '[.traceEvents[] | select(.cat == "cpu_op" and .name == $name) | .pid] | unique | length' trace.json; }

@test "operators of the process itself, forward and backward" {
    need_torch
    trace /usr/bin/python3 "$app" main
    assert_equal "$(processes_with aten::addmm)" 1
    assert_equal "$(jq '[.traceEvents[] | select(.cat == "cpu_op" and .name == "aten::addmm")] | length' trace.json)" 3
    [ "$(jq '[.traceEvents[] | select(.cat == "cpu_op" and (.name | startswith("autograd::")))] | length' trace.json)" -gt 0 ]
}

# bats test_tags=long
@test "operators of workers of a DataLoader, forked and spawned" {
    need_torch
    for how in fork spawn; do
        trace /usr/bin/python3 "$app" "$how"
        assert_equal "$how $(processes_with aten::sort) $(processes_with aten::matmul)" "$how 2 1"
    done
}

# bats test_tags=long
@test "operators of workers of a pool that are spawned" {
    need_torch
    trace /usr/bin/python3 "$app" pool
    [ "$(processes_with aten::sort)" -ge 1 ]
}

@test "operators of a program of C++ that is linked with PyTorch" {
    need_torch
    trace /usr/lib/libtorch-test/broadcast_test
    assert_equal "$(processes_with aten::expand)" 1
    [ "$(jq '[.traceEvents[] | select(.cat == "cpu_op")] | length' trace.json)" -gt 50 ]
}

@test "Python without PyTorch, and a shell, are as without us, and what was looked for is said" {
    run -7 --separate-stderr "$gputrace" run -o trace.json --trace=torch sh -c 'python3 -c "import json, ctypes; print(1)"; exit 7'
    assert_output 1
    assert_equal "$(grep -v earlier <<<"$stderr" | head -1)" \
        "gputrace: warning: 'sh' used neither CUDA nor NVTX, and no process of Python (3.8 or newer) loaded PyTorch: the trace is empty; what it starts without the environment variables of gputrace is not recorded"
    run -0 env LD_PRELOAD="$build/libgputrace-torch.so" python3 -c 'import json, sys; print(id(sys) == id(sys))'
    assert_output True
}
