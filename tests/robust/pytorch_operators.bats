# Operators of a real PyTorch, on the CPU: --trace=torch beside what PyTorch says of them. Debian's python3-torch will do.

load robust

setup_file() { export BATS_TEST_TIMEOUT=120; }

limit=100

app=$BATS_TEST_DIRNAME/pytorch_operators.py

before_each() {
    need_plain
    /usr/bin/python3 -c 'import torch.profiler' 2>/dev/null || skip "needs Debian's python3-torch"
}

torch() { # WORD COMMAND [ARG...]
    traced -o "$1.json" --trace="all,$1" /usr/bin/python3 "$app" "${@:2}"
    "$check_trace" --quiet --strict "$1.json"
    refute grep -q PyTorch said
}

@test "names, counts, nesting, sequence numbers and threads are PyTorch's, with and without shapes" {
    /usr/bin/python3 "$app" profile events
    for word in torch torch-shapes; do
        torch $word train graph
        jq -e '.gputrace.notes == []' $word.json
        run -0 /usr/bin/python3 "$app" compare $word.json graph events
        assert_line --regexp '^[0-9]{4} operators$'
    done
    assert_line shapes
    # Every node of the backward pass has its operator of the forward pass.
    jq -e '[.traceEvents[] | select(.ph == "X" and .cat == "cpu_op" and .args["Fwd thread id"] > 0
            and (.name | startswith("autograd::") | not))] as $backward
        | [.traceEvents[] | select(.cat == "fwdbwd" and .ph == "f")] as $flows
        | ($backward | length) == 35 and ($backward | map([.tid, .ts]) | sort) == ($flows | map([.tid, .ts]) | sort)' torch.json
}

# bats test_tags=long
@test "torch.profiler in the program has the same events as without gputrace, and a note says that it ran" {
    /usr/bin/python3 "$app" profile plain
    for word in torch torch-shapes; do
        torch $word profile events
        jq -e '[.gputrace.notes[].text | select(startswith("torch.profiler ran in this process"))] | length == 1' $word.json
        cmp plain events
        run -0 "$gputrace" report -r operators --format=csv $word.json
        assert_line --partial ',aten::addmm'
    done
}

@test "the report of another format has the same operators" {
    torch torch-shapes train graph
    "$gputrace" report -r operators --by-shape --format=csv torch-shapes.json >from-json
    "$gputrace" convert torch-shapes.json torch.pftrace
    "$gputrace" report -r operators --by-shape --format=csv torch.pftrace >from-pftrace
    diff from-json from-pftrace
    grep -q '32×8, 8×16' from-json
    "$gputrace" convert torch-shapes.json again.json
    flows='[.traceEvents[] | select(.cat == "fwdbwd") | [.ph, .id, .tid]] | sort'
    [ "$(jq "$flows | length" torch-shapes.json)" -eq 70 ]
    diff <(jq "$flows" torch-shapes.json) <(jq "$flows" again.json)
}

# bats test_tags=long
@test "PyTorch throws an exception when it is asked for shapes: the program goes on, and names alone follow" {
    /usr/bin/python3 -W ignore "$app" nested >plain
    traced -o trace.json --trace=all,torch-shapes /usr/bin/python3 -W ignore "$app" nested >got
    diff plain got
    "$check_trace" --quiet --strict trace.json
    grep -q "recorded without their inputs from then on" said
    # Operators of before, and of after.
    jq -e '[.traceEvents[] | select(.name == "aten::add") | has("args") and (.args | has("Input Dims"))]
        | index(false) as $after | $after > 0 and (.[$after:] | any | not)' trace.json
    jq -e '[.traceEvents[] | select(.name == "aten::mul" and (.args | has("open at end") | not))] | length > 0' trace.json
}

inputs_of() { # [COMMAND...]
    traced -o lists.json --trace=all,torch-shapes "$@" /usr/bin/python3 "$app" lists
    "$check_trace" --quiet --strict lists.json
    jq -e '.gputrace.notes == []' lists.json
    /usr/bin/python3 "$app" inputs lists.json >got
}

# Since version 2.2 of PyTorch torch.profiler shows up to 30 numbers, and the dimensions of up to 30 tensors.
assert_lists_since_2_2() {
    thirty=$(printf '[3,4],%.0s' {1..30})
    assert_equal "$(cat got)" "_foreach_neg [[[3,4],[4],[]]] [\"TensorList\"]
_foreach_exp [[${thirty%,}]] [\"TensorList\"]
"'_foreach_log [[]] ["TensorList"]
_foreach_sub [[[3,4],[4],[]],[]] ["TensorList","ScalarList"]
_foreach_addcmul [[[3,4],[4],[]],[[3,4],[4],[]],[[3,4],[4],[]],[]] ["TensorList","TensorList","TensorList","Scalar"]
sum [[3,4],[],[],[]] ["float","ScalarList","Scalar",""]
view [[3,4],[]] ["float","ScalarList"]
view [[3,4],[]] ["float",""]
flip [[3,4],[]] ["float","ScalarList"]
index [[3,4],[]] ["float",""]
index [[3,4],[]] ["float",""]'
    run -0 "$gputrace" report -r operators --by-shape --format=csv lists.json
    assert_line --partial '3×4'
}

# bats test_tags=long
@test "lists among inputs are shown as torch.profiler of the same version shows them" {
    inputs_of
    library=$(find /usr/lib -name "libtorch_cpu.so.*" -type l)
    if [ "${library##*.so.}" != 1.13 ]; then
        assert_lists_since_2_2
        return
    fi
    assert_equal "$(cat got)" '_foreach_neg [[]] ["TensorList"]
_foreach_exp [[]] ["TensorList"]
_foreach_log [[]] ["TensorList"]
_foreach_sub [[],[]] ["TensorList",""]
_foreach_addcmul [[],[],[],[]] ["TensorList","TensorList","TensorList","Scalar"]
sum [[3,4],[],[],[]] ["float","","Scalar",""]
view [[3,4],[]] ["float",""]
view [[3,4],[]] ["float",""]
flip [[3,4],[]] ["float",""]
index [[3,4],[]] ["float",""]
index [[3,4],[]] ["float",""]'
    # A library in front of PyTorch's that has the functions by which a newer version is known.
    echo '#include <stdbool.h>
        bool _ZN5torch8profiler4impl34get_record_concrete_inputs_enabledEv(void) { return true; }
        void _ZN5torch8profiler4impl18variantShapesToStrB5cxx11ERKSt6vectorISt7variantIJS2_IlSaIlEES2_IS5_SaIS5_EEEESaIS8_EE(void) {}' >newer.c
    gcc -shared -fPIC -o libtorch_cpu.so newer.c -Wl,--no-as-needed "$library"
    inputs_of env LD_PRELOAD="$PWD/libtorch_cpu.so"
    assert_lists_since_2_2
}
