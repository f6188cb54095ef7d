# What is recorded is drained while the program runs: it takes little room, and nothing of it is lost when somebody dies.

load robust

launches=100000

teardown() {
    touch "$BATS_TEST_TMPDIR/looked"
    leave
}

# How much of the disk the run directories take, in KiB.
on_disk() {
    du -sk "$TMPDIR" 2>/dev/null | cut -f1
}

# Looks at it every 20 ms until a file named "looked" is there; the most is in `most`.
look_at_disk() {
    local most=0 now
    while [ ! -e looked ]; do
        now=$(on_disk)
        [ "${now:-0}" -le "$most" ] || most=$now
        sleep 0.02
    done
    echo "$most" >most
}

# The trace holds each launch once, as its kernel and its call, and nothing is lost.
holds_all() { # TRACE
    jq -e --argjson n "$launches" '([.traceEvents[] | select(.cat == "kernel")] | length == $n) and
        ([.traceEvents[] | select(.name == "cudaLaunchKernel")] | length == $n) and
        ([.gputrace.losses[]] | add == 0)' "$1"
}

@test "a minute's worth of records takes little room, and all of them are in the trace" {
    need_plain
    need_simulated
    local recorded=$((1000000 * 256 / 1024))
    # 48 segments that are kept, 16 fresh ones, those in use and what is packed; and, where every processor is busy, what
    # waits for its hole: a program waits for nobody, so that a run beside others says little.
    for go in 1 2 3; do
        rm -f looked
        look_at_disk &
        "$gputrace" run -v -o trace.json "$samples/launch_loop" 1000000 >statement 2>said
        touch looked
        wait
        [ "$(cat most)" -gt 1000 ] || fail "nothing was seen on the disk"
        [ "$(cat most)" -ge 160000 ] || break
    done
    [ "$(cat most)" -lt 160000 ] || fail "it took $(cat most) KiB of $recorded, in $go runs"
    grep -q ' packed while the program ran' said
    "$check_trace" --quiet --strict --expect statement trace.json
}

# The trace holds each range of own_records and each allocation once, or all up to the last of each thread, and nothing is
# lost. (Not by jq, which would take a gigabyte for it.)
holds_own() { # TRACE RANGES THREADS [UP_TO_THE_LAST]
    awk -F'"' -v ranges="$2" -v threads="$3" -v cut="${4-}" '
        $8 == "user_annotation" {
            split($12, of, ":")
            twice += seen[$12]++ > 0
            count[of[1]]++
            if (of[2] + 1 > end[of[1]]) end[of[1]] = of[2] + 1
        }
        /"Allocate Device"/ { allocated++ }
        /"Release Device"/ { released++ }
        END {
            for (i = 0; i < threads; i++) {
                if (count[i] != (cut ? end[i] : ranges) || count[i] < 1000) { print "thread " i ": " count[i] " of " end[i]; bad = 1 }
                pairs += int((end[i] + 9) / 10)
            }
            for (i = threads; !cut && i < threads + int(ranges / 1000); i++)
                if (count[i] != 1) { print "thread " i ": " count[i]; bad = 1 }
            if (twice) { print twice " twice"; bad = 1 }
            # A thread may be killed between its range and its allocation.
            if (allocated < pairs - (cut ? threads : 0) || allocated > pairs || released < allocated - (cut ? threads : 0)) {
                print allocated " allocations, " released " releases of " pairs; bad = 1
            }
            exit bad
        }' "$1"
    grep -o '"losses":{[^}]*}' "$1" | sed 's/"in_flight":[0-9]*//; s/"unmatched_ranges":[0-9]*//' >losses
    [ -s losses ] && ! grep ':[1-9]' losses
}

@test "what the library records itself takes little room, and all of it is in the trace" {
    need_plain
    need_simulated
    look_at_disk &
    "$gputrace" run -v -o trace.json "$programs/own_records" 600000 2 3000 >statement 2>said
    touch looked
    wait
    [ "$(cat most)" -gt 1000 ] || fail "nothing was seen on the disk"
    [ "$(cat most)" -lt 80000 ] || fail "it took $(cat most) KiB of $((600000 * 2 * 170 / 1024))"
    holds_own trace.json 600000 2
}

@test "a launcher that is killed: nor is any of what the library records itself lost" {
    need_plain
    need_simulated
    for pause in 0.1 0.3; do
        rm -rf done "$TMPDIR"/gputrace-*
        script app "'$programs/own_records' 100000 2 2000 >statement; touch done"
        beside "$gputrace" run -o never.json ./app
        sleep $pause
        kill -KILL "$launcher"
        ended_with 137
        eventually [ -e done ]
        run -0 "$gputrace" recover "$TMPDIR"/gputrace-* -o trace.json
        holds_own trace.json 100000 2
    done
}

@test "a program that is killed: each thread's own records are whole up to the last" {
    need_plain
    need_simulated
    script app "exec '$programs/own_records' 4000000 2 1000"
    beside "$gputrace" run -o trace.json ./app
    sleep 0.5
    pkill -KILL -P "$launcher"
    ended_with 137
    holds_own trace.json 4000000 2 killed
}

@test "a launcher that is killed: what it packed and what it did not is all there" {
    need_plain
    need_simulated
    for pause in 0.1 0.2; do
        rm -rf done "$TMPDIR"/gputrace-*
        script app "'$samples/launch_loop' $launches >statement; touch done"
        beside "$gputrace" run -o never.json ./app
        sleep $pause
        kill -KILL "$launcher"
        ended_with 137
        eventually [ -e done ]
        run -0 "$gputrace" recover "$TMPDIR"/gputrace-* -o trace.json
        holds_all trace.json
        [ ! -e "$(echo "$TMPDIR"/gputrace-*)" ] || fail "something stayed: $(ls -l "$TMPDIR"/gputrace-*)"
    done
}

@test "a program that is killed: no call is missing between the first and the last" {
    need_plain
    need_simulated
    for pause in 0.2; do
        script app "exec '$samples/launch_loop' 4000000"
        beside "$gputrace" run -o trace.json ./app
        sleep $pause
        pkill -KILL -P "$launcher"
        ended_with 137
        jq -e '[.traceEvents[] | select(.name == "cudaLaunchKernel") | .args.correlation] | sort as $all
               | ($all | length) > 1000 and ($all | unique | length) == ($all | length)
               and $all[-1] - $all[0] + 1 == ($all | length)' trace.json
        jq -e '[.gputrace.losses | del(.in_flight)[]] | add == 0' trace.json
    done
}

@test "a disk that is full: the program runs on, and what is missing is counted" {
    need_plain
    need_simulated
    small_disk 12M
    script app "'$samples/launch_loop' $launches >statement"
    TMPDIR=$PWD/small run -0 timeout "$limit" "$gputrace" run -o traced.json ./app
    echo "$output" >said
    local kernels
    kernels=$(jq '[.traceEvents[] | select(.cat == "kernel")] | length' traced.json)
    [ "$kernels" -gt 10000 ]
    [ "$kernels" -eq "$launches" ] || grep -q 'not whole' said
    ledger traced.json
}

@test "a trace of a run that goes on" {
    need_plain
    need_simulated
    script app "'$samples/launch_loop' 600000 >statement"
    beside "$gputrace" run -o trace.json ./app
    sleep 0.4
    run -0 "$gputrace" recover "$TMPDIR"/gputrace-* -o sofar.json
    assert_output --partial 'the trace holds'
    jq -e '[.traceEvents[] | select(.name == "cudaLaunchKernel") | .args.correlation] | (unique | length) == length
           and length > 1000' sofar.json
    ended_with 0
    "$check_trace" --quiet --strict --expect statement trace.json
}

@test "--live: lines for whoever reads them later" {
    need_simulated
    export SIMGPU_KERNEL_NS=2000000
    run -0 --separate-stderr "$gputrace" run --live "$samples/launch_loop" 3000
    # shellcheck disable=SC2154 # bats sets it
    grep -E '^gputrace: 0:0[5-6]  [1-9][0-9]* events, GPU (9[0-9]|100) % busy, 0 bytes of GPU memory in use, [0-9.]+ kB recorded, [0-9.]+ MB on disk$' <<<"$stderr"
}

@test "--live: one line on a terminal, which goes when the program has ended" {
    need_plain
    need_simulated
    command -v script >/dev/null || skip "needs script(1)"
    export SIMGPU_KERNEL_NS=1000000
    command script -qec "stty cols 70; '$gputrace' run --live '$samples/launch_loop' 1500 >statement" /dev/null >screen </dev/null
    local lines
    lines=$(tr '\r' '\n' <screen | grep -c 'Kgputrace: 0:0[0-9]  [0-9]* event')
    [ "$lines" -ge 3 ] || fail "$(cat -v screen)"
    # No longer than the terminal is wide, and cleared at the end.
    tr '\r' '\n' <screen | sed -n 's/^\x1b\[K//p' | grep 'gputrace: 0:0' | awk 'length > 69 { exit 1 }'
    tr '\r' '\n' <screen | grep -A1 'events, ' | tail -n 1 | grep -q "^$(printf '\033')\[K"
}
