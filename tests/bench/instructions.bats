# Instructions per event of writing, decoding and reading: tests/bench/instructions.

load ../cli/common

before_each() {
    [ -z "${sanitizer-}" ] || skip "what is counted is not sanitized"
    command -v valgrind >/dev/null || skip "there is no valgrind here"
}

@test "no event takes more instructions than are written down" {
    run "$root/tests/bench/instructions" "$build"
    assert_success
}

@test "more instructions than are written down are noticed" {
    mkdir -p copy/tests/bench
    cp "$root/tests/bench/instructions" copy/tests/bench/
    awk '{ print $1, $1 == "writing" ? $2 / 2 : $2 * 2 }' "$root/tests/bench/instructions.figures" >copy/tests/bench/instructions.figures
    run copy/tests/bench/instructions "$build" writing decoding
    assert_failure
    assert_line --regexp '^writing .*: MORE$'
    assert_line --regexp '^decoding .*: ok$'
}
