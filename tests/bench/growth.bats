# How the work of a command grows with what a trace has many of: tests/bench/growth.

# bats file_tags=long

load ../cli/common

before_each() {
    [ -z "${sanitizer-}" ] || skip "what is counted is not sanitized"
    command -v valgrind >/dev/null || skip "there is no valgrind here"
}

assert_growth() { # N KIND COMMAND...
    run "$root/tests/bench/growth" "$build" "$@"
    assert_success
    echo "# $output" >&3
}

@test "idle time grows with the GPUs of a process" {
    assert_growth 500 gpus report -r idle TRACE
}

@test "findings grow with the GPUs of a process" {
    assert_growth 500 gpus report -r findings TRACE
}

@test "waits of streams are found in time that grows with the streams" {
    assert_growth 4000 wait_streams report -r idle TRACE
}

@test "calls are found in time that grows with the processes that have the same correlation ids" {
    assert_growth 4000 processes report -r kernels,latency TRACE
}

@test "steps grow with the processes that have some" {
    assert_growth 400 steps_of_processes report -r steps TRACE
}

@test "the critical path grows with the threads that it leads through" {
    assert_growth 500 samples report -r critical-path TRACE
}

@test "a report grows with the ranks of a communicator" {
    assert_growth 250 ranks report TRACE
}

@test "all sections of a job's trace grow with its ranks" {
    assert_growth 500 job report -r all TRACE
}

@test "a page grows with the GPUs of a process" {
    assert_growth 250 gpus report -r all --html=OUT.html TRACE
}

@test "what a report of a job needs grows with the GPUs of a process" {
    assert_growth 500 gpus report --partial -o OUT.gpr TRACE
}

@test "merging grows with the processes" {
    assert_growth 500 processes merge -q -o OUT.json TRACE COPY
}

@test "a comparison grows with the GPUs of a process" {
    assert_growth 250 gpus diff TRACE COPY
}

@test "a database grows with the processes that have the same correlation ids" {
    assert_growth 1000 processes convert -q TRACE OUT.sqlite
}

@test "a conversion grows with the processes" {
    assert_growth 1000 processes convert -q TRACE OUT.pftrace
}

# Instructions of the program and of gputrace together.
count_domains() { # NUMBER
    rm -f log.*
    valgrind --tool=cachegrind --cache-sim=no --cachegrind-out-file=/dev/null --trace-children=yes --log-file=log.%p \
        "$gputrace" run -q -o "$1.json" "$build/tests/robust/programs/domains" "$1"
    sed -nE 's/^==[0-9]+== I +refs: +([0-9,]+)$/\1/p' log.* | tr -d , | awk '{ sum += $1 } END { print sum }'
}

@test "a program's NVTX domains are recorded and written in time that grows with them" {
    need_simulated
    fixed=$(count_domains 1) once=$(($(count_domains 1000) - fixed)) four=$(($(count_domains 4000) - fixed))
    echo "# $((once / 1000)) instructions each of 1000, $((four / 4000)) each of 4000" >&3
    [ "$four" -le $((5 * once)) ]
    run jq '[.traceEvents[] | select(.cat == "user_annotation") | .args.domain] | unique | length' 4000.json
    assert_output 4000
}
