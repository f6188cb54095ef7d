# Spools are drained while the program runs: they take little disk space, and nothing is lost when a process is killed.

load robust

launches=100000

teardown() {
    touch "$BATS_TEST_TMPDIR/looked"
    cd "$BATS_TEST_TMPDIR" && hold 1 0
    leave
}

hold() { # HOLD NOW
    local signal=CONT
    [ -s pid ] && [ ! -e over ] || return 0
    [ "$2" -le "$1" ] || signal=STOP
    kill -$signal "$(cat pid)" 2>/dev/null || true
}

# The trace holds each launch once, as its kernel and its call.
holds_all() { # TRACE LAUNCHES
    assert_equal "$(grep -c '"cat":"kernel"' "$1")" "$2"
    assert_equal "$(grep -c '"name":"cudaLaunchKernel"' "$1")" "$2"
}

loses_nothing() { # TRACE
    grep -o '"losses":{[^}]*}' "$1" | sed 's/"in_flight":[0-9]*//; s/"unmatched_[a-z]*":[0-9]*//' >losses
    [ -s losses ] && ! grep ':[1-9]' losses
}

# What the launcher has packed while the program runs, in KiB: at least so much.
has_packed() { # KIB
    local file size=0
    for file in "$TMPDIR"/gputrace-*/*.packed; do
        size=$((size + $(stat -c %s "$file" 2>/dev/null || echo 0)))
    done
    [ $size -ge $(($1 * 1024)) ]
}

# bats test_tags=long
@test "a minute's worth of records takes little disk space, and all of them are in the trace" {
    need_plain
    need_simulated
    local recorded=$((1000000 * 256 / 1024))
    # 48 segments that are kept, 16 fresh ones, those in use and what is packed. A program does not wait, so that where
    # processors are busy it is ahead of the launcher by chance: this one is held until what it is ahead has been drained,
    # for which the launcher needs little of a processor's time, however long it waits for one.
    script app "'$samples/launch_loop' 1000000 >statement &" 'echo $! >pid' 'wait $!' 'got=$?' 'touch over' 'exit $got'
    look_at_disk 120000 &
    "$gputrace" run -q -o trace.json ./app
    touch looked
    wait
    [ "$(cat most)" -gt 1000 ] || fail "nothing was seen on the disk"
    [ "$(cat most)" -lt 160000 ] || fail "it took $(cat most) KiB of $recorded"
    "$check_trace" --quiet --strict --expect statement trace.json
}

# The trace holds each range of own_records and each allocation once, or all up to the last of each thread. (Not by jq, which
# would take a gigabyte for it.)
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
}

@test "agent records take little disk space, and all of them are in the trace" {
    need_plain
    need_simulated
    script app "'$programs/own_records' 600000 2 3000 >statement &" 'echo $! >pid' 'wait $!' 'got=$?' 'touch over' 'exit $got'
    look_at_disk 60000 &
    "$gputrace" run -q -o trace.json ./app
    touch looked
    wait
    [ "$(cat most)" -gt 1000 ] || fail "nothing was seen on the disk"
    [ "$(cat most)" -lt 80000 ] || fail "it took $(cat most) KiB of $((600000 * 2 * 170 / 1024))"
    holds_own trace.json 600000 2
    loses_nothing trace.json
}

# Starts a program and kills the launcher when it has packed KIB: the program goes on, and `recover` makes a trace of which
# CHECK is true.
launcher_is_killed() { # PROGRAM KIB CHECK...
    local program=$1 packed=$2
    shift 2
    need_plain
    need_simulated
    script app "$program >statement; touch done" "$until_end"
    beside "$gputrace" run --keep-running -o never.json ./app
    eventually has_packed "$packed"
    kill -KILL "$launcher"
    ended_with 137
    eventually [ -e done ]
    touch end
    run -0 "$gputrace" recover "$TMPDIR"/gputrace-* -o trace.json
    "$@"
    [ ! -e "$(echo "$TMPDIR"/gputrace-*)" ] || fail "something stayed: $(ls -l "$TMPDIR"/gputrace-*)"
}

@test "a launcher that is killed: what it packed and what it did not is all there" {
    launcher_is_killed "'$samples/launch_loop' $launches" 1 holds_all trace.json $launches
    loses_nothing trace.json
}

@test "a launcher that is killed: nor is any of what the library records itself lost" {
    launcher_is_killed "'$programs/own_records' 100000 2 2000" 100 holds_own trace.json 100000 2
    loses_nothing trace.json
}

@test "a trace of a run that goes on, and of its end by a signal: each thread's own records are whole up to the last" {
    need_plain
    need_simulated
    script app "exec '$programs/own_records' 100000000 2 20000"
    beside "$gputrace" run -q -o trace.json ./app
    eventually has_packed 300
    run -0 "$gputrace" recover "$TMPDIR"/gputrace-* -o sofar.json
    assert_output --partial 'only what was recorded so far'
    holds_own sofar.json 100000000 2 killed
    pkill -KILL -P "$launcher"
    ended_with 137
    holds_own trace.json 100000000 2 killed
    loses_nothing trace.json
}

@test "a program that is killed: no call is missing between the first and the last" {
    need_plain
    need_simulated
    script app "exec '$samples/launch_loop' 40000000"
    beside "$gputrace" run -q -o trace.json ./app
    eventually has_packed 1
    pkill -KILL -P "$launcher"
    ended_with 137
    jq -e '[.traceEvents[] | select(.name == "cudaLaunchKernel") | .args.correlation] | sort as $all
           | ($all | length) > 1000 and ($all | unique | length) == ($all | length)
           and $all[-1] - $all[0] + 1 == ($all | length)' trace.json
    # Killed within a launch: its kernel may be there, and its call, which has not returned, is not.
    jq -e '.gputrace.losses | .unmatched_flows <= 1 and ([del(.in_flight, .unmatched_flows)[]] | add == 0)' trace.json
}

@test "a full disk: the program runs on, and lost records are counted" {
    need_plain
    need_simulated
    small_disk 12M
    script app "'$samples/launch_loop' $launches >statement"
    TMPDIR=$PWD/small run -0 timeout "$limit" "$gputrace" run -o traced.json ./app
    echo "$output" >said
    local kernels
    kernels=$(grep -c '"cat":"kernel"' traced.json)
    [ "$kernels" -gt 10000 ]
    [ "$kernels" -eq "$launches" ] || grep -q 'incomplete: ' said
    ledger traced.json
}

@test "--live: lines in a file" {
    need_simulated
    export SIMGPU_KERNEL_NS=2000000
    run -0 --separate-stderr "$gputrace" run --live "$samples/launch_loop" 3000
    # shellcheck disable=SC2154 # bats sets it
    grep -E '^gputrace: 0:[0-9]{2}  [1-9][0-9,]* events, GPU (9[0-9]|100) % busy, 0 bytes of GPU memory in use, [0-9.]+ kB recorded, [0-9.]+ MB on disk$' <<<"$stderr"
}

@test "--live: one line on a terminal, which goes when the program has ended" {
    need_plain
    need_simulated
    command -v script >/dev/null || skip "needs script(1)"
    export SIMGPU_KERNEL_NS=1000000
    script app "'$samples/launch_loop' 1500" "$until_end"
    (command script -qefc "stty cols 70; '$gputrace' run --live ./app >statement" screen >/dev/null </dev/null) &
    local shown=$!
    updated() { [ "$(tr '\r' '\n' <screen | grep -c 'Kgputrace: 0:[0-9]*  [0-9,]* event')" -ge 3 ]; }
    eventually updated || fail "$(cat -v screen)"
    touch end
    wait $shown
    # No longer than the terminal is wide, and cleared at the end.
    tr '\r' '\n' <screen | sed -n 's/^\x1b\[K//p' | grep 'gputrace: 0:' | awk 'length > 69 { exit 1 }'
    tr '\r' '\n' <screen | grep -A1 'events, ' | tail -n 1 | grep -q "^$(printf '\033')\[K"
}

@test "a packed file that was removed is named, and what it held is counted" {
    need_simulated
    mkdir kept
    # The launcher packs while the script waits for it.
    script app "'$samples/launch_loop' $launches >statement" 'until [ -s "$(echo "$GPUTRACE_SPOOL"/*-0.packed)" ]; do sleep 0.01; done'
    "$gputrace" run -q --keep-spool --spool-dir=kept -o all.json ./app
    packed=$(echo kept/*/*-0.packed)
    rm "$packed"
    run -0 "$gputrace" convert "$(dirname "$packed")" rest.json
    assert_output --partial "'$packed' was removed or cut: the trace lacks the records that were there"
    assert_output --partial 'incomplete: '
}
