# The trace survives every way to end. What the program had done by then is what its file "done" says
# (tests/robust/programs/dying.c), and what the trace holds is compared with it.

load robust

before_each() { need_plain; }

# A number of "done": launches 0, allocations 1, NVTX ranges 2.
done_of() { # INDEX
    od -An -tu8 -j $(($1 * 8)) -N 8 done | tr -d ' '
}

number() { # JQ-FILTER [TRACE]
    jq "$1" "${2:-trace.json}"
}

launches() {
    number '[.traceEvents[] | select(.ph == "X" and .cat == "cuda_driver" and .name == "cuLaunchKernel")] | length'
}

kernels() {
    number '[.traceEvents[] | select(.cat == "kernel" or .cat == "gpu_in_flight") | select(.name | startswith("dying_"))] | length'
}

# The trace is valid and holds all that had returned, every kernel by its name. Where a kill may come within a call
# (MORE is 1), that call may be recorded and not yet counted.
whole() { # [MORE]
    local more=${1:-0} counted
    "$check_trace" trace.json
    counted=$(done_of 0)
    [ "$counted" -gt 0 ]
    between "$counted" "$(launches)" "$more"
    between "$counted" "$(kernels)" "$more"
    between "$(done_of 1)" "$(number '[.traceEvents[] | select(.name == "Allocate Device")] | length')" "$more"
    between "$(done_of 2)" "$(number '[.traceEvents[] | select(.cat == "user_annotation")] | length')" 1
    assert_equal "$(number .gputrace.losses.unnamed)" 0
}

between() { # LEAST VALUE MORE
    [ "$2" -ge "$1" ] && [ "$2" -le $(($1 + $3)) ] || fail "$2 in the trace, $1 by the program (+$3)"
}

# The program ends so without gputrace, and likewise with it; then the trace is whole.
dies() { # HOW STATUS
    ulimit -c 0
    run -"$2" "$programs/dying" "$1"
    rm -f done
    run -"$2" "$gputrace" run "$programs/dying" "$1"
    whole 0
    state=$(jq -r '.gputrace.processes[0].state' trace.json)
}

# The signal that the crash handler recorded.
signal_is() { # NUMBER
    assert_equal "$(number '.gputrace.processes[0].death.signal')" "$1"
}

# The crash has the stack of the thread that got the signal: the names of FUNCTIONs, innermost first, follow one another.
stack_has() { # FUNCTION...
    jq -r 'def chain($frames): $frames[.] | .name, (.parent // empty | tostring | chain($frames));
        .stackFrames as $frames | .gputrace.processes[0].death.stack | tostring | chain($frames)' trace.json >frames
    assert_equal "$(grep -n -x -F -m 1 "$1" -A $(($# - 1)) frames | sed 's/^[0-9]*[:-]//' | xargs)" "$*"
}

@test "exit: nothing is lost, and all kernels have times" {
    dies exit 3
    assert_equal "$state" finished
    assert_equal "$(count kernel)" 100
}

@test "_exit: no handler runs, and nothing is lost" {
    dies _exit 4
    assert_equal "$state" 'ended without its exit handlers'
}

@test "quick_exit: as exit" {
    dies quick_exit 5
    assert_equal "$state" finished
    assert_equal "$(count kernel)" 100
}

@test "a signal that ends the program is in the trace: abort, bus error, floating point, illegal instruction, bad call" {
    local row how expected signal
    for row in 'abort 134 6' 'bus 135 7' 'fpe 136 8' 'ill 132 4' 'sys 159 31'; do
        read -r how expected signal <<<"$row"
        dies "$how" "$expected"
        signal_is "$signal"
    done
}

@test "nothing is lost without a handler: stack overflow, SIGTERM, exec, resets of device and context, kernels of modules" {
    local row how expected signal
    for row in 'stack 139' 'term 143' 'exec 6' 'reset 4' 'context 4' 'module-_exit 4' 'module-segv 139'; do
        read -r how expected <<<"$row"
        dies "$how" "$expected"
    done
}

@test "a segmentation fault: its address and thread are in the trace" {
    dies segv 139
    signal_is 11
    assert_equal "$(number '.gputrace.processes[0].death.address')" '"0x10"'
    assert_equal "$(number '.gputrace.processes[0] | .death.thread == .pid')" true
    stack_has by_fault main
    "$gputrace" report -r overview -f json trace.json |
        jq -e '.overview[] | select(.item == "Ended with") | .detail | test("^in by_fault \\(dying.c:[0-9]+\\)$")'
    "$gputrace" report -r crashes -f csv trace.json >crashes
    grep '^,In,,by_fault (dying.c:[0-9]*),' crashes
    grep '^,Called by,,main (dying.c:[0-9]*),' crashes
}

@test "a segmentation fault on another thread" {
    dies segv-thread 139
    signal_is 11
    assert_equal "$(number '.gputrace.processes[0] | .death.thread != .pid')" true
    stack_has by_fault fault start_thread
}

@test "the stack of a crash: where no function is, an abort, and what findings show of it" {
    dies nothing 139
    stack_has by_call_of_nothing main
    assert_equal "$(number '.gputrace.processes[0].death["called at"]' | grep -o 'by_call_of_nothing')" by_call_of_nothing
    "$gputrace" report -r findings -f json trace.json |
        jq -e '.findings[] | select(.id == "crashed") | .stack | test("^by_call_of_nothing .*< main ")'
    dies abort 134
    stack_has abort main
}

@test "a trace that is made without the program's files has the place of the crash" {
    cp "$programs/dying" gone
    run -139 "$gputrace" run --keep-spool --spool-dir="$PWD" -q ./gone segv
    rm gone
    "$gputrace" recover -q -o again.json "$PWD"/gputrace-*
    jq -e '.gputrace.processes[0].death["called at"] | test("^gone\\+0x[0-9a-f]+$")' again.json
}

@test "SIGKILL" {
    dies kill 137
    assert_equal "$(number '.gputrace.processes[0].death')" null
}

@test "the program's own signal handler is called as without gputrace" {
    dies handler 7
    assert_line 'its own handler: address at 1'
}

@test "a handler that passes the signal on to the previous one" {
    dies chained 139
    assert_output --partial 'passed on'
    signal_is 11
}

@test "exec of a program with CUDA: both images are in the trace" {
    run -4 "$gputrace" run "$programs/dying" exec-cuda
    whole 0
    assert_equal "$(number '[.gputrace.processes[].state]' | jq -c .)" \
        '["became another program","ended without its exit handlers"]'
}

@test "CUPTI is finalized by another tool" {
    run -4 "$gputrace" run "$programs/dying" finalize
    whole 0
}

@test "the core dump is the program's: signal and place are the fault's" {
    command -v gdb >/dev/null || skip "needs gdb"
    [ "$(cat /proc/sys/kernel/core_pattern)" = core ] || skip "core files do not lie in the working directory"
    ulimit -c unlimited
    run "$gputrace" run "$programs/dying" segv
    [ -e core ] || [ -n "$(ls core.* 2>/dev/null)" ]
    run gdb -batch -ex 'p $_siginfo.si_addr' -ex 'p $_siginfo.si_code' -ex bt "$programs/dying" core*
    assert_output --partial 'by_fault'
    refute_output --partial 'die ('
}

# --- at any moment ---

# Kills the program that runs under gputrace beside the test: the name of its spool begins with its pid.
kill_program() {
    local spool
    spool=$(ls "$TMPDIR"/gputrace-*/*.spool)
    spool=${spool##*/}
    kill -KILL "${spool%%-*}"
    ended_with 137
}

# Kills the program WAY once it has launched so many kernels as chance says.
killed_at_random() { # WAY
    local moment=$((RANDOM % 500 + 1))
    export TMPDIR=$BATS_TEST_TMPDIR/tmp
    rm -rf done "$TMPDIR"
    mkdir -p "$TMPDIR"
    beside timeout "$limit" "$gputrace" run -q "$programs/dying" "$1" 0
    launched() { [ -s done ] && [ "$(done_of 0)" -ge $moment ]; }
    eventually launched
    kill_program
    # One call may have been recorded and not yet counted.
    whole 1
}

@test "SIGKILL at random moments: every call that had returned, every kernel launched by its name" {
    seeded
    for _ in 1 2 3 4 5; do
        killed_at_random never
    done
}

@test "SIGKILL at random moments, kernels of modules, and got long before they are launched" {
    seeded
    for way in module-never early-never module-early-never; do
        killed_at_random $way
    done
}

# bats test_tags=long
@test "SIGKILL at 10 random moments of eight threads that launch, copy, allocate, record events and mark" {
    seeded
    command -v python3 >/dev/null || skip "needs python3"
    run -0 env KILLS=10 ${simulated:+GPUTRACE_SIMULATED=1} KILLS_DIR="$TMPDIR" GPUTRACE_TEST_SEED="$seed" "$root/tests/bench/kills" "$build"
    assert_line --regexp "^10 kills on .*, seed $seed: 10 whole traces, [1-9][0-9]* calls returned"
}

# The program is killed within a launch, which has its record by then and has not returned: its name was not read yet.
killed_in_launch() { # NUMBER WAY [OPTION...]
    local number=$1 way=$2
    shift 2
    rm -f done
    SIMGPU_KILL_LAUNCHED=$number run -137 timeout "$limit" "$gputrace" run -q "$@" "$programs/dying" "$way" 0
    assert_equal "$(done_of 0)" $((number - 1))
    assert_equal "$(kernels)" "$number"
    assert_equal "$(number .gputrace.losses.unnamed)" 0
    "$check_trace" trace.json
}

@test "SIGKILL within the first launch of a kernel: it has its name" {
    need_simulated
    for way in never module-never early-never module-early-never; do
        killed_in_launch 2 $way
        killed_in_launch 31 $way
    done
    killed_in_launch 31 never --trace=-compile
    killed_in_launch 31 module-never --trace=-compile
    CUDA_MODULE_LOADING=EAGER killed_in_launch 31 never
    CUDA_MODULE_LOADING=EAGER killed_in_launch 31 module-early-never
}

@test "SIGKILL within the first launch of the runtime's kernel: it has its name" {
    need_simulated
    SIMGPU_KILL_LAUNCHED=1 run -137 "$gputrace" run -q --trace=-compile "$samples/launch_loop" 100
    assert_equal "$(number '[.traceEvents[] | select(.cat == "gpu_in_flight" or .cat == "kernel")] | length')" 1
    assert_equal "$(number .gputrace.losses.unnamed)" 0
}

@test "SIGKILL before a buffer was complete: every version of CUPTI's records are read" {
    need_simulated
    # As cuptiGetVersion() returns them: 11.8, 12.0, … 12.9, 13.0, and two that are newer than the headers.
    for version in 18 19 20 21 22 23 24 26 27 28 130000 130001 130100 130200; do
        export SIMGPU_CUPTI_VERSION=$version
        killed_in_launch 31 never --trace=-compile
        assert_equal "$(number .cupti_version)" "$version"
        assert_equal "$(launches)" 30
    done
}

# --- memory ---

# A group of processes that may have no more than so much memory, as containers have it, is in `group`.
limited_group() { # BYTES
    local parent limit_of
    for parent in /sys/fs/cgroup /sys/fs/cgroup/memory; do
        group=$parent/gputrace-test.$$
        mkdir "$group" 2>/dev/null || continue
        limit_of=$(ls "$group"/memory.max "$group"/memory.limit_in_bytes 2>/dev/null) || true
        [ ! -e "$group/memory.swap.max" ] || echo 0 >"$group/memory.swap.max"
        [ ! -e "$limit_of" ] || ! echo "$1" 2>/dev/null >"$limit_of" || return 0
        rmdir "$group"
    done
    group=
    return 1
}

@test "the system kills it for want of memory (a group with a limit)" {
    limited_group $((256 << 20)) || skip "needs to make a group with a limit of memory"
    # The launcher is outside of it.
    script app "echo \$\$ >'$group/cgroup.procs' || exit 5" "exec '$programs/going_on' grow"
    local got=0
    timeout "$limit" "$gputrace" run -q ./app || got=$?
    eventually rmdir "$group"
    [ "$got" -ne 5 ] && [ "$got" -ne 124 ] || skip "such groups have no effect here"
    assert_equal "$got" 137
    whole 1
}

@test "SIGKILL by another while memory is filled, as when the system wants memory back" {
    beside timeout "$limit" "$gputrace" run -q "$programs/going_on" grow
    grown() { [ -s held ] && [ "$(cat held)" -ge 80 ]; }
    eventually grown
    kill_program
    whole 1
}

# --- what a program can go on after ---

# The program goes on, and ends so without gputrace and with it; then all of its work is in the trace.
goes_on() { # WHAT
    run -6 "$programs/going_on" "$1"
    rm -f done
    run -6 "$gputrace" run "$programs/going_on" "$1"
    whole 0
    assert_equal "$(jq -r '.gputrace.processes[0].state' trace.json)" finished
    assert_equal "$(number '[.gputrace.losses[]] | add')" 0
}

@test "the device is reset, and work goes on" {
    goes_on reset
}

@test "a context is destroyed with work in it, and work goes on in another" {
    goes_on context
}

@test "another tool detaches CUPTI, and work goes on: earlier work is in the trace, and a message says that later work is not" {
    run -6 "$gputrace" run "$programs/going_on" finalize
    assert_equal "$(grep -c 'CUPTI was detached from the process' <<<"$output")" 1
    # A real GPU also had work in flight whose times were not handed over yet.
    assert_line --regexp '; incomplete: .*1 process whose CUDA work is not recorded to its end'
    assert_equal "$(kernels)" 50
    assert_equal "$(number .gputrace.losses.cuda_unrecorded)" 1
    assert_equal "$(number '[.traceEvents[] | select(.cat == "user_annotation")] | length')" 100
}

# A kernel writes to unmapped memory. On the simulated GPU this variable chooses it.
faults() { # WAY STATUS
    ulimit -c 0
    export SIMGPU_FAULT_KERNEL=51
    run -"$2" "$programs/going_on" "$1"
    assert_line 'errors 700 700'
    rm -f done
    run -"$2" "$gputrace" run "$programs/going_on" "$1"
    assert_line 'errors 700 700'
    "$check_trace" trace.json
    # The call that failed is not counted as done.
    assert_equal "$(launches)" "$(done_of 0)"
    assert_equal "$(number '[.traceEvents[] | select(.name == "Allocate Device")] | length')" "$(done_of 1)"
    assert_equal "$(number '[.traceEvents[] | select(.cat == "user_annotation")] | length')" "$(done_of 2)"
    assert_equal "$(number .gputrace.losses.unnamed)" 0
    assert_equal "$(($(kernels) + $(number .gputrace.losses.zero_time)))" "$(done_of 0)"
    run -0 "$gputrace" report -r crashes --width=0 trace.json
    assert_line --regexp '^  First error +thread .* cuStreamSynchronize .*CUDA_ERROR_ILLEGAL_ADDRESS \(700\): illegal memory access'
}

@test "an illegal address on the GPU, and the program exits: the report says which call heard of it first" {
    faults fault 3
    assert_equal "$(jq -r '.gputrace.processes[0].state' trace.json)" finished
}

@test "an illegal address on the GPU, and the program aborts" {
    faults fault-abort 134
    signal_is 6
}

# --- the report about it ---

@test "a call that waits for ever is in the report, with the stream and what runs there" {
    need_simulated
    beside env SIMGPU_HANG_KERNEL=7 timeout "$limit" "$gputrace" run -q "$programs/dying" wait 9
    # It waits, and what came before the kernel that never ends is over.
    waiting() {
        [ -s done ] && [ "$(done_of 0)" -eq 9 ] && "$gputrace" recover -q --keep -o now.json "$TMPDIR"/gputrace-* &&
            jq -e '(.gputrace.processes[0].open_calls | length == 1) and ([.traceEvents[] | select(.cat == "kernel")] | length == 6)' now.json
    }
    eventually waiting
    kill_program
    jq -e '.gputrace.processes[0].open_calls | length == 1 and .[0].function == "cuStreamSynchronize" and .[0].waits_for == "stream"' trace.json
    "$gputrace" report -r crashes --width=0 trace.json >report
    grep -E "^  End +signal 9 \(Killed\)" report
    grep -E "^  Open call +thread .* cuStreamSynchronize .* had not returned: waited for stream [0-9]+" report
    grep -E "^  In flight +GPU 0 stream [0-9]+ +dying_0.* and 2 more" report
    grep -E "^  Finished last +GPU 0 stream [0-9]+ +dying_0" report
    assert_equal "$(grep -c '^  Call ' report)" 5
}

@test "the report shows the last calls of a thread and the memory in use" {
    run -139 "$gputrace" run "$programs/dying" segv
    run -0 "$gputrace" report -r crashes --format=json trace.json
    echo "$output" >report.json
    jq -e '[.. | objects | select(.what? == "Memory")] | .[0].name == "Device" and .[0].held_bytes == 10240' report.json
    jq -e '[.. | objects | select(.what? == "Call")] | .[-1].name == "cuMemAlloc"' report.json
    jq -e '[.. | objects | select(.what? == "Signal")] | .[0].detail == "at address 0x10"' report.json
}

@test "a program that exits: the report's section is empty" {
    run -3 "$gputrace" run "$programs/dying" exit
    run -0 "$gputrace" report -r crashes --width=0 trace.json
    assert_line --partial 'none in this trace'
}

# --- the launcher ---

@test "with --keep-running, the launcher is killed: the program goes on, recover makes a trace of the records so far and later of all" {
    beside "$gputrace" run -q --keep-running -o later.json "$programs/dying" never 0
    works() { [ -s done ] && [ "$(done_of 0)" -gt 0 ]; }
    eventually works
    local spool pid
    spool=$(ls "$TMPDIR"/gputrace-*/*.spool)
    pid=${spool##*/} pid=${pid%%-*}
    kill -KILL "$launcher"
    wait "$launcher" || true
    launcher=$pid
    local before
    before=$(done_of 0)
    further() { [ "$(done_of 0)" -gt "$before" ]; }
    eventually further
    run -0 "$gputrace" recover
    assert_line --regexp "^${spool%/*}  .*  still written  .*/dying never 0$"
    before=$(done_of 0)
    run -0 "$gputrace" recover -o trace.json "${spool%/*}"
    assert_line --partial "1 process still writes into"
    assert_equal "$(jq -r '.gputrace.processes[0].state' trace.json)" 'still runs'
    [ "$(launches)" -ge "$before" ]
    [ -e "$spool" ]
    kill -KILL "$pid"
    launcher=
    dead() { ! kill -0 "$pid" 2>/dev/null || [ "$(state_of "$pid")" = Z ]; }
    eventually dead
    run -0 "$gputrace" run true
    assert_line --partial "an earlier run left '${spool%/*}': 'gputrace recover"
    run "$gputrace" doctor
    assert_line --partial "'gputrace recover ${spool%/*}' writes its trace"
    run -0 "$gputrace" recover "${spool%/*}"
    [ ! -e "${spool%/*}" ]
    mv later.json trace.json
    whole 1
    run -0 "$gputrace" recover
    assert_output --partial 'no records of earlier runs'
}

@test "recover: --keep keeps the spool; a directory that is not a spool is an error, one that others can write to needs -o" {
    run -3 "$gputrace" run --spool-dir=. --keep-spool -o first.json "$programs/dying" exit
    run -0 "$gputrace" recover --keep -o second.json gputrace-*
    assert_equal "$(count cuda_driver second.json)" "$(count cuda_driver first.json)"
    [ -d gputrace-* ]
    chmod go+w gputrace-*
    run -1 "$gputrace" recover gputrace-*
    assert_line --partial "give one with -o FILE"
    chmod go-w gputrace-*
    mkdir empty
    run -1 "$gputrace" recover empty
    assert_output --partial 'has no records of gputrace'
    run -1 "$gputrace" recover nowhere
    assert_output --partial "cannot open 'nowhere': No such file or directory"
    run -2 "$gputrace" recover -o file
    run -2 "$gputrace" recover one two
}

# --- a trace that cannot be written ---

# 125, nothing half made stays, the spool does, and what is said makes the trace.
keeps_the_spool() { # SAID
    assert_line --partial "$1"
    assert_line --regexp "the records stay in '.*': 'gputrace recover .* -o recovered.json' writes the trace"
    [ -z "$(ls -A "${2:-.}"/*.tmp 2>/dev/null)" ]
    "$gputrace" recover -o saved.json "$TMPDIR"/gputrace-*
    [ "$(count cuda_driver saved.json)" -gt 100 ]
    assert_equal "$(ls "$TMPDIR")" ''
}

@test "the disk is full when the trace is written" {
    small_disk 64k
    script app "'$programs/dying' quick_exit 1000; exit 0"
    run -125 "$gputrace" run -o small/trace.json ./app
    keeps_the_spool "No space left on device" small
    assert_equal "$(ls -A small)" ''
}

@test "the directory of the trace is gone" {
    mkdir gone
    script app "'$programs/dying' exit; rm -r gone"
    run -125 "$gputrace" run -o gone/trace.json ./app
    keeps_the_spool "No such file or directory"
}

@test "the trace is longer than a file may be" {
    # The program takes its limit away: what is recorded is whole, and only the trace is too long.
    script app "ulimit -S -f unlimited || exit 5" "'$programs/dying' exit; exit 0"
    (ulimit -S -f 8 && exec "$gputrace" run -o trace.json ./app) >said 2>&1 && status=0 || status=$?
    output=$(cat said)
    mapfile -t lines <said
    assert_equal "$status" 125
    keeps_the_spool "File too large"
    [ ! -e trace.json ]
}

@test "the program's own status goes before ours" {
    mkdir gone
    script app "'$programs/dying' exit; rm -r gone; exit 6"
    run -6 "$gputrace" run -o gone/trace.json ./app
    keeps_the_spool "No such file or directory"
}

@test "an interrupt while the trace is written: nothing half made stays, the spool does" {
    # The launcher writes while what waits for it below gets a processor first.
    script app "'$programs/dying' exit 30000" 'renice -n 19 -p $PPID >/dev/null' 'exit 0'
    beside "$gputrace" run -q ./app 2>said
    writing() { # one that is empty is gputrace's trial, before the program starts
        local file
        for file in trace.json.*.tmp; do [ ! -s "$file" ] || return 0; done
        return 1
    }
    # With many processors writing takes some milliseconds: the launcher is stopped before it gets the signal.
    local limit=$((SECONDS + 60))
    until writing; do [ $SECONDS -lt $limit ] || fail "the trace is not begun"; done
    kill -STOP "$launcher"
    writing
    kill -INT "$launcher"
    kill -CONT "$launcher"
    ended_with 130
    output=$(cat said)
    mapfile -t lines <said
    ! writing
    [ ! -e trace.json ]
    grep -E "interrupted: the records stay in '.*': 'gputrace recover .* -o recovered.json'" said
    "$gputrace" recover -q -o saved.json "$TMPDIR"/gputrace-*
    [ "$(grep -c cuLaunchKernel saved.json)" -ge 30000 ]
}

# --- names of what was never launched before ---

# Kernels are launched for the first time, and the program is killed before anybody can read the names that their
# records point to: dying_0, dying_1 and dying_2 are the last of them.
unlaunched() { # WAY...
    local way kind
    for way in "$@"; do
        for kind in '' module; do
            rm -f trace.json
            run -137 timeout "$limit" "$gputrace" run -q "$programs/unlaunched" "$way" $kind
            assert_equal "$(number .gputrace.losses.unnamed)" 0
            assert_equal "$(number '[.traceEvents[] | select(.cat == "kernel" or .cat == "gpu_in_flight") |
                select(.name != "dying_9") | .name] | sort | join(" ")')" '"dying_0 dying_1 dying_2"'
        done
    done
}

@test "SIGKILL within the first launch of a graph: kernels have their names, however it came to be" {
    need_simulated
    export SIMGPU_KILL_GRAPH_LAUNCHED=1
    unlaunched capture add add-any clone change
}

@test "SIGKILL within the first launch of a graph that was changed once instantiated: kernels have their new names" {
    need_simulated
    export SIMGPU_KILL_GRAPH_LAUNCHED=1
    unlaunched change-copy update
}

@test "SIGKILL after the first launch of a graph, also of one that was changed or has graphs in it: kernels have their names" {
    unlaunched capture add add-any clone change children change-copy update
}

@test "SIGKILL after the first launch of a kernel that was captured before: it has its name" {
    unlaunched capture-and-launch
}

@test "SIGKILL after first launches among thousands of others, long after the kernels were got: they have their names" {
    unlaunched late
}
