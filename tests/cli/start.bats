# gputrace ps, start and stop: what happens in processes that run.

load common

programs=$build/tests/robust/programs

before_each() {
    need_simulated
    mkdir spools
}

teardown() {
    touch end
    [ -z "${stopped-}" ] || kill -CONT "$stopped" || true
    [ -z "${run-}" ] || wait "$run" || true
}

ps() { # the rows
    "$gputrace" ps --spool-dir=spools 2>/dev/null | tail -n +2
}
ask() { # COMMAND ARGUMENT...
    "$gputrace" "$1" --spool-dir=spools "${@:2}"
}
are() { # STATE NUMBER: so many processes have it
    [ "$(ps | awk '{ print $3 }' | grep -cx "$1")" -eq "$2" ]
}

# A program of so many processes, each of which marks ranges, or does what $command says, until the file "end" is there.
start_run() { # PROCESSES OPTION...
    local processes=$1
    shift
    script app "for i in \$(seq $processes); do ${command-$programs/steady 100000 2} >ticks.\$i & pids=\"\$pids \$!\"; done" \
        'until [ -e end ]; do sleep 0.05; done' 'kill $pids; wait'
    "$gputrace" run --spool-dir=spools -o trace.json "$@" ./app >out 2>said 3>&- &
    run=$!
}
end_run() {
    touch end
    wait "$run"
    run=
}

goes_on() { # N: the first process marks so many ranges from now on
    local before
    before=$(wc -l <ticks.1)
    eventually more_than $((before + $1))
}
more_than() {
    [ "$(wc -l <ticks.1)" -gt "$1" ]
}

@test "a process is listed, starts and stops as it is asked, and the trace has what was between" {
    start_run 1 --capture-range=api
    eventually are paused 1
    local pid
    pid=$(ps | awk '{ print $1 }')
    assert_equal "$(tr '\0' ' ' <"/proc/$pid/cmdline")" "$(ps | sed 's/.* \(\/.*\)/\1/') "
    assert_equal "$(ps | awk '{ print $2, $5 }')" '- 0'
    ask start "$pid"
    are recording 1
    goes_on 20
    ask stop "$pid"
    are paused 1
    goes_on 20
    ask start all --duration=50ms
    eventually are paused 1
    goes_on 20
    end_run
    "$check_trace" --strict trace.json
    assert_equal "$(jq -r '.traceEvents[] | select(.cat == "capture") | .name + ": " + .args.reason' trace.json)" 'Recording off: start
Recording on: gputrace start
Recording off: gputrace stop
Recording on: gputrace start
Recording off: gputrace stop'
    # Ranges are between an "on" and an "off", in both windows.
    jq -e '[.traceEvents[] | select(.cat == "capture").ts] as [$off1, $on, $off2, $on2, $off3]
        | [.traceEvents[] | select(.name | startswith("tick")).ts] as $ticks
        | ($ticks | all(($on <= . and . <= $off2) or ($on2 <= . and . <= $off3)))
          and ($ticks | any(. < $off2) and any(. > $on2))' trace.json
}

@test "without a range recording is on; stop pauses it, and start goes on" {
    start_run 1
    eventually are recording 1
    ask stop all
    are paused 1
    ask start all
    are recording 1
    end_run
}

@test "several processes start together, also at a time; a later request replaces one that waits" {
    start_run 3 --capture-range=api
    eventually are paused 3
    ask start all
    eventually are recording 3
    ask stop all
    are paused 3
    ask start all --at=+3600s
    are paused 3
    ask start all --at=+50ms --duration=3600s
    eventually are recording 3
    end_run
    "$check_trace" --strict trace.json
    [ "$(jq '[.traceEvents[] | select(.cat == "capture" and .name == "Recording on").pid] | unique | length' trace.json)" -eq 3 ]
}

copies_of() { # TRACE
    jq -e '[.traceEvents[] | select(.cat == "gpu_memcpy")] | length > 0' "$1"
}
has_copies() { # what is in the spool so far
    "$gputrace" recover -q --keep --force -o part.json spools/gputrace-* 2>recovered && copies_of part.json
}

@test "CUDA is recorded between start and stop" {
    local command="$programs/soak 3600 2 200"
    start_run 1 --capture-range=api
    eventually are paused 1
    ask start all
    eventually has_copies
    ask stop all
    end_run
    "$check_trace" --strict trace.json
    copies_of trace.json
}

all_threads_stopped() {
    ! grep -h '^State:' "/proc/$stopped/task"/*/status | grep -qv 'T (stopped)'
}

@test "what is not there, does not answer or makes no sense is said" {
    run -1 "$gputrace" start --spool-dir=spools all
    assert_output "gputrace: no process is being recorded: 'gputrace run' starts one"
    run -0 "$gputrace" ps --spool-dir=spools
    assert_output --partial 'no process is being recorded'
    run -2 "$gputrace" start
    assert_output --partial "needs a pid, or 'all'"
    run -2 "$gputrace" stop x1
    assert_output --partial "'x1' is neither a pid nor 'all'"
    run -2 "$gputrace" start all --at=25:00
    assert_output "gputrace: --at: '25:00' is not a time: use +2s, 12:30 or 12:30:00"
    run -2 "$gputrace" start all --at=12:-5
    assert_output --partial "'12:-5' is not a time"
    run -2 "$gputrace" ps 12
    assert_output --partial "'ps' takes no argument"
    start_run 1 --capture-range=api
    eventually are paused 1
    run -1 "$gputrace" start --spool-dir=spools 1
    assert_output "gputrace: no process 1 is being recorded: 'gputrace ps' lists those that are"
    stopped=$(ps | awk '{ print $1 }')
    kill -STOP "$stopped"
    eventually all_threads_stopped
    run -1 "$gputrace" start --spool-dir=spools all
    assert_output "gputrace: process $stopped does not answer: it may be stopped, or forbids what recording needs"
    kill -CONT "$stopped"
    stopped=
    eventually are recording 1
    end_run
}
