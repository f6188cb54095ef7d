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
