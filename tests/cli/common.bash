# What the command-line tests share. GPUTRACE_BUILD is the build folder (tests/run sets it).
#
# Where there is a GPU the tests run on it; elsewhere on the simulated one, which LD_LIBRARY_PATH puts in CUDA's place.
# GPUTRACE_SIMULATED=1 asks for the simulated one in either case.
# shellcheck shell=bash

bats_require_minimum_version 1.5.0
export BATS_LIB_PATH=${BATS_LIB_PATH:-/usr/lib/bats:/usr/lib:/usr/local/lib/bats:/usr/local/lib}
bats_load_library bats-support
bats_load_library bats-assert

export GPUTRACE_PAGER='' # terminals of tests show everything
root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
build=${GPUTRACE_BUILD:-$root/build}
samples=$build/samples
simgpu=$build/simgpu
gputrace=$build/gputrace
check_trace=$build/tests/check_trace

# Asked once for all tests of a run: starting the driver takes its time.
has_gpu() {
    local known=$BATS_RUN_TMPDIR/gpu
    [ -z "${GPUTRACE_SIMULATED-}" ] && [ -e /dev/nvidia0 ] || return 1
    [ -e "$known" ] || "$gputrace" doctor 2>/dev/null | grep '^ok *GPU' >"$known" || true
    [ -s "$known" ]
}

# The word of -r that shows a table.
section_of() { # TABLE
    case $1 in
    idle-where) echo idle ;;
    temporal) echo overlap ;;
    idle-streams) echo queue ;;
    critical-names) echo critical-path ;;
    phases) echo compilation ;;
    memory-* | nvtx-*) echo "${1%%-*}" ;;
    *) echo "$1" ;;
    esac
}

# A sanitized library in a program that is not takes the sanitizer's runtime before all else. The samples are therefore
# called through scripts that load it into them, and into nothing else: shells and tools do not run with it. Leaks of whole
# programs are not looked for; the unit tests do that.
use_sanitizer() {
    local sample
    case $build in
    */build/*thread*) sanitizer=$(gcc -print-file-name=libtsan.so) ;;
    */build/*address*) sanitizer=$(gcc -print-file-name=libasan.so) ;;
    *) return 0 ;;
    esac
    export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"
    export TSAN_OPTIONS="${TSAN_OPTIONS:+$TSAN_OPTIONS:}report_thread_leaks=0" # Python ends with daemon threads
    mkdir "$BATS_TEST_TMPDIR/samples"
    for sample in "$samples"/*; do
        [ -f "$sample" ] || continue
        if [ ! -x "$sample" ]; then
            cp "$sample" "$BATS_TEST_TMPDIR/samples"
            continue
        fi
        printf '#!/bin/sh\nLD_PRELOAD=%s exec "%s" "$@"\n' "$sanitizer" "$sample" >"$BATS_TEST_TMPDIR/samples/${sample##*/}"
        chmod +x "$BATS_TEST_TMPDIR/samples/${sample##*/}"
    done
    samples=$BATS_TEST_TMPDIR/samples
}

# Every test works in a directory of its own, which is also its TMPDIR, away from the settings of the user. A file that
# defines before_each() has it called before each of its tests.
setup() {
    export TMPDIR=$BATS_TEST_TMPDIR/tmp
    mkdir "$TMPDIR"
    cd "$BATS_TEST_TMPDIR" || return 1
    unset CUDA_INJECTION64_PATH NVTX_INJECTION64_PATH RANK WORLD_SIZE
    unset "${!SIMGPU_@}" GPUTRACE_CUPTI GPUTRACE_SPOOL NO_COLOR
    if ! has_gpu; then
        export LD_LIBRARY_PATH=$simgpu${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
        simulated=yes
    fi
    use_sanitizer
    ! declare -F before_each >/dev/null || before_each
}

# For what only the simulated GPU does on request.
need_simulated() {
    [ -n "${simulated-}" ] || skip "needs the simulated GPU"
}

# A program that needs nothing of the GPU: a shell script of these lines.
script() { # NAME LINE...
    local name=$1
    shift
    printf '%s\n' '#!/bin/sh' "$@" >"$name"
    chmod +x "$name"
}

# A line for scripts: waits until the test makes a file named "end", two minutes at most, so that nothing stays behind.
# shellcheck disable=SC2016 # the program's shell expands it
until_end='i=0; while [ ! -e end ] && [ $i -lt 2400 ]; do sleep 0.05; i=$((i + 1)); done'

# Runs a command beside the test, without the descriptor that Bats waits for, and with the signals that a shell's job in
# the foreground has. Its pid is in `launcher`.
beside() {
    env --default-signal=INT,QUIT "$@" <&0 3>&- & # a job would read /dev/null otherwise
    launcher=$!
}

# Waits for what runs beside the test to end with this exit status.
ended_with() { # STATUS
    local got=0
    wait "$launcher" || got=$?
    launcher=
    assert_equal "$got" "$1"
}

teardown() {
    touch "$BATS_TEST_TMPDIR/end" # a test that is skipped at once is not there yet
    [ -z "${launcher-}" ] || kill -KILL "$launcher" 2>/dev/null || true
}

# A filter of jq: numbers without the digits that they had in the file, which jq 1.7 prints (5.000).
# shellcheck disable=SC2034 # tests use it
plain_numbers='walk(if type == "number" then . + 0 else . end)'

# Events of category CAT in a trace.
count() { # CAT [TRACE]
    jq --arg cat "$1" '[.traceEvents[] | select(.cat == $cat)] | length' "${2:-trace.json}"
}

# Waits until a command succeeds. Only what never comes takes the minute.
eventually() { # COMMAND...
    local end=$((SECONDS + 60))
    until "$@"; do
        [ $SECONDS -lt $end ] || return 1
        sleep 0.05
    done
}

# The state of a process, one letter: S sleeping, T stopped. (Not by ps, which a preloaded sanitizer may hang.)
state_of() { # PID
    local key value
    while read -r key value; do
        [ "$key" != State: ] || echo "${value%% *}"
    done <"/proc/$1/status"
}

# Writes page.html and the data in it, page.json: a chapter after another.
page() {
    "$gputrace" report --html page.html "$@" >out || return
    [ ! -s out ] || fail "something was printed: $(cat out)"
    sed -n 's|^<script type="application/json" class="chapter">\(.*\)</script>$|\1|p' page.html >page.json
    jq empty page.json
}

# Compiles NAME.cu to a program that runs with the sanitizer of the build.
build_cu() { # NAME: of NAME.cu
    "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc" -cudart shared -o "$1" "$1.cu"
    [ -n "${sanitizer-}" ] || return 0
    mv "$1" "$1.plain"
    printf '#!/bin/sh\nLD_PRELOAD=%s exec "%s" "$@"\n' "$sanitizer" "$PWD/$1.plain" >"$1"
    chmod +x "$1"
}
