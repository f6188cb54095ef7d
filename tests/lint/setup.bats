# .ci/setup, with an apt-get, a sudo and an id that only say what they were asked.

load ../cli/common

# Stands in for a command: prints its arguments into `asked`, and does what the lines say.
stub() { # NAME LINE...
    mkdir -p stubs
    printf '%s\n' '#!/bin/sh' "echo \"${1} \$*\" >>'$PWD/asked'" "${@:2}" >"stubs/$1"
    chmod +x "stubs/$1"
}

# A machine without the headers of cJSON and zlib: its compiler finds none of them.
poor() {
    stub cc 'for last; do :; done' 'if grep -qE "cJSON|zlib" 2>/dev/null; then exit 1; fi'
    rm -f asked
    export PATH=$PWD/stubs:$PATH CC=cc
}

@test "with all packages present nothing is installed and the stamp is written" {
    stub apt-get
    PATH=$PWD/stubs:$PATH run -0 "$root/.ci/setup" there/stamp
    [ -z "$output" ] || skip "this machine itself lacks something: $output"
    [ -e there/stamp ]
    [ ! -e asked ]
}

@test "a missing package is named with its reason and installed, as root without sudo" {
    poor
    stub apt-get
    stub id 'echo 0'
    run -0 "$root/.ci/setup" stamp
    assert_line --partial 'libcjson-dev: reads JSON'
    assert_line --partial 'zlib1g-dev: reads .gz of other tools'
    grep -E '^apt-get install -y --no-install-recommends .*libcjson-dev .*zlib1g-dev' asked
    run ! grep update asked
    [ -e stamp ]
}

@test "the demo asks for what building needs, not for what tests need" {
    poor
    stub cc 'for last; do :; done' 'if grep -qE "cJSON|cmocka" 2>/dev/null; then exit 1; fi'
    stub apt-get
    stub id 'echo 0'
    run -0 "$root/.ci/setup" --build stamp
    [ -e stamp ]
    run -0 "$root/.ci/setup"
    run -0 cat asked
    assert_line 'apt-get install -y --no-install-recommends libcjson-dev'
    assert_line --regexp '^apt-get install -y --no-install-recommends libcjson-dev libcmocka-dev( |$)'
    run -0 env -u MAKEFLAGS make -n -C "$root" -W .ci/setup B="$PWD/own" demo
    assert_line '.ci/setup --build build/.setup-build'
    refute_line '.ci/setup build/.setup'
}

@test "tests install nothing: what is missing is said, with the command that installs it" {
    poor
    stub apt-get
    run -1 "$root/.ci/setup" --check stamp
    assert_line --partial 'libcjson-dev: reads JSON'
    assert_line --index -1 'setup: `make setup` installs them'
    [ ! -e asked ] && [ ! -e stamp ]
    run -0 env -u MAKEFLAGS make -n -C "$root" -W .ci/setup build/.setup
    assert_line '.ci/setup --check build/.setup'
    for target in test test-all bench check-samples fuzz; do
        grep -qh "^$target: build/.setup " "$root/Makefile" "$root/tests/fuzz/fuzz.mk"
    done
    run -0 env -u MAKEFLAGS make -n -C "$root" -W .ci/setup setup build/.setup
    assert_line '.ci/setup build/.setup'
}

@test "README.md and .ci/run have the command that installs what tests need and runs them" {
    grep -qF '`make setup test`' "$root/README.md"
    grep -qF '`make test-all`' "$root/README.md"
    grep -q "^exec make setup test-all PARTS='tests aarch64' " "$root/.ci/run"
}

@test "lists that are too old are brought up to date, once" {
    poor
    stub apt-get 'case $1 in update) touch updated ;; install) [ -e updated ] ;; esac'
    stub id 'echo 0'
    run -0 "$root/.ci/setup" stamp
    assert_equal "$(grep -o '^apt-get [a-z]*' asked | tr '\n' ' ')" 'apt-get install apt-get update apt-get install '
    [ -e stamp ]
}

@test "without root it goes through sudo" {
    poor
    stub apt-get
    stub id 'echo 1000'
    stub sudo '[ "$1" != -n ] || shift' 'exec "$@"'
    run -0 "$root/.ci/setup" stamp
    grep -q '^sudo env DEBIAN_FRONTEND=noninteractive apt-get install' asked
}

@test "without root and sudo it says what to type" {
    poor
    stub apt-get
    stub id 'echo 1000'
    stub sudo 'exit 1'
    run -1 "$root/.ci/setup" stamp </dev/null
    assert_line --partial 'apt-get install libcjson-dev zlib1g-dev'
    [ ! -e stamp ]
}

@test "an installation that fails says what to type, and leaves no stamp" {
    poor
    stub apt-get 'exit 100'
    stub id 'echo 0'
    run -1 "$root/.ci/setup" stamp
    assert_line --partial 'apt-get update && apt-get install libcjson-dev zlib1g-dev'
    [ ! -e stamp ]
}

@test "README.md names every package that building needs" {
    sed -n '/build_only-/q;s/^need \([^ ]*\) .*/\1/p' "$root/.ci/setup" >packages
    [ "$(wc -l <packages)" -gt 5 ]
    while read -r package; do
        grep -qwF -- "$package" "$root/README.md" || fail "README.md does not name $package"
    done <packages
}
