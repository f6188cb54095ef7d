# The allocator's library in whole programs: without gputrace and under it, from C, C++ and Python.

load common

library=$build/libgputrace-allocator.so
programs=$build/tests/allocator

# Python has no sanitizer linked in: it must be loaded first.
with_library() {
    if [ -n "${sanitizer-}" ]; then
        LD_PRELOAD=$sanitizer "$@"
    else
        "$@"
    fi
}

@test "a C program linked with the library needs no gputrace" {
    run -0 "$samples/pooled"
    assert_line --regexp '^allocated 10884979 bytes in all, 3544947 at most, 0 now; reserved [0-9]+$'
}

@test "under gputrace the trace has every allocation, and the same peak as the allocator" {
    "$gputrace" run -o trace.json "$samples/pooled" >statement 2>words
    "$check_trace" --quiet --strict --expect statement trace.json
    "$gputrace" report -r memory --format=csv trace.json | tr -d '\r' >table
    run -0 grep -c '^memory,3544947,.*,Pool$' table
    assert_output 1
    run -0 count memory
    assert_output 47 # 23 of each, and a failure
}

@test "the questions that the allocator asks the driver are not in the trace" {
    "$gputrace" run -o trace.json "$samples/pooled" >statement
    run -0 jq -r '[.traceEvents[] | select(.cat == "cuda_driver") | .name] | unique[]' trace.json
    assert_line cuMemAllocFromPoolAsync
    assert_line cuMemFreeAsync
    refute_line cuCtxGetCurrent
    refute_line cuStreamIsCapturing
}

@test "the call stack of an allocation begins in the program, not in the allocator" {
    "$gputrace" run --backtrace -o trace.json "$samples/pooled" >statement
    run -0 "$gputrace" report -r memory trace.json
    assert_line --regexp 'Pool +within_a_limit \(pooled\.c:[0-9]+\)$'
}

@test "PyTorch's way to call it, and std::bad_alloc" {
    run "$programs/torch_calls" "$library"
    assert_success # its output says which check failed
    if ldd "$programs/torch_calls" | grep -q 'libstdc++\.so\.6'; then
        assert_output bad_alloc
    else # so some compilers are set up
        assert_output "nothing: C++'s library is a part of the program"
    fi
}

@test "PyTorch's way to call it, and PyTorch's exception" {
    run "$programs/torch_calls" "$library" "$programs/libc10.so"
    assert_success
    assert_output "torch: CUDA out of memory. gputrace's allocator cannot give 1000 bytes on device 0: it holds 0 bytes of \
the 0 bytes that the memory fraction allows (libgputrace-allocator.so:0, gputrace_torch_malloc)"
}

@test "PyTorch's way to call it, under gputrace" {
    [ -z "${sanitizer-}" ] || skip "the sanitizer must come first"
    run "$gputrace" run -o trace.json "$programs/torch_calls" "$library"
    assert_success
    run -0 jq '[.traceEvents[] | select(.name == "cuMemAllocFromPoolAsync")] | length' trace.json
    assert_output 3
}

@test "Python's ctypes, as in train.py" {
    case ${sanitizer-} in *tsan*) skip "Python does not run under this sanitizer" ;; esac
    cat >program.py <<'END'
import ctypes, sys
from unittest.mock import MagicMock
sys.path.insert(0, sys.argv[1])
sys.modules["torch"] = torch = MagicMock() # only what train.py does with the allocator is tested
torch.nn.Module = object
import train
library = ctypes.CDLL(sys.argv[2])
library.gputrace_malloc.restype = ctypes.c_void_p
library.gputrace_malloc.argtypes = [ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p]
library.gputrace_free.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p]
a = library.gputrace_malloc(1000, 0, None)
b = library.gputrace_malloc(500, 0, None)
library.gputrace_free(a, 1000, 0, None)
class Used(train.Allocator):
    def __init__(self, library):
        self.library = library
Used(library).print_stats(0)
assert all(hasattr(library, name) for name in train.Allocator.HOOKS.values())
END
    with_library run -0 env PYTHONDONTWRITEBYTECODE=1 python3 program.py "$root/samples" "$library"
    assert_line "allocator held_bytes peak 1500 current 500 total 1500"
    assert_line "allocator allocated_bytes peak 1500 allocations 2"
    assert_line --regexp "^allocator reserved_peak [1-9][0-9]* failures 0 unknown_frees 0 failed_frees 0$"
}

@test "without a driver allocation fails, and one line says so" {
    cat >program.c <<'END'
#include <gputrace/allocator.h>
#include <stdio.h>
int main(void)
{
    struct gputrace_allocator_stats stats;
    gputrace_allocator_init(1);
    printf("%p %p %d\n", gputrace_malloc(1, 0, NULL), gputrace_malloc(1, 0, NULL), gputrace_allocator_stats(0, &stats));
    gputrace_free(NULL, 0, 0, NULL);
    gputrace_allocator_trim();
    return 0;
}
END
    [ -z "${sanitizer-}" ] || skip "the same as without the sanitizer"
    [ -n "${simulated-}" ] || skip "there is a driver here"
    gcc -std=c99 -pedantic -Wall -Wextra -Wconversion -Werror -I"$root/include" -o program program.c -L"$build" -lgputrace-allocator
    LD_LIBRARY_PATH=$build run -0 --separate-stderr ./program
    assert_output "(nil) (nil) -1"
    # shellcheck disable=SC2154 # Bats sets it
    assert_equal "$stderr" "gputrace: warning: the allocator has no memory to give: there is no CUDA driver (libcuda.so.1)"
}

@test "the device's memory runs out cleanly" {
    need_simulated
    cat >program.c <<'END'
#include <gputrace/allocator.h>
#include <stdio.h>
int main(void)
{
    size_t count = 0;
    while (gputrace_malloc(1 << 20, 0, NULL))
        count++;
    struct gputrace_allocator_stats stats;
    gputrace_allocator_stats(0, &stats);
    printf("%zu allocations, %d failures, %d bytes held\n", count, (int)stats.failures, (int)stats.held_bytes.current);
    return 0;
}
END
    [ -z "${sanitizer-}" ] || skip "the same as without the sanitizer"
    gcc -std=c99 -I"$root/include" -o program program.c -L"$build" -lgputrace-allocator -Wl,-rpath,"$build"
    SIMGPU_MEMORY=10485760 run -0 ./program
    assert_output "10 allocations, 1 failures, 10485760 bytes held"
}

@test "a shell's child that forks without CUDA is not disturbed by the libraries" {
    [ -z "${sanitizer-}" ] || skip "the same as without the sanitizer"
    run -0 env LD_PRELOAD="$library:$build/libgputrace.so" sh -c 'echo before; (echo child); echo after'
    assert_output "$(printf '%s\n' before child after)"
}

@test "each function of the header is in the man page, and each of the man page in the header" {
    sed -nE 's/.*GPUTRACE_ALLOCATOR_API .*(gputrace_[a-z_]+)\(.*/\1/p' "$root/include/gputrace/allocator.h" | sort >header
    awk '/^\.Sh DESCRIPTION/ { exit } /^\.F[no] / { print $2 }' "$root/man/gputrace-allocator.3" | sort >page
    run -0 diff header page
    run -0 wc -l <header
    assert_output 23
}
