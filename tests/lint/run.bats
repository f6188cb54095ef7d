# tests/run, the runner of the tests: whatever goes wrong in a suite is counted, and nothing is counted twice.

load ../cli/common

# A tree with nothing but the runner; suites are shell scripts that look like unit tests.
unit() { # NAME LINE...
    mkdir -p tree/tests tree/build/tests
    cp "$root/tests/run" tree/tests
    : >"tree/tests/$1_test.c"
    printf '%s\n' '#!/bin/sh' "${@:2}" >"tree/build/tests/$1_test"
    chmod +x "tree/build/tests/$1_test"
}

@test "what passes, fails and is skipped is counted, and failures are shown with what they printed" {
    unit good 'echo 1..2' 'echo "ok 1 - one"' 'echo "ok 2 - two # SKIP no GPU"'
    unit bad 'echo 1..2' 'echo "not ok 1 - three"' 'echo "# because"' 'echo "ok 2 - four"' 'echo words >&2' 'exit 1'
    run -1 tree/tests/run
    assert_line 'skipped build/tests/good_test: two: no GPU'
    assert_line 'FAILED  build/tests/bad_test: three'
    assert_line '        # because'
    assert_line '        | words'
    assert_line --index -1 '2 passed, 1 failed, 1 skipped'
}

@test "nothing but passes gives 0" {
    unit good 'echo 1..1' 'echo "ok 1 - one"'
    run -0 tree/tests/run
    assert_line --index -1 '1 passed, 0 failed, 0 skipped'
}

@test "each suite has a line when it ends, before later ones have" {
    unit first 'echo 1..2' 'echo "ok 1 - one"' 'echo "ok 2 - two # SKIP no GPU"'
    unit later 'echo 1..1' "i=0; while [ ! -e '$PWD/end' ] && [ \$i -lt 1200 ]; do sleep 0.05; i=\$((i + 1)); done" \
        "[ -e '$PWD/end' ] && echo 'ok 1 - one'"
    tree/tests/run -j 1 >said &
    launcher=$!
    eventually grep -qE '^\[1/2\] build/tests/first_test: 1 passed, 0 failed, 1 skipped, [0-9]+ s$' said
    run ! grep later said
    touch end
    ended_with 0
    run -0 tail -n 3 said
    assert_line --index 0 --regexp '^\[2/2\] build/tests/later_test: 1 passed, 0 failed, 0 skipped, [0-9]+ s$'
    assert_line --index 1 'skipped build/tests/first_test: two: no GPU'
    assert_line --index 2 '2 passed, 0 failed, 1 skipped'
}

@test "the seed is printed first, the tests get it, and it can be set" {
    unit chance 'echo 1..1' 'echo "not ok 1 - seed $GPUTRACE_TEST_SEED"' 'exit 1'
    unset GPUTRACE_TEST_SEED
    run -1 tree/tests/run
    assert_line --index 0 --regexp '^seed [0-9]+$'
    assert_line "FAILED  build/tests/chance_test: ${lines[0]}"
    GPUTRACE_TEST_SEED=42 run -1 tree/tests/run
    assert_line --index 0 'seed 42'
    assert_line 'FAILED  build/tests/chance_test: seed 42'
}

@test "tests with the tag long are run when all are asked for; the slowest can be listed" {
    unit good 'echo 1..1' 'echo "ok 1 - one"'
    printf '%s\n' '@test "quick" { true; }' '# bats test_tags=long' '@test "slow" { sleep 0.1; }' >tree/tests/two.bats
    printf '%s\n' '# bats file_tags=long' '@test "daemons" { skip "no daemons"; }' >tree/tests/long.bats
    run -0 tree/tests/run
    assert_line --index -1 '2 passed, 0 failed, 0 skipped'
    run -0 tree/tests/run -a -s 9
    assert_line --regexp '^[0-9]+\.[0-9] s  of processor time in all$'
    assert_equal "$(grep -c ' s  tests/' <<<"$output")" 2
    assert_line 'skipped tests/long.bats: daemons: no daemons'
    assert_line --index -1 '3 passed, 0 failed, 1 skipped'
    run -0 grep ' ms  ' <<<"$output"
    assert_line --partial ' ms  tests/two.bats: quick'
    assert_line --regexp '^[1-9][0-9]{2,} ms  tests/two.bats: slow$'
    sort -rnc <<<"$output"
    run -0 tree/tests/run -a -s 1
    assert_equal "$(grep -c ' ms  ' <<<"$output")" 1
}

@test "a suite that crashes has failed" {
    unit crash 'echo 1..2' 'echo "ok 1 - one"' 'kill -SEGV $$'
    run -1 tree/tests/run
    assert_line 'FAILED  build/tests/crash_test: the suite died by signal 11'
    assert_line --index -1 '1 passed, 1 failed, 0 skipped'
}

@test "a suite that takes too long is ended and has failed" {
    unit slow 'echo 1..1' 'exec sleep 60'
    run -1 tree/tests/run -t 1
    assert_line 'FAILED  build/tests/slow_test: the suite took longer than 1 s'
}

@test "a suite that leaves tests out has failed" {
    unit short 'echo 1..3' 'echo "ok 1 - one"'
    run -1 tree/tests/run
    assert_line 'FAILED  build/tests/short_test: the suite gave 1 results of 3 planned (exit status 0)'
}

@test "a suite that does not exist, or prints nothing, has failed" {
    unit silent 'exit 0'
    unit gone
    rm tree/build/tests/gone_test
    run -1 tree/tests/run
    assert_line --partial 'build/tests/silent_test: the suite gave no result'
    assert_line --partial 'build/tests/gone_test: the suite gave no result'
    assert_line --index -1 '0 passed, 2 failed, 0 skipped'
}

@test "a suite that fails after its last test has failed" {
    unit late 'echo 1..1' 'echo "ok 1 - one"' 'exit 1'
    run -1 tree/tests/run
    assert_line 'FAILED  build/tests/late_test: the suite failed as a whole (exit status 1)'
}

@test "a pattern chooses suites; one that matches nothing is an error" {
    unit one 'echo 1..1' 'echo "ok 1 - one"'
    unit two 'echo 1..1' 'echo "not ok 1 - two"' 'exit 1'
    run -0 tree/tests/run one
    assert_line --index -1 '1 passed, 0 failed, 0 skipped'
    refute_output --partial two
    run -2 tree/tests/run three
}

@test "Bats files are run too" {
    unit good 'echo 1..1' 'echo "ok 1 - one"'
    printf '@test "fine" { true; }\n@test "not fine" { false; }\n@test "left out" { skip "no reason"; }\n' >tree/tests/a.bats
    run -1 tree/tests/run a.bats
    assert_line 'FAILED  tests/a.bats: not fine'
    assert_line 'skipped tests/a.bats: left out: no reason'
    assert_line --index -1 '1 passed, 1 failed, 1 skipped'
}
