# gputrace run: the program's own behaviour, where the trace goes, what is said. Nothing here needs a GPU.

load common

@test "the exit status is the program's" {
    run -0 "$gputrace" run true
    run -42 "$gputrace" run sh -c 'exit 42'
}

@test "stdin, stdout and stderr are the program's" {
    script app 'cat' 'echo words >&2'
    run --separate-stderr "$gputrace" run -q ./app <<<'some input'
    assert_equal "$output" 'some input'
    assert_equal "$stderr" 'words'
}

@test "arguments reach the program as they are, options too" {
    script app 'printf "<%s>" "$@"'
    run --separate-stderr "$gputrace" run -q ./app -o 'a b' --help '' '*'
    assert_equal "$output" '<-o><a b><--help><><*>'
    run --separate-stderr "$gputrace" run -q -- ./app --
    assert_equal "$output" '<-->'
}

@test "a script without an interpreter line runs as in a shell" {
    printf 'exit 5\n' >app
    chmod +x app
    run -5 "$gputrace" run ./app
}

@test "a program that a signal killed: the same signal, and a trace" {
    run -137 "$gputrace" run sh -c 'kill -KILL $$'
    jq -e .traceEvents trace.json
    run -143 "$gputrace" run sh -c 'kill -TERM $$'
}

@test "SIGTERM for the launcher reaches the program, and the trace is written" {
    script app 'trap "echo caught; exit 7" TERM' 'echo ready' "$until_end"
    beside "$gputrace" run ./app >out 2>err
    eventually grep -q ready out
    kill -TERM "$launcher"
    ended_with 7
    grep -q caught out
    jq -e .traceEvents trace.json
}

@test "signals sent to the launcher reach the program in number and kind" {
    script app 'trap "echo usr1 >>got" USR1' 'trap "echo hup >>got" HUP' 'trap "exit 3" USR2' 'echo ready' "$until_end"
    beside "$gputrace" run ./app >out 2>err
    eventually grep -q ready out
    kill -USR1 "$launcher"
    eventually grep -q usr1 got
    kill -HUP "$launcher"
    eventually grep -q hup got
    kill -USR2 "$launcher"
    ended_with 3
    assert_equal "$(sort got | tr '\n' ' ')" 'hup usr1 '
}

@test "the program dies with a launcher that is killed, a process that it started goes on, and the records stay" {
    script app 'sleep 1000 & echo $! >child' 'echo $$ >pid' "wait"
    beside "$gputrace" run ./app 2>err
    eventually test -s pid
    kill -KILL "$launcher"
    ended_with 137
    eventually test ! -e "/proc/$(cat pid)"
    kill "$(cat child)"
    eventually grep -q "^gputrace: killed by SIGKILL: the records stay in '$TMPDIR/gputrace-.*': 'gputrace recover .* writes the trace$" err
    run -0 "$gputrace" recover -o recovered.json "$(echo "$TMPDIR"/gputrace-*)"
    jq -e .traceEvents recovered.json
}

@test "--keep-running: the program goes on when the launcher is killed" {
    script app 'echo $$ >pid' "$until_end" 'echo done >result'
    beside "$gputrace" run --keep-running ./app 2>err
    eventually test -s pid
    kill -KILL "$launcher"
    ended_with 137
    eventually grep -q 'the records stay' err
    touch end
    eventually grep -q done result
}

@test "a signal to the launcher and then to its group, as timeout(1) sends, reaches the program once" {
    command -v python3 >/dev/null || skip "needs Python"
    run -0 timeout 60 python3 - "$gputrace" <<'PROGRAM'
import os, signal, subprocess, sys

app = """import os, signal
got, ended = [], []
signal.signal(signal.SIGINT, lambda *_: got.append(1))
signal.signal(signal.SIGRTMIN + 1, lambda *_: ended.append(1))
print("ready", flush=True)
while not ended: signal.sigtimedwait([], 0.05)
print(len(got))"""
os.setpgid(0, 0)
signal.signal(signal.SIGINT, signal.SIG_IGN)
child = subprocess.Popen([sys.argv[1], "run", "-q", sys.executable, "-c", app], stdout=subprocess.PIPE,
                         preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
child.stdout.readline()
os.kill(child.pid, signal.SIGINT)
os.killpg(0, signal.SIGINT)
os.kill(child.pid, signal.SIGRTMIN + 1)
print(child.stdout.read().decode().strip(), child.wait())
PROGRAM
    assert_output '1 0'
}

@test "an interrupt from the terminal reaches the program once, and the launcher waits for it" {
    command -v script >/dev/null || skip "needs script(1)"
    script app 'trap "echo caught >>got" INT' 'echo ready >out' "$until_end" 'exit 9'
    mkfifo keys
    # script(1) gives the launcher a terminal; what comes through `keys` is typed there.
    exec 8<>keys
    beside script -qec "exec '$gputrace' run ./app" /dev/null <keys >screen 2>&1 8>&-
    eventually test -s out
    printf '\003' >&8
    eventually test -s got
    printf '\003' >&8
    twice() { [ "$(wc -l <got)" -ge 2 ]; }
    eventually twice
    touch end
    ended_with 9
    exec 8>&-
    assert_equal "$(xargs <got)" 'caught caught'
    jq -e .traceEvents trace.json
}

@test "a stop stops both, and a continue continues both" {
    script app 'echo $$ >pid' "$until_end" 'exit 4'
    beside "$gputrace" run ./app 2>err
    eventually test -s pid
    local program
    program=$(cat pid)
    kill -TSTP "$launcher"
    stopped() { [ "$(state_of "$launcher")" = T ] && [ "$(state_of "$program")" = T ]; }
    eventually stopped
    kill -CONT "$launcher"
    running() { [ "$(state_of "$launcher")" = S ] && [ "$(state_of "$program")" = S ]; }
    eventually running
    touch end
    ended_with 4
}

@test "the trace is trace.json, and the one before becomes trace.json.old" {
    "$gputrace" run -q true
    jq -e .traceEvents trace.json
    mv trace.json first
    cp first trace.json
    "$gputrace" run -q true
    cmp first trace.json.old
    jq -e .traceEvents trace.json
}

@test "32 runs at the same time write 32 traces, and the one before stays" {
    "$gputrace" run -q true
    cp trace.json before
    mkfifo go
    for i in $(seq 32); do
        script "app$i" 'read -r line <go'
        "$gputrace" run "./app$i" 2>>said &
    done
    eventually eval '[ "$(pgrep -fc "sh ./app[0-9]")" -ge 32 ]'
    yes | head -c 200 >go
    wait
    cmp before trace.json.old
    jq -r '.gputrace.command[0]' trace.json trace.*.json | sort -V | cmp - <(seq -f './app%.0f' 32)
    assert_equal "$(grep -c "events in 'trace.json'" said)" 1
    grep -q "; the trace before it is 'trace.json.old'" said
    assert_equal "$(grep -c "events in 'trace.[0-9]*.json' .*; 'trace.json' is of another run" said)" 31
    [ -z "$(ls -- *.tmp 2>/dev/null)" ]
}

@test "a file that is not a trace is neither moved nor replaced, unless --force is given; a trace of each format is" {
    echo '{"lr": 0.1}' >config.json
    cp config.json kept
    run -125 "$gputrace" run -o config.json touch started
    assert_output --partial "'config.json' is there already and is not a trace: choose another name with -o (--force"
    cmp kept config.json
    [ ! -e started ]
    "$gputrace" run -q --force -o config.json true
    cmp kept config.json.old
    run -125 "$gputrace" run -o config.json touch started
    cmp kept config.json.old
    for name in trace.json trace.json.gz trace.pftrace trace.pftrace.gz trace.db trace.sqlite; do
        "$gputrace" run -q -o "$name" true
        cp "$name" before
        run -0 "$gputrace" run -o "$name" true
        cmp before "$name.old"
    done
}

@test "a name may be as long as a file's name can be, and messages name no other file" {
    local name
    name=$(printf '%0250d' 0).json
    run -0 "$gputrace" run -o "$name" true
    jq -e .traceEvents "$name"
    run -0 "$gputrace" convert "$name" "${name%.json}.db"
    run -1 "$gputrace" report --html=gone/out.html "$name"
    assert_output "gputrace: cannot write 'gone/out.html': No such file or directory"
}

@test "-o takes patterns for pid, host, program, variables and a percent sign" {
    script app 'echo $$ >pid'
    NUMBER=5 "$gputrace" run -q -o '%n-%h-%p-%q{NUMBER}-%%.json' ./app
    jq -e .traceEvents "app-$(hostname)-$(cat pid)-5-%.json"
}

@test "a name that ends in .gz is written with gzip" {
    "$gputrace" run -q -o trace.json.gz true
    gzip -dc trace.json.gz | jq -e .traceEvents
}

@test "an output that cannot be written is reported before the program starts" {
    run -125 "$gputrace" run -o no/such/place.json touch started
    assert_output --partial "'no/such': No such file or directory"
    run -125 "$gputrace" run -o /dev/null touch started
    assert_output --partial 'a regular file is needed'
    run -125 "$gputrace" run -o '%q{NO_SUCH_VARIABLE}' touch started
    [ ! -e started ]
    [ -c /dev/null ]
}

@test "an output with the ending of something else is refused before the program starts" {
    run -125 "$gputrace" run -o x.nsys-rep touch started
    assert_output --partial "'.nsys-rep' is not a trace format: use .json, .json.gz, .pftrace, .pftrace.gz, .sqlite or .db"
    run -125 "$gputrace" run -o x.txt touch started
    [ ! -e started ]
    run -2 "$gputrace" recover -o x.txt .
    assert_output --partial "'.txt' is not a trace format"
    run -0 "$gputrace" run -q -o run-1.5 true
    jq -e .traceEvents run-1.5
    mkfifo pipe
    mkdir folder
    for name in pipe folder folder/; do
        run -125 "$gputrace" run -o "$name" touch started
        assert_output --partial 'a regular file is needed'
    done
    [ ! -e started ]
}

@test "a program that does not exist is 127, one that cannot be run 126" {
    run -127 "$gputrace" run no-such-program
    assert_output "gputrace: cannot find 'no-such-program'"
    run -127 "$gputrace" run ./no/such/program
    echo text >file
    run -126 "$gputrace" run ./file
    assert_output --partial "'./file': it is not executable"
    run -126 "$gputrace" run /
    script broken
    sed -i '1s|.*|#!/no/such/interpreter|' broken
    run -126 "$gputrace" run ./broken
    assert_output --partial interpreter
    [ ! -e trace.json ]
    assert_equal "$(ls "$TMPDIR")" ''
}

@test "a command line that cannot be understood is 125" {
    run -125 "$gputrace" run
    assert_output --partial 'no program given'
    run -125 "$gputrace" run --no-such-option true
    run -125 "$gputrace" run --trace=kernels true
    assert_output --partial "did you mean 'kernel'"
    run -125 "$gputrace" run --delay=soon true
    run -125 "$gputrace" run --flush-interval=2h true
    assert_output "gputrace: --flush-interval: '2h' is not a time (try 2, 0.5 or 300ms)"
    run -125 "$gputrace" run --flush-interval=1us true
    assert_output "gputrace: --flush-interval: '1us' is not a number of milliseconds from 1 to 3600000"
    run -0 "$gputrace" run -q --flush-interval=1s true
    run -125 "$gputrace" run -o
}

@test "a program without CUDA and NVTX: an empty trace that is valid, and a warning" {
    run -0 "$gputrace" run true
    assert_line "gputrace: warning: 'true' used neither CUDA nor NVTX: the trace is empty; what it starts without the environment variables of gputrace is not recorded"
    assert_line --regexp "^gputrace: 0 events in 'trace\.json' \([0-9.]+ (bytes|kB)\)$"
    jq -e '[.traceEvents[] | select(.ph != "M")] == []' trace.json
    "$check_trace" trace.json
}

@test "-q silences all but errors; -v explains" {
    run -0 "$gputrace" run -q true
    assert_output ''
    run -127 "$gputrace" run -q no-such-program
    assert_output --partial 'cannot find'
    run -0 "$gputrace" run -v true
    assert_line --regexp "^gputrace: library '.*libgputrace.so.0', spool directory '$TMPDIR/gputrace-"
    assert_line --regexp "^gputrace: started '.*/true' as process [0-9]+$"
    assert_line "gputrace: 'true' ended: exit 0"
}

@test "--stats prints the report to stderr, not to the program's stdout" {
    run --separate-stderr -0 "$gputrace" run --stats echo only
    assert_equal "$output" only
    [[ $stderr = *"no GPU work"* ]]
}

@test "the spool directory is private and gone afterwards" {
    script app 'ls -ld "$GPUTRACE_SPOOL" | cut -c1-10' 'ls "$GPUTRACE_SPOOL"'
    run --separate-stderr -0 "$gputrace" run -q ./app
    assert_line --index 0 drwx------
    assert_line --index 1 session.json
    assert_equal "$(ls "$TMPDIR")" ''
}

@test "--spool-dir chooses where, --keep-spool keeps it" {
    mkdir here
    RANK=3 WORLD_SIZE=8 run -0 "$gputrace" run --spool-dir=here --keep-spool true 'an argument'
    assert_line --partial "the spool stays in '$PWD/here/gputrace-"
    jq -e '.command == ["true", "an argument"] and .rank == 3 and .world_size == 8 and .options.graph == "node"' \
        here/gputrace-*/session.json
    run -0 "$gputrace" report --report=overview here/gputrace-*
    assert_line --regexp 'Processes +0'
}

@test "a spool directory that is kept is read, also when all of its processes had ended before the run did" {
    mkdir here
    run -0 "$gputrace" run --spool-dir=here --keep-spool sh -c "'$samples/nvtx'; until [ -e here/*/ended.packed ]; do sleep 0.1; done"
    [ -z "$(find here -name '*.spool')" ]
    run -0 "$gputrace" report --report=overview here/gputrace-*
    assert_line --regexp 'Processes +1'
}

@test "a spool directory that cannot be made: the program runs untraced" {
    run -42 "$gputrace" run --spool-dir=/no/such/place sh -c 'test -z "$CUDA_INJECTION64_PATH" && exit 42'
    assert_line --partial "cannot make a spool directory in '/no/such/place'"
    assert_line 'gputrace: warning: the program runs without being traced'
    [ ! -e trace.json ]
}

@test "a library that is missing: the program runs untraced" {
    cp "$gputrace" alone
    run -42 ./alone run sh -c 'exit 42'
    assert_line --partial "cannot find 'libgputrace.so.0'"
    assert_line 'gputrace: warning: the program runs without being traced'
}

@test "another tool's injection is replaced, with a warning, for the program alone" {
    export CUDA_INJECTION64_PATH=/other/tool.so
    run --separate-stderr -0 "$gputrace" run sh -c 'echo "$CUDA_INJECTION64_PATH"; echo "$NVTX_INJECTION64_PATH"'
    assert_line --index 0 "$build/libgputrace.so.0"
    assert_line --index 1 "$build/libgputrace.so.0"
    [[ $stderr = *"CUDA_INJECTION64_PATH was '/other/tool.so' and is replaced"* ]]
}

@test "a trace that cannot be written: the records stay, 125 unless the program failed itself" {
    mkdir gone
    script app 'rmdir gone' 'exit "$1"'
    run -125 "$gputrace" run -o gone/trace.json ./app 0
    assert_line --regexp "^gputrace: the records stay in '$TMPDIR/gputrace-"
    [ -e "$TMPDIR"/gputrace-*/session.json ]
    mkdir gone
    run -6 "$gputrace" run -o gone/trace.json ./app 6
}

@test "a run under a run traces for the inner one" {
    run -0 "$gputrace" run -o outer.json "$gputrace" run -o inner.json true
    jq -e .traceEvents outer.json
    jq -e .traceEvents inner.json
}

@test "the trace has what the system says of its clock" {
    run -0 "$gputrace" run true
    python3 - >said <<'END'
import ctypes
status = (ctypes.c_long * 32)()
state = ctypes.CDLL(None).adjtimex(status)
print(str(state not in (-1, 5)).lower())
END
    assert_equal "$(jq .gputrace.clock.synchronised trace.json)" "$(cat said)"
    jq -e '.gputrace.clock | .error_us >= 0 and .estimated_error_us >= 0 and (.frequency_ppm | type) == "number"' trace.json
}
