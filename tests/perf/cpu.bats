# gputrace run --cpu: planted programs are found in CPU samples and times off the processor.

load ../cli/common

before_each() {
    planted=$build/tests/perf/programs/planted
    mkdir here && cd here # what is beside may have our names
    "$gputrace" run -q --cpu=samples -o probe.json true 2>said || true
    if grep -q 'no CPU samples' said; then skip "perf events are refused here: $(cat said)"; fi
    rm -f probe.json
}

setup_file() { export BATS_TEST_TIMEOUT=120; }

# How many samples are counted as lost: on a busy machine rings are not read in time. They are as good as those that are there.
count_lost() { lost=$(jq .gputrace.losses.cpu_lost trace.json); }

record() { # OPTION... -- PROGRAM [ARG...]
    run --separate-stderr "$gputrace" run "$@"
    assert_equal "$status" 0
    [ ! -e trace.json ] || count_lost
}

# The events of a category with the names of their frames, innermost first: [{pid, tid, ts, dur, name, args, frames}].
events() { # CATEGORY [FILE]
    jq --arg category "$1" 'def calls($frames; $number): $frames[$number | tostring] as $frame
            | if $frame then [$frame.name] + calls($frames; $frame.parent // "none") else [] end;
        .stackFrames as $frames
        | [.traceEvents[] | select(.cat == $category)
            | . + {frames: calls($frames // {}; .args.stack // "none")}]' "${2-trace.json}"
}

# How many of the samples have this function among their frames.
share() { # FUNCTION SAMPLES
    jq --arg function "$1" '[.[] | select(.frames | index($function))] | length' "$2"
}

# Without the rights of root.
unprivileged() {
    if [ "$(id -u)" -eq 0 ]; then
        setpriv --bounding-set=-all --inh-caps=-all "$@"
    else
        "$@"
    fi
}

@test "samples: six tenths and four tenths of the time, without frame pointers" {
    record --cpu=samples "$planted" split
    events cpu_sample >samples
    local all sixty forty
    all=$(jq length samples) sixty=$(share sixty samples) forty=$(share forty samples)
    [ $((all + lost)) -ge 400 ] && [ "$all" -le 800 ] || fail "$all samples of 0.6 s of a processor"
    [ $((sixty + forty)) -ge $((all * 95 / 100)) ] || fail "$sixty and $forty of $all"
    [ $((sixty * 100)) -ge $((55 * (sixty + forty))) ] && [ $((sixty * 100)) -le $((65 * (sixty + forty))) ] || fail "$sixty and $forty of $all"
    # outwards up to the begin of the program, on the row of the main thread
    jq -e '[.[] | select(.frames | index("burn")) | .frames[2:4] == ["split_for", "main"]] | all' samples
    jq -e --argjson lost "$lost" '[.[] | select(.name == "burn")] | length + $lost > 300 and all(.ph == "i" and .s == "t" and .pid == .tid)' samples
    jq -e '[.traceEvents[] | select(.cat == "thread_state")] == []' trace.json
    jq -e '.gputrace.options.cpu_samples_hz == 1000 and (.gputrace.options | has("cpu_switches") | not)' trace.json
}

@test "samples:HZ: as many in a second" {
    record --cpu=samples:100 "$planted" split
    events cpu_sample >samples
    [ $(($(jq length samples) + lost)) -ge 40 ] && [ "$(jq length samples)" -le 80 ] || fail "$(jq length samples) samples of 0.6 s of a processor"
}

@test "a stack deeper than what is copied is cut; one of a signal handler leads to what was interrupted" {
    record --cpu=samples "$planted" deep
    events cpu_sample >samples
    jq -e --argjson lost "$lost" '[.[] | select(.frames | index("in_main")) | .frames | index("dive") != null and index("main") == null] | length + $lost > 50 and all' samples
    record --cpu=samples "$planted" signal
    events cpu_sample >samples
    jq -e --argjson lost "$lost" '[.[] | select(.frames | index("in_handler")) | .frames | index("in_handler") < index("main")] | length + $lost > 100 and all' samples
}

@test "switches: a thread sleeps where it waits, and for as long" {
    record --cpu=switches "$planted" lock
    events thread_state >states
    # on a row of its own
    jq -e '[.traceEvents[] | select(.name == "thread_name" and (.args.name | test("^state of thread [0-9]+ \\(waiter\\)$")))] | length == 1' trace.json
    jq -e '[.traceEvents[] | select(.cat == "cpu_sample")] == []' trace.json
    jq --argjson main "$(jq '[.traceEvents[] | select(.name == "process_name")][0].pid' trace.json)" \
        '[.[] | select(.args.thread != $main and .dur > 10000 and .name == "Sleeping")]' states >waits
    jq -e 'length >= 18 and length <= 21 and all(.ph == "X")' waits
    if [ "$(id -u)" -eq 0 ]; then
        jq -e 'all(.frames | index("wait_for_turn"))' waits
    fi
    # one at a time
    jq -e '[group_by(.tid)[] | sort_by(.ts) | [., .[1:]] | transpose[] | select(.[1])
        | .[0].ts + .[0].dur <= .[1].ts + 0.01] | all' states
}

@test "switches: the waker and the disk, where the kernel shows its trace points" {
    [ "$(id -u)" -eq 0 ] && unshare -m mount -t tracefs nodev /sys/kernel/tracing || skip "no tracefs can be mounted here"
    run unshare -m sh -c 'mount -t tracefs nodev /sys/kernel/tracing && exec "$@"' sh "$gputrace" run --cpu=switches "$planted" lock
    assert_success
    refute_output --partial 'will have no'
    events thread_state >states
    jq -e --argjson main "$(jq '[.traceEvents[] | select(.name == "process_name")][0].pid' trace.json)" \
        '[.[] | select(.args.thread != $main and .dur > 10000 and .name == "Sleeping" and (.frames | index("wait_for_turn")))]
            | length >= 18 and ([.[1:][] | select(.args.waker == $main)] | length >= 16)' states
    # nobody of the program wakes main() from its usleep()
    jq -e --argjson main "$(jq '[.traceEvents[] | select(.name == "process_name")][0].pid' trace.json)" \
        '[.[] | select(.args.thread == $main and .dur > 10000 and .args.waker)] | length <= 2' states
}

@test "threads that switch without a pause: no switch is lost, though stacks may be" {
    record --cpu=switches "$planted" pingpong 20000
    jq -e '.gputrace.losses.cpu_lost == 0' trace.json
    jq -e '[.traceEvents[] | select(.cat == "thread_state")] | length > 5000' trace.json
}

@test "children and threads: each on its own rows, also processes without CUDA and NVTX" {
    record --cpu=samples "$planted" children
    events cpu_sample >samples
    for function in in_first_child in_second_child in_thread in_main; do
        jq -e --argjson lost "$lost" --arg function "$function" '[.[] | select(.frames | index($function))] | length + $lost > 200 and (map(.tid) | unique | length == 1)' samples
    done
    jq -e '[.[] | select(.frames | index("in_main") or index("in_thread"))] | map(.pid) | unique | length == 1' samples
    jq -e 'map(.pid) | unique | length == 3' samples
    jq -e '[.traceEvents[] | select(.name == "process_name") | .args.name] == ["planted children", "planted children", "planted children"]' trace.json
}

@test "--children=no: the first process alone" {
    record --children=no --cpu=samples "$planted" children
    events cpu_sample >samples
    jq -e --argjson lost "$lost" '[.[] | select(.frames | index("in_main"))] | length + $lost > 200' samples
    jq -e 'map(.pid) | unique | length == 1' samples
}

@test "200 threads: each is named and sampled" {
    record --cpu=samples,switches "$planted" threads 200
    events cpu_sample >samples
    jq -e '[.[] | select(.frames | index("in_thread"))] | map(.tid) | unique | length >= 190' samples
    [ -n "${sanitizer-}" ] || jq -e '.gputrace.losses.cpu_lost == 0' trace.json # which makes the reader slow
}

@test "a program that is killed: what was before is there" {
    run "$gputrace" run --cpu=samples,switches "$planted" kill
    assert_equal "$status" 137
    count_lost
    events cpu_sample >samples
    jq -e --argjson lost "$lost" '[.[] | select(.frames | index("before_kill"))] | length + $lost > 200' samples
}

@test "exec: both programs, each with its own functions" {
    record --cpu=samples "$planted" exec
    events cpu_sample >samples
    for function in before_exec after_exec; do
        jq -e --argjson lost "$lost" --arg function "$function" '[.[] | select(.frames | index($function))] | length + $lost > 120 and all(.frames | index("main"))' samples
    done
    jq -e 'map(.pid) | unique | length == 1' samples
}

@test "a process that outlives the first one is recorded up to the end of the run" {
    record --cpu=samples "$planted" outlive
    kill "$output" # it runs still
    jq -e '.traceEvents' trace.json >/dev/null
}

@test "--delay and --duration apply" {
    record --delay=1000 --cpu=samples,switches "$planted" split
    jq -e '[.traceEvents[] | select(.cat == "cpu_sample" or .cat == "thread_state")] == []' trace.json
    # The program needs a second of a processor, and so samples come after 0.2 s, and do not all come before 0.5 s.
    record --delay=0.2 --cpu=samples "$planted" spin 1
    events cpu_sample | jq -e 'length > 0'
    record --duration=0.5 --cpu=samples "$planted" spin 1
    events cpu_sample | jq -e 'length < 520 and (length == 0 or (map(.ts) | max - min < 510000))'
}

# Events and the range "middle" of a trace of programs/captured: the parts of their time that lie within it.
within() { # CATEGORY
    jq --arg category "$1" '(.traceEvents | map(select(.cat == "user_annotation" and .name == "middle" and .ph == "X"))[0]) as $range
        | [.traceEvents[] | select(.cat == $category)
            | {start: (.ts - $range.ts), end: (.ts + (.dur // 0) - $range.ts - $range.dur)}
            | (.start > -2000 and .end < 2000)]' trace.json
}

@test "--capture-range: samples and states of the captured time alone, also of processes without a range" {
    [ -z "${sanitizer-}" ] || skip "done with the plain build"
    record --capture-range=nvtx:middle --cpu=samples,switches "${planted%/*}/captured"
    events cpu_sample >samples
    jq -e '[.[].frames[]] | index("in_capture") != null and index("in_child") != null and index("in_thread") != null
        and index("before_capture") == null and index("after_capture") == null' samples
    [ $(($(share in_capture samples) + lost)) -ge 200 ]
    within cpu_sample | jq -e --argjson lost "$lost" 'length + $lost > 100 and all'
    within thread_state | jq -e 'length > 0 and all'
    # one that slept from before to after it
    jq -e '[.traceEvents[] | select(.cat == "thread_state" and .name == "Sleeping" and .dur > 300000)] | length == 1' trace.json
    jq -e '[.stackFrames[].name] | index("before_capture") == null' trace.json
}

@test "without --capture-range: samples before and after it, but none of the library's threads, whatever the program's are called" {
    [ -z "${sanitizer-}" ] || skip "done with the plain build"
    record --cpu=samples,switches "${planted%/*}/captured"
    events cpu_sample >samples
    jq -e '[.[].frames[]] | index("in_capture") != null and index("before_capture") != null and index("after_capture") != null' samples
    jq -e '[.traceEvents[] | select(.cat == "thread_state" and .name == "Sleeping" and .dur > 900000)] | length == 1' trace.json
    jq '[.traceEvents[] | select(.name == "thread_name") | .args.name | select(test("\\(gputrace"))] | unique' trace.json >names
    jq -e 'length == 2 and all(endswith("(gputrace-mine)"))' names # of the thread, and its states
    events cpu_sample | jq -e 'all(.frames | index("fill_pool") == null)'
    events thread_state | jq -e 'length > 0 and all(.frames | index("fill_pool") == null)'
}

@test "--capture-range that no process can begin: nothing is recorded" {
    record --capture-range=nvtx:middle --cpu=samples,switches "$planted" split
    jq -e '[.traceEvents[] | select(.cat == "cpu_sample" or .cat == "thread_state")] == []' trace.json
}

@test "without rights: samples of the program's own code, switches without stacks, and one line says so" {
    run unprivileged "$gputrace" run --cpu=samples,switches "$planted" split
    assert_success
    assert_equal "$(grep -c 'will have no' <<<"$output")" 1
    assert_line --partial 'the trace will have no samples of time in system calls, call stacks of switches and wakers and disk waits'
    count_lost
    events cpu_sample >samples
    jq -e --argjson lost "$lost" '[.[] | select(.frames[:4] == ["burn", "sixty", "split_for", "main"])] | length + $lost > 200' samples
    events thread_state >states
    jq -e 'length > 0 and all(.args.stack == null)' states
}

@test "perf events are refused: one line says so, and the rest goes on" {
    run "$planted" refuse "$gputrace" run --cpu=samples,switches sh -c 'exit 7'
    assert_equal "$status" 7
    assert_line --partial 'warning: --cpu: the trace will have no CPU samples and switches: perf_event_open() is refused'
    assert_equal "$(grep -c -e --cpu <<<"$output")" 1
    jq -e '.traceEvents | map(select(.ph != "M")) == []' trace.json
}

# Runs COMMAND with each interpreter that is installed beside the system's and that MINORS of 3.x match, in $python.
each_python() { # MINORS COMMAND
    local python
    for python in "$HOME"/.pyenv/versions/3.*/bin/python3; do
        if "$python" -c "import sys; sys.exit(sys.version_info[:2] not in [(3, m) for m in ($1)])" 2>/dev/null; then
            "$2"
        fi
    done
}

make_python_program() {
    cat >busy.py <<'END'
import os
import threading
import time
def spin(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass
def sixty():
    spin(0.006)
def forty():
    spin(0.004)
def alternate(count):
    for _ in range(count):
        sixty()
        forty()
def wait_here():
    time.sleep(0.3)
alternate(40)
thread = threading.Thread(target=alternate, args=(20,))
thread.start()
thread.join()
if os.fork() == 0:
    alternate(20)
    os._exit(0)
os.wait()
wait_here()
END
}

finds_functions() {
    record --cpu=samples,switches "$python" busy.py
    events cpu_sample >samples
    local all sixty forty
    all=$(share alternate samples) sixty=$(share sixty samples) forty=$(share forty samples)
    [ $((all + lost)) -ge 400 ] && [ "$all" -le 1000 ] || fail "$python: $all samples of 0.8 s of a processor"
    [ $((sixty + forty)) -ge $((all * 95 / 100)) ] || fail "$python: $sixty and $forty of $all"
    [ $((sixty * 100)) -ge $((55 * (sixty + forty))) ] && [ $((sixty * 100)) -le $((65 * (sixty + forty))) ] ||
        fail "$python: $sixty and $forty of $all"
    # Functions of Python are called by functions of Python alone, up to the module's code or the begin of the thread. One
    # of a hundred may have been read while a call ended.
    jq -e --argjson lost "$lost" '[.[] | select(.frames | index("spin")) | .frames | .[index("spin"):]
        | .[:3] == ["spin", "sixty", "alternate"] or .[:3] == ["spin", "forty", "alternate"]]
        | length + $lost > 300 and 100 * (map(select(not)) | length) <= length' samples
    jq -e '[.[] | select(.frames | index("alternate")) | .frames | index("_PyEval_EvalFrameDefault")] | all(. == null)' samples
    jq -e '[.[] | select(.frames | index("alternate")) | .frames | last] | unique == ["<module>", "Thread._bootstrap"]' samples
    # on the rows of both threads, and of the child
    jq -e --argjson lost "$lost" '[.[] | select(.frames | index("alternate")) | [.pid, .tid]] | group_by(.) | length == 3 and all(length + $lost > 50)' samples
    events thread_state |
        jq -e '[.[] | select(.dur > 290000 and (.frames | index("wait_here")))] | length == 1 and .[0].frames[-2:] == ["wait_here", "<module>"]'
    "$gputrace" report -r host --format=json trace.json |
        jq -e '.host | map(select(.function == "spin") | .total_percent) | max > 20'
}

@test "functions of Python: six tenths and four tenths of the time, of threads and forked processes, and a wait" {
    make_python_program
    python=/usr/bin/python3
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || skip "needs CPython 3.11 or newer"
    finds_functions
}

# bats test_tags=long
@test "functions of Python, of each version from 3.11 on that is installed" {
    make_python_program
    each_python "11, 12, 13, 14" finds_functions
}

@test "functions of Python: of a thread among 200 others that wait" {
    cat >many.py <<'END'
import threading
import time
def spin(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass
done = threading.Event()
for _ in range(200):
    threading.Thread(target=done.wait).start()
spin(0.6)
done.set()
END
    python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || skip "needs CPython 3.11 or newer"
    record --cpu=samples python3 many.py
    events cpu_sample >samples
    [ $(($(share spin samples) + lost)) -ge 300 ] || fail "$(share spin samples) of $(jq length samples)"
    jq -e '[.[] | select(.frames | index("spin")) | .frames[-2:] == ["spin", "<module>"]] | all' samples
}

has_functions_of_c() {
    record --cpu=samples "$python" busy.py
    events cpu_sample | jq -e --argjson lost "$lost" '[.[] | select(.frames | index("_PyEval_EvalFrameDefault"))] | length + $lost > 300'
    events cpu_sample | jq -e '[.[] | select(.frames | index("spin"))] == []'
}

# bats test_tags=long
@test "Python up to 3.10: samples have the functions of C" {
    make_python_program
    each_python "8, 9, 10" has_functions_of_c
}

@test "Python whose memory may not be read: samples have the functions of C, and one line says so" {
    make_python_program
    run "$planted" refuse-reading "$gputrace" run --cpu=samples /usr/bin/python3 busy.py
    assert_success
    assert_equal "$(grep -c -e '--cpu: the functions of Python are not known: the memory of process' <<<"$output")" 1
    count_lost
    events cpu_sample >samples
    jq -e --argjson lost "$lost" 'length + $lost > 500 and all(.frames | index("spin") == null)' samples
}

@test "without --cpu nothing is opened" {
    run "$planted" forbid "$gputrace" run "$planted" split
    assert_success
    # the twin
    run "$planted" forbid "$gputrace" run --cpu=samples "$planted" split
    assert_equal "$status" 159 # SIGSYS
}

@test "a program of the GPU: samples are on the rows of its threads, and nothing else changes" {
    record -o plain.json "$samples/launch_loop" 20000
    record --cpu=samples,switches "$samples/launch_loop" 20000
    for file in plain.json trace.json; do
        jq -c '[.traceEvents[] | select(.cat == "kernel") | .name] | group_by(.) | map([.[0], length])' "$file" >"$file.kernels"
        jq -c '[.gputrace.processes[] | [.program, .state]]' "$file" >"$file.processes"
        jq -c '[.traceEvents[] | select(.name == "process_name") | .args.name]' "$file" >"$file.names"
    done
    cmp plain.json.kernels trace.json.kernels
    cmp plain.json.processes trace.json.processes
    cmp plain.json.names trace.json.names
    # every row has one name; that of a sample is a thread's
    jq -e '[.traceEvents[] | select(.name == "thread_name") | [.pid, .tid]] | length == (unique | length)' trace.json
    jq -e '([.traceEvents[] | select(.name == "thread_name" and (.args.name | startswith("thread "))) | .tid]) as $threads
        | [.traceEvents[] | select(.cat == "cpu_sample") | .tid] | unique | length > 0 and (. - $threads == [])' trace.json
    "$check_trace" trace.json >checked || fail "$(cat checked)"
    # every tool goes on
    "$gputrace" report trace.json >report
    "$gputrace" report -r overview --thread=1 trace.json >one || true
    "$gputrace" cut --to=50% trace.json -o cut.json
    "$gputrace" convert trace.json trace.sqlite
    "$gputrace" diff plain.json trace.json >diff
}

@test "gputrace is killed: recover finds what was recorded" {
    "$gputrace" run --cpu=samples --spool-dir="$PWD" -o lost.json "$planted" spin 3 >count 2>/dev/null &
    local tool=$!
    recorded() { [ -n "$(find . -name '*.cpu' -size +16k)" ]; }
    eventually recorded
    kill -KILL "$tool"
    wait "$tool" || true
    run "$gputrace" recover -o found.json gputrace-*
    assert_success
    events cpu_sample found.json >samples
    jq -e '[.[] | select(.frames | index("main"))] | length > 20' samples
}

@test "words of --cpu" {
    for list in '' sample samples: samples:0 samples:10001 samples:1k switches,, ,samples samples,x switches:3; do
        run "$gputrace" run --cpu="$list" true
        assert_equal "$status" 125
        assert_output --partial "gputrace: --cpu: '"
    done
}

@test "Perfetto's format has the same, and reads back" {
    record --cpu=samples,switches -o trace.pftrace "$planted" lock
    "$gputrace" convert trace.pftrace trace.json
    record --cpu=samples,switches -o direct.json "$planted" lock
    for file in trace.json direct.json; do
        events thread_state "$file" | jq -e 'length > 20 and all(.args.thread > 0)'
    done
    "$gputrace" report trace.pftrace >table
}
