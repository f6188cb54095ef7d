# The frames of Python that agent/python reads, compared with what Python says of itself: in every interpreter from 3.8 on
# that there is, the system's and those of pyenv. frames.py has the cases, each of them a function.

load ../../cli/common

before_each() {
    library=$build/tests/agent/python/libframes.so
    mapfile -t pythons < <(printf '%s\n' /usr/bin/python3 "$HOME"/.pyenv/versions/3.*/bin/python3)
}

# Runs CASES in all interpreters, one after the other.
compare() { # CASE...
    local python compared=0
    for python in "${pythons[@]}"; do
        "$python" -c 'import sys; sys.exit(sys.version_info < (3, 8))' 2>/dev/null || continue
        LD_PRELOAD=${sanitizer-} "$python" "$BATS_TEST_DIRNAME/frames.py" "$library" "$@"
        compared=$((compared + 1))
    done
    [ "$compared" -gt 0 ]
}

@test "functions, methods, operators and callbacks have their names and lines" {
    compare calls lines comprehensions decorators
}

@test "generators and coroutines stand where they are resumed" {
    compare generators coroutines
}

@test "exceptions, tracing, signal handlers and finalizers change nothing" {
    compare exceptions tracing signals finalizers
}

@test "recursion is read to the deepest frames that are kept" {
    compare recursion
}

@test "names and files may have any characters" {
    compare names
}

@test "code that takes the place of freed code is not taken for it" {
    compare reused_code replaced_code
}

@test "each thread has its own frames, with the GIL and without; other threads have none" {
    compare threads no_frames
}

@test "subinterpreters have their own frames" {
    compare subinterpreters
}

@test "numbers begin anew after a fork" {
    compare fork
}

@test "frames of one C call have one place" {
    compare places
}

@test "a frame has one number, and is recorded again if it could not be" {
    compare numbers rejected
}

@test "stacks of Python alone have a number for each place" {
    compare stacks
}

@test "a stack whose Python changed is another one, though the C code is the same" {
    compare whole_stacks
}

@test "there are frames until the end, while daemon threads go on" {
    compare exit
}

@test "threads, generators, exceptions, garbage and freed code at the same time" {
    compare stress=40000
}

@test "30 frames that were seen before take less than 1.5 us" {
    [ -z "${sanitizer-}" ] || skip "times of sanitized code say nothing"
    compare time
}
