# Memory of a conversion does not grow with what is converted, nor with who writes: tests/bench/gen.

# bats file_tags=long

load ../cli/common

need() {
    [ -z "${sanitizer-}" ] || skip "sanitizers need memory of their own"
}

# Converts a spool of WHAT tests/bench/gen has an option for, with so many WRITERS, and holds its peaks of memory to these: with
# mapped files, and without. Peaks differ by some MiB with how threads meet; the bounds are further away.
hold() { # WHAT THREADS OUTPUT WRITERS MIB MIB
    local with without
    mkdir made
    "$build/tests/bench/gen" "$1" -t "$2" made 20000 100 20000
    run "$build/tests/bench/gen" -c made "$3" "$4"
    assert_success
    [[ $output =~ ' peak memory '([0-9]+)' KiB, without files '([0-9]+)' KiB'$ ]]
    with=$((BASH_REMATCH[1] / 1024)) without=$((BASH_REMATCH[2] / 1024))
    echo "# $1 of $2 threads, $4 writers: $with MiB, without files $without" >&3
    [ "$with" -lt "$5" ] && [ "$without" -lt "$6" ] || fail "more than $5 MiB, or than $6 without files"
}

@test "a million records of allocations, waits and ranges are converted in bounded memory" {
    need
    hold -r110000 8 /dev/null 2 128 64
}

@test "four times as many are converted in the same" {
    need
    hold -r440000 8 /dev/null 2 128 64
}

@test "those of many threads, written by many, in not much more" {
    need
    hold -r440000 200 trace.pftrace 32 192 96
}

@test "a million device ranges are converted in bounded memory" {
    need
    hold -d1000000 8 /dev/null 2 128 96
}

@test "sixteen threads write what one writes" {
    mkdir made one many
    "$build/tests/bench/gen" -d20000 -t 16 made 200000 300 300000
    (cd one && "$build/tests/bench/gen" -c ../made trace.json 1)
    (cd many && "$build/tests/bench/gen" -c ../made trace.json 16)
    cmp one/trace.json many/trace.json
}

@test "twenty thousand processes of one range each are converted in bounded memory" {
    need
    mkdir made
    "$build/tests/bench/gen" -p 20000 made
    run "$build/tests/bench/gen" -c made /dev/null 2
    assert_success
    [[ $output =~ ^20000' events'.*' peak memory '([0-9]+)' KiB' ]]
    echo "# $((BASH_REMATCH[1] / 1024)) MiB" >&3
    [ "${BASH_REMATCH[1]}" -le $((128 * 1024)) ]
    # A reader holds the metadata whole: they are bounded, and what is left out is counted.
    "$build/tests/bench/gen" -c made trace.json 2
    jq -e '.gputrace | (.processes | length) as $listed | $listed > 1000 and $listed + .processes_left_out == 20000' trace.json
    "$gputrace" report -r overview trace.json >report
}
