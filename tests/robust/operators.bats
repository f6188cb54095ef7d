# PyTorch's operators (--trace=torch): of a library that stands in for PyTorch's, in each layout of its records and in none.

load robust

before_each() {
    need_plain
    mkdir torch
    ln -s "$programs/torch_library.so" torch/libtorch_cpu.so
}

# Runs torch_operators and leaves trace.json; what the program prints is in `out`.
operators() { # HOW [ARG...]
    traced -o trace.json ${trace:---trace=all,torch} "$programs/torch_operators" "$PWD/torch/libtorch_cpu.so" "$@" >out
}

# Names, categories and arguments of operators and annotations, in their order.
shown() {
    jq -r '[.traceEvents[] | select(.ph == "X" and (.cat == "cpu_op" or .cat == "user_annotation") and .name != "round")]
        | sort_by(.ts)[] | [.cat, .name, .args["Sequence number"] // "-", .args["Fwd thread id"] // "-",
                            (if .tid == .pid then "main" else "other" end)] | join(" ")' trace.json
}

whole="user_annotation step - - main
cpu_op aten::linear 5 0 main
cpu_op aten::addmm 5 0 main
cpu_op autograd::engine::evaluate_function: AddmmBackward0 5 1 other
cpu_op AddmmBackward0 5 1 other"

names_alone() { sed -E 's/ (-|[0-9]+) (-|[0-9]+) (main|other)$/ - - \3/' <<<"$whole"; }

@test "operators of two threads, in each layout of PyTorch's records" {
    for layout in new 1.13 "old strings" "old strings 1.13"; do
        FAKE_TORCH=$layout operators loaded
        assert_equal "$(cat out)" "3 callbacks"
        "$check_trace" --quiet --strict trace.json
        assert_equal "$(shown)" "$whole"
        # It ends on another thread, after all the others.
        jq -e '[.traceEvents[] | select(.ph == "X")] | (.[] | select(.name == "step" and .cat == "user_annotation") | .ts + .dur) as $last
            | all(.[] | select(.cat == "cpu_op"); .ts + .dur <= $last)' trace.json
        jq -e '[.traceEvents[] | select(.cat == "fwdbwd")] | (map(.ph) | sort) == ["f", "s"]
            and (map(.id) | unique | length) == 1' trace.json
        jq -e '[.traceEvents[] | select(.cat == "fwdbwd" and .ph == "f") | .ts] ==
               [.traceEvents[] | select(.name == "AddmmBackward0") | .ts]' trace.json
        refute grep -q PyTorch said
        rm trace.json
    done
}

profiler_notes() { jq -r '.gputrace.notes[].text | select(startswith("torch.profiler ran in this process, too"))' trace.json | wc -l; }

@test "torch.profiler in the program: one note says so, also where operators are not recorded" {
    for trace in --trace=all,torch --trace=all --trace=kernel,sync; do
        operators profiled
        "$check_trace" --quiet trace.json
        assert_equal "$(profiler_notes)" 1
        assert_equal "$(grep -c 'torch.profiler ran' said)" 1
        rm trace.json
        operators waiting
        assert_equal "$(profiler_notes)" 0
        rm trace.json
    done
}

@test "calls and GPU work in an operator have its id" {
    need_simulated
    operators loaded
    jq -e '[.traceEvents[] | select(.name == "aten::addmm") | .args["External id"]] as $id
        | [.traceEvents[] | select(.cat == "gpu_memcpy" or .cat == "gpu_memset" or .name == "cuMemcpyHtoD")]
        | length == 4 and all([.args["External id"]] == $id)' trace.json
    run -0 "$gputrace" report -r operators --format=csv trace.json
    assert_line --regexp ',3,,aten::addmm' # launches
    jq -e '[.traceEvents[] | select(.cat == "gpu_user_annotation") | .name] | index("step")' trace.json
}

# Operators with the kernels of each, without those of train().
operators_and_kernels() { # TRACE
    jq -r '[.traceEvents[] | select(.ph == "X" and .cat == "cpu_op")] as $operators
        | ($operators | map({key: (.args["External id"] | tostring), value: .name}) | from_entries) as $names
        | ([.traceEvents[] | select(.cat == "kernel") | [.name, $names[.args["External id"] | tostring] // "-"] | join(" in ")] | sort[]),
          ($operators | map(.name | select(startswith("triton"))) | sort[])' "$1"
}

@test "launches of compiled code are operators in every format, and a program's own are not" {
    need_simulated
    operators compiled
    "$check_trace" --quiet --strict trace.json
    operators_and_kernels trace.json >got
    diff - got <<'END'
triton_own in CompiledFunction
triton_own in aten::addmm
triton_poi_fused_add_0 in -
triton_poi_fused_add_0 in mine::op
triton_poi_fused_add_0 in triton_poi_fused_add_0
triton_poi_fused_add_0 in triton_poi_fused_add_0
triton_red_fused_sum_1 in triton_red_fused_sum_1
triton_red_fused_sum_1 in triton_red_fused_sum_1
triton_poi_fused_add_0
triton_poi_fused_add_0
triton_red_fused_sum_1
triton_red_fused_sum_1
END
    # Each encloses the call that it is, and no other.
    jq -e '[.traceEvents[] | select(.ph == "X" and .cat == "cpu_op" and (.name | startswith("triton")))] as $made
        | [.traceEvents[] | select(.name == "cuLaunchKernel")] as $calls
        | all($made[]; . as $one | [$calls[] | select(.args["External id"] == $one.args["External id"]
            and .ts == $one.ts and .dur == $one.dur and .tid == $one.tid)] | length == 1)' trace.json
    "$gputrace" report -r operators --format=csv trace.json >from-json
    run -0 cat from-json
    assert_line --partial ",2,2,,triton_poi_fused_add_0" # calls, launches
    for format in pftrace sqlite; do
        "$gputrace" convert trace.json "trace.$format"
        "$gputrace" run -q -o "own.$format" --trace=all,torch "$programs/torch_operators" "$PWD/torch/libtorch_cpu.so" compiled
    done
    "$gputrace" report -r operators --format=csv trace.pftrace >from-pftrace
    diff from-json from-pftrace
    "$gputrace" convert own.pftrace own.json
    operators_and_kernels own.json | diff got -
    for file in trace own; do
        assert_equal "$(sqlite3 $file.sqlite "select count(*) from operators where name like 'triton%'")" 4
    done
}

@test "an unknown layout: names alone, and one note" {
    FAKE_TORCH=unknown operators loaded
    "$check_trace" --quiet --strict trace.json
    assert_equal "$(shown)" "$(names_alone)"
    assert_equal "$(grep -c "PyTorch's operators are recorded without sequence numbers" said)" 1
}

@test "a library without the functions: no operators, one note, and everything else" {
    ln -sf "$programs/quota_library.so" torch/libtorch_cpu.so
    operators loaded
    assert_equal "$(cat out)" "0 callbacks"
    "$check_trace" --quiet --strict trace.json
    assert_equal "$(count cpu_op)" 0
    [ "$(count gpu_memcpy)" -eq 2 ]
    assert_equal "$(grep -c "PyTorch's operators are not recorded" said)" 1
}

@test "without the word there is no callback" {
    trace=--trace=all operators loaded
    assert_equal "$(cat out)" "0 callbacks"
    assert_equal "$(count cpu_op)" 0
    refute grep -q PyTorch said
}

@test "a library that is loaded after CUDA is found" {
    operators late
    assert_equal "$(cat out)" "3 callbacks"
    assert_equal "$(shown)" "$whole"
}

@test "a library that has none of the inputs' functions: operators without them, and a note" {
    trace=--trace=all,torch-shapes operators loaded
    assert_equal "$(shown)" "$whole"
    assert_equal "$(grep -c "without their inputs" said)" 1
}

@test "a kill loses no operator, and those that are open say so" {
    run -137 "$gputrace" run -o trace.json --trace=all,torch "$programs/torch_operators" "$PWD/torch/libtorch_cpu.so" killed
    "$check_trace" --quiet --strict trace.json
    assert_equal "$(shown)" "user_annotation open - - main
$whole"
    jq -e '[.traceEvents[] | select(.args["open at end"]) | .name] == ["open"]' trace.json
}

@test "a forked child records its operators, with names of its own" {
    operators forked
    jq -e '[.traceEvents[] | select(.cat == "cpu_op" and (.name | startswith("of the"))) | [.name, .pid]] | sort
        | length == 2 and .[0][0] == "of the child" and .[1][0] == "of the parent" and .[0][1] != .[1][1]' trace.json
}

@test "more names than there are places for: each operator has its own" {
    operators names 40000
    jq -e '[.traceEvents[] | select(.cat == "cpu_op") | .name] | length == 40000 and (unique | length) == 40000' trace.json
}

@test "recording that starts later: operators of before are not there" {
    trace="--trace=all,torch --delay=3600" operators loaded
    assert_equal "$(count cpu_op)" 0
    assert_equal "$(cat out)" "3 callbacks"
}
