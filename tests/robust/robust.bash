# What the tests of this folder share, beyond tests/cli/common.bash.
# shellcheck shell=bash

load ../cli/common

programs=$build/tests/robust/programs

# A sanitizer's runtime changes what these programs look at: memory, stacks, signals, descriptors.
need_plain() {
    case $build in
    */build/address* | */build/thread*) skip "done with the plain build" ;;
    esac
}

# For tests at random moments: what RANDOM gives follows from the seed of the run, so that a failure can be repeated.
seeded() {
    seed=${GPUTRACE_TEST_SEED:-$RANDOM}
    RANDOM=$seed
    echo "seed $seed: GPUTRACE_TEST_SEED=$seed repeats it" # printed if the test fails
}

# Nothing may hang.
limit=60

# A file system of so many bytes, at ./small; unmounted with the test.
small_disk() { # BYTES
    [ "$(id -u)" -eq 0 ] || skip "needs root, to mount a small file system"
    mkdir small
    mount -t tmpfs -o "size=$1,mode=1777" none small 2>/dev/null || skip "cannot mount a file system here"
    mounted_at=$PWD/small
}

# For programs that root runs as another user: goes to a directory in which anybody may work, with copies of gputrace and
# these programs, for the build may lie where others cannot enter (a home, say). Removed with the test.
for_others() { # PROGRAM...
    [ "$(id -u)" -eq 0 ] || skip "needs root, to become another user"
    command -v setpriv >/dev/null || skip "needs setpriv"
    others=$(mktemp -d /tmp/gputrace-others.XXXXXX)
    cp "$gputrace" "$build/libgputrace.so.0" "${@/#/$programs/}" "$others"
    if [ -n "${simulated-}" ]; then
        mkdir "$others/simgpu"
        cp -P "$simgpu"/*.so* "$others/simgpu"
        export LD_LIBRARY_PATH=$others/simgpu
    fi
    programs=$others gputrace=$others/gputrace TMPDIR=$others/work/tmp
    mkdir -m 777 "$others/work" "$TMPDIR"
    chmod 755 "$others"
    cd "$others/work" || return
}

# Cleans up after a test that ended anywhere: a program beside it, a file system in `mounted_at`, files of `others`.
leave() {
    touch "$BATS_TEST_TMPDIR/end" # a test that is skipped at once is not there yet
    [ -z "${launcher-}" ] || kill -KILL "$launcher" 2>/dev/null || true
    [ -z "${mounted_at-}" ] || umount -l "$mounted_at"
    [ -z "${others-}" ] || rm -rf "$others"
}

teardown() { leave; }

# Runs a command in a directory of its own, with its output in files; INPUT is what it reads.
apart() { # DIRECTORY COMMAND...
    local place=$1 got=0
    shift
    mkdir -p "$place"
    (cd "$place" && exec timeout "$limit" "$@" >../"$place".out 2>../"$place".err <<<"${INPUT-}") || got=$?
    echo $got >"$place.status"
}

# Runs a program without and with gputrace: its output, exit status and files are the same.
# gputrace's messages are in `said`, the trace is traced.json.
unharmed() { # [OPTION...] -- PROGRAM [ARG...]
    local options=()
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    shift
    apart plain "$@"
    apart traced "$gputrace" run -o "$PWD/traced.json" "${options[@]}" "$@"
    grep '^gputrace: ' traced.err >said || true
    grep -v '^gputrace: ' traced.err >traced.rest || true
    same plain.out traced.out
    same plain.err traced.rest
    same plain.status traced.status
    diff -r plain traced
    [ "$(cat plain.status)" -ne 124 ] || fail "it took longer than $limit s"
}

same() { # FILE FILE
    cmp "$1" "$2" || { cat said && diff "$1" "$2"; }
}

# Fails unless gputrace has printed this.
said() { # TEXT
    grep -qF -- "$1" said || fail "not said: $1 (but: $(cat said))"
}

ranges() { # [TRACE]
    count user_annotation "${1:-traced.json}"
}

# The losses: of the last line of `run`, of the trace's metadata, of all its processes together, and of the report's
# overview. They are the same, or this fails; prints them, one on each line, as NAME COUNT.
ledger() { # TRACE [FILE-WITH-WHAT-RUN-SAID]
    local trace=$1 words=${2:-said}
    jq -r '.gputrace.losses | to_entries[] | select(.value > 0) | "\(.key) \(.value)"' "$trace" | sort >losses.trace
    # shellcheck disable=SC2016 # the dollars are jq's
    jq -e '.gputrace | .losses as $all | [.processes[].losses | to_entries[]] | group_by(.key)
           | map({key: .[0].key, value: (map(.value) | add)}) | from_entries
           | to_entries | all(.value <= $all[.key])' "$trace" >/dev/null || fail "processes have lost more than the trace"
    "$gputrace" report --format=csv -r overview "$trace" |
        sed -nE 's/^"?Lost or doubtful: ([^",]*)"?,([0-9]+),.*/\1 \2/p' | sed -E 's/ ([^0-9])/_\1/g' | sort >losses.report
    diff losses.trace losses.report >&2 || fail "the report does not say what the trace does"
    local sum
    sum=$(awk '{ sum += $2 } END { print sum + 0 }' losses.trace)
    assert_equal "$(said_losses "$words")" "$sum"
    cat losses.trace
}

# Fails when anything is lost but of these sorts. `ledger` has looked at all of them.
lost_only() { # TRACE LOSS...
    local trace=$1 lost
    lost=$(ledger "$trace")
    shift
    for loss; do lost=$(grep -v "^$loss " <<<"$lost" || true); done
    assert_equal "$lost" ''
}

# The sum of the numbers after "incomplete:" in the last line of `run`.
said_losses() { # FILE
    sed -nE 's/.*; incomplete: ([^;]*).*/\1/p' "$1" | tail -n 1 | sed 's/, /\n/g' | tr -d ',' | awk '{ sum += $1 } END { print sum + 0 }'
}

# --- trees of processes ---

traced() { # [OPTION...] COMMAND...
    timeout "$limit" "$gputrace" run "$@" 2>said
}

# How much of the disk the run directories take, in KiB.
on_disk() {
    du -sk "$TMPDIR" 2>/dev/null | cut -f1
}

# Looks at it every 20 ms until a file named "looked" is there; the most is in `most`. The program whose number is in `pid`
# is stopped while more than HOLD KiB are taken.
look_at_disk() { # [HOLD]
    local most=0 now
    while [ ! -e looked ]; do
        now=$(on_disk)
        [ "${now:-0}" -le "$most" ] || most=$now
        [ -z "${1-}" ] || hold "$1" "${now:-0}"
        sleep 0.02
    done
    echo "$most" >most
}

# Pids of processes that have ranges.
workers() { jq '[.traceEvents[] | select(.cat == "user_annotation") | .pid] | unique | length' trace.json; }
# Processes with rows of a GPU.
gpu_users() { jq '[.gputrace.processes[] | select(.gpu_pids != {})] | length' trace.json; }

# Ids are unique, every row has a name, and nothing is lost except losses of the named kinds.
# A process that ends by exec or _exit leaves operations of a real GPU in flight: their times were not collected yet. They are in
# the trace by name.
sound() { # [LOSS...]
    local loss allowed=()
    for loss; do
        echo "expect loss $loss 0.." >>allowed
        allowed=(--expect allowed)
    done
    "$check_trace" --strict "${allowed[@]}" trace.json
    rm -f allowed
    jq -e '.gputrace.processes | all(.losses.in_flight == 0 or .state != "finished")' trace.json >/dev/null ||
        fail "a process that ended well has work in flight"
    jq -e '[.traceEvents[] | select(.cat == "cuda_driver") | .args.correlation] | length == (unique | length)' \
        trace.json >/dev/null || fail "correlation ids collide"
    jq -e '[.traceEvents[] | select(.ph == "s") | .id] | length == (unique | length)' trace.json >/dev/null ||
        fail "ids of flows collide"
    jq -e '[.gputrace.processes[].gpu_pids[]] | length == (unique | length)' trace.json >/dev/null ||
        fail "two processes share the rows of a GPU"
    jq -e '[.traceEvents[] | select(.cat == "gpu_in_flight")] | all(.name // "" | length > 0 and . != "unknown")' \
        trace.json >/dev/null || fail "work in flight has no name"
    lost_only trace.json "$@"
}

# GPU operations, with their times or in flight.
gpu_work() { jq '[.traceEvents[] | select(.cat | IN("kernel", "gpu_memcpy", "gpu_memset", "gpu_in_flight"))] | length' trace.json; }
