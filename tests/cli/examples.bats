# README.md and the man pages' EXAMPLES do what they say: every snippet in them runs.

load common
load examples

plain() {
    [ "$build" = "$root/build" ] || skip "done with the plain build"
    mkdir blocks
}

need_torch() {
    python3 -c 'import torch, sys; sys.exit(not torch.cuda.is_available())' 2>/dev/null || skip "needs PyTorch and a GPU"
}

# Those that PyTorch must be there for: "yes", or all others: "no".
for_torch() { # YES-OR-NO BLOCK...
    local wanted=$1 block
    shift
    for block; do
        if [ "$(examples_sort_of "$block")" = python ]; then
            [ "$wanted" = no ] || echo "$block"
        else
            [ "$wanted" = yes ] || echo "$block"
        fi
    done
}

@test "every command, session and piece of C in README.md runs" {
    plain
    examples_extract "$root/README.md" blocks
    examples_prepare
    mapfile -t blocks < <(for_torch no "$BATS_TEST_TMPDIR"/blocks/*)
    [ "${#blocks[@]}" -ge 6 ]
    examples_run "${blocks[@]}"
}

# bats test_tags=long
@test "every command, session and piece of C in the man pages' EXAMPLES runs" {
    plain
    local page
    examples_prepare
    for page in "$root"/man/*; do
        examples_extract "$page" ../blocks
    done
    mapfile -t blocks < <(for_torch no ../blocks/*)
    [ "${#blocks[@]}" -ge 18 ]
    examples_run "${blocks[@]}"
}

@test "what make demo prints: a fault, its finding, its twin without it, what that gains; on one screen" {
    plain
    run -0 "$root/samples/demo" "$build"
    assert [ "${#lines[@]}" -gt 10 ]
    assert [ "$(wc -l <<<"$output")" -le 40 ]
    assert_equal "$(grep -cw allocation-churn <<<"$output")" 1 # not of the twin
    assert_line --regexp '^  1\. Device memory is allocated 100 times'
    assert_line --regexp '^After takes .* shorter than before '
    # Which cause of idle time fell by most depends on how busy this machine is; the number of allocations does not.
    "$gputrace" diff -r idle --all -f json "$build/demo-slow.json" "$build/demo-fast.json" |
        jq -e '.idle[] | select(.name == "host allocated or freed memory") | .total_before_ns > 0'
    "$gputrace" diff -r api --all -f json "$build/demo-slow.json" "$build/demo-fast.json" |
        jq -e '.api[] | select(.name == "cudaMalloc") | .count_before == 101 and .count_after == 2'
}

@test "README.md with PyTorch: commands that train, and Python" {
    plain
    need_torch
    examples_extract "$root/README.md" blocks
    examples_prepare
    examples_python python3
    mapfile -t python < <(for_torch yes ../blocks/*)
    [ "${#python[@]}" -ge 1 ]
    examples_run ../blocks/*
}

@test "the man pages' EXAMPLES with PyTorch" {
    plain
    need_torch
    examples_prepare
    examples_python python3
    for page in "$root"/man/*; do
        examples_extract "$page" ../blocks
    done
    examples_run ../blocks/*
}

# The calls of torch.cuda.memory, on what PyTorch 2.11 takes and has.
stand_in_torch() {
    mkdir -p modules/torch
    cat >modules/torch/__init__.py <<'PYTHON'
import ctypes, types
class Setters:
    def __getattr__(self, name):
        if not name.startswith("set_"):
            raise AttributeError(name)
        return lambda function: None
class CUDAPluggableAllocator:
    def __init__(self, library, malloc, free):
        loaded = ctypes.CDLL(library)
        getattr(loaded, malloc), getattr(loaded, free)
        self._allocator = Setters()
    def allocator(self):
        return self._allocator
def change_current_allocator(allocator):
    print("changed", type(allocator.allocator()).__name__)
def ones(*shape, device):
    pass
memory = types.SimpleNamespace(CUDAPluggableAllocator=CUDAPluggableAllocator, change_current_allocator=change_current_allocator)
cuda = types.SimpleNamespace(memory=memory)
PYTHON
    export PYTHONPATH=$PWD/modules
}

@test "Python in README.md calls PyTorch as its allocators are called, seen without PyTorch" {
    plain
    command -v python3 >/dev/null || skip "needs python3"
    examples_extract "$root/README.md" blocks
    stand_in_torch
    mapfile -t python < <(for_torch yes blocks/*)
    [ "${#python[@]}" -ge 1 ]
    for block in "${python[@]}"; do
        run -0 examples_torch "$block"
        assert_line 'changed Setters'
    done
}

@test "a snippet that cannot run, one that fails and one that prints something else are found" {
    plain
    examples_prepare
    # Fails for the one reason.
    wrong() { # REASON LINE...
        rm -rf one && mkdir one
        printf '%s\n' text '' "${@:2}" '' text >other.md
        examples_extract other.md one
        run examples_run one/*
        assert_failure
        assert_output --partial "$1"
    }
    # shellcheck disable=SC2016 # these are texts
    {
        wrong 'there is no way to run this' '    pip install gputrace'
        wrong 'there is no way to run this' '```' 'gputrace doctor' 'sudo make install' '```'
        wrong "nobody knows how to run '\$ rm trace.json'" '    $ gputrace --version' '    $ rm trace.json'
        wrong "'gputrace report --nonsense trace.json' fails" '    gputrace report --nonsense trace.json'
        wrong 'not printed: something else' '    $ gputrace --version' '    something else'
        wrong 'not printed: gputrace: X is ready' "    gputrace: 'trace.json' is ready"
        wrong 'error' '    gputrace_begin();'
        wrong 'No rule to make target' '    make nonsense'
    }
}
