# gputrace run does not harm: programs that live in unusual ways write the same, end in the same way and leave the same
# files with it and without it. Where there is no GPU they run on the simulated one.

load robust

before_each() { need_plain; }

setup_file() { export BATS_TEST_TIMEOUT=120; }

recorded() { # CATEGORY LEAST
    [ "$(count "$1" traced.json)" -ge "$2" ] || fail "$(count "$1" traced.json) of $1: $(cat said)"
}

# A real driver may end the program in such a sandbox, without us too; the simulated one never does.
driver_bore_it() {
    [ -z "${simulated-}" ] || assert_equal "$(cat plain.status)" 0
    [ "$(cat plain.status)" -eq 0 ]
}

@test "a plain program: output, input, exit status" {
    INPUT=$'some\nlines' unharmed -- "$programs/plain" 42 read
    recorded gpu_memcpy 40
    recorded user_annotation 23
    assert_equal "$(ledger traced.json)" ''
}

@test "threads with the smallest stacks there are" {
    unharmed -- "$programs/small_stacks"
    recorded user_annotation 16080
    recorded gpu_memcpy 160
}

@test "coroutines with small stacks have call stacks" {
    need_plain
    for size in 8 64; do
        unharmed --stacks=all -- "$programs/coroutine" "$size"
        recorded gpu_memset 21
        # The stack goes through the coroutine's function.
        jq -e '.stackFrames as $frames | [.traceEvents[] | select(.sf) | .sf | tostring |
               [recurse($frames[.].parent // empty | tostring) | $frames[.].name] | select(any(. == "work"))] | length >= 20' \
            traced.json || fail "no stacks of the coroutine"
    done
}

@test "SIGPROF and SIGALRM at a high rate; reads are interrupted as often as without gputrace" {
    unharmed -- "$programs/timers"
    recorded user_annotation 20200
}

@test "a handler that leaves by siglongjmp() in the middle of a record: the thread goes on recording" {
    unharmed -- "$programs/jumps"
    recorded user_annotation 992 # of 1001: eight are the most that it takes to find out
    lost_only traced.json spool_dropped unmatched_ranges
    [ "$(ledger traced.json | awk '$1 == "spool_dropped" { print $2 }')" -le 116 ] || fail "$(ledger traced.json)"
}

@test "a first thread that ends by pthread_exit(): the process ends with its last thread" {
    unharmed -- "$programs/first_ends"
    recorded user_annotation 10
    assert_equal "$(jq -r '.gputrace.processes[].state' traced.json)" finished
    assert_equal "$(ledger traced.json)" ''
    unharmed -- "$programs/first_ends" 3
    recorded user_annotation 10
    unharmed -- "$programs/first_ends" 3 alone
    assert_equal "$(cat traced.status)" 3
}

@test "a sandbox that fails unknown system calls from the start: recording goes on" {
    unharmed -- "$programs/seccomp" refuse
    if driver_bore_it; then
        recorded gpu_memcpy 100
        recorded user_annotation 30150
    fi
    # NVTX alone, whatever a real driver makes of such a sandbox.
    unharmed -- "$programs/seccomp" refuse "$programs/nvtx_only" 5
    recorded user_annotation 1
    assert_equal "$(ledger traced.json)" ''
}

@test "a sandbox that refuses what it does not know, later" {
    unharmed -- "$programs/seccomp" later
    recorded gpu_memcpy 1
    ! driver_bore_it || recorded user_annotation 30150
}

@test "a sandbox that kills for what no CUDA program needs" {
    unharmed -- "$programs/seccomp" kill
    driver_bore_it || fail "the driver itself needs one of these calls: exit status $(cat plain.status)"
    recorded gpu_memcpy 100
    recorded user_annotation 30150
}

@test "a sandbox that kills for what the program does not need: ours needs no more" {
    need_simulated # a real driver needs some of it
    unharmed -- "$programs/seccomp" lean
    recorded gpu_memcpy 100
    recorded user_annotation 30150
}

# Without a core of the child that tried the call, though one would be written here.
@test "a sandbox that kills for rt_sigprocmask: the process is counted and not recorded, and ends as it would" {
    local how
    ulimit -c unlimited || true
    for how in mask mask-trap mask-thread; do
        unharmed -- "$programs/seccomp" "$how"
        assert_equal "$(cat traced.status)" 0
        said "could not be recorded: a filter of system calls (seccomp) would end it for rt_sigprocmask()"
        assert_equal "$(grep -c ' could not be recorded: ' said)" 1
        assert_equal "$(ledger traced.json)" 'unrecorded 1'
        unharmed -- "$programs/seccomp" "$how" "$programs/nvtx_only" 5
        assert_equal "$(cat traced.status)" 5
        assert_equal "$(ledger traced.json)" 'unrecorded 1'
    done
}

# In all threads, ours too, which outlive it by a few rounds of their work.
@test "a sandbox that kills for rt_sigprocmask after NVTX has begun: a few more ranges are recorded" {
    unharmed -- "$programs/seccomp" mask-later
    assert_equal "$(cat traced.status)" 0
    recorded user_annotation 110
    assert_equal "$(ledger traced.json)" ''
}

@test "a forked child in a sandbox that kills for rt_sigprocmask: its parent is recorded, the child is counted" {
    unharmed -- "$programs/seccomp" mask-child
    assert_equal "$(cat traced.status)" 0
    recorded user_annotation 100
    assert_equal "$(ledger traced.json)" 'unrecorded 1'
}

@test "a sandbox that kills the program's only thread: the process ends of the same signal" {
    unharmed -- "$programs/seccomp" thread
    assert_equal "$(cat traced.status)" 159 # SIGSYS
    recorded user_annotation 100
}

# On most machines Linux takes the processor's clock away from a thread in strict seccomp: by that it is noticed.
@test "strict seccomp: ranges within it are counted where that is noticed, and the program ends as it would" {
    run "$programs/strict" 0 clock
    if [ "$status" -ne 139 ]; then
        assert_equal "$status" 3
        unharmed -- "$programs/strict" 5
        assert_equal "$(cat traced.status)" 3
        recorded user_annotation 15
        assert_equal "$(ledger traced.json)" ''
        return
    fi
    for within in 0 5000; do
        unharmed -- "$programs/strict" "$within"
        assert_equal "$(cat traced.status)" 3
        recorded user_annotation 10
        lost_only traced.json spool_dropped
        assert_equal "$(jq .gputrace.losses.spool_dropped traced.json)" $((2 * within))
    done
    unharmed -- "$programs/strict" 0 clock
    assert_equal "$(cat traced.status)" 139
    unharmed -- "$programs/strict" 0 call
    assert_equal "$(cat traced.status)" 137
}

@test "LD_BIND_NOW" {
    LD_BIND_NOW=1 unharmed -- "$programs/plain" 3
    recorded gpu_memcpy 40
}

@test "a static executable: nothing is recorded, and a message says so" {
    unharmed -- "$programs/nvtx_static" 5
    said "'$programs/nvtx_static' is statically linked: nothing can be loaded into it, and nothing was recorded"
    jq -e '[.traceEvents[] | select(.ph != "M")] == []' traced.json
    # Loading it brings a second C library into the program, which dies of one of another release: it is not tried.
    echo '#include <stdlib.h>' >asks.c
    echo 'int main(void) { return getenv("NVTX_INJECTION64_PATH") != NULL; }' >>asks.c
    gcc -static -o asks_static asks.c
    gcc -o asks asks.c
    run -0 "$gputrace" run ./asks_static
    run -1 "$gputrace" run ./asks
}

@test "a program for musl: nothing is recorded, and a message says why" {
    ln -s /lib64/ld-linux-x86-64.so.2 ld-musl-x86_64.so.1 # its name says for which C library a program is
    echo 'int main(void) { return 0; }' >app.c
    gcc -o app app.c -Wl,--dynamic-linker="$PWD/ld-musl-x86_64.so.1"
    run -0 "$gputrace" run ./app
    assert_output --partial "'./app' is for the C library musl: libgputrace.so, which is for glibc, cannot be loaded into it"
}

@test "a set-user-ID program is not recorded, and a message says so" {
    [ "$(id -u)" -eq 0 ] || skip "needs root, to make one"
    command -v setpriv >/dev/null || skip "needs setpriv"
    chmod 755 "$BATS_RUN_TMPDIR" "$BATS_FILE_TMPDIR" "$BATS_TEST_TMPDIR" 2>/dev/null || true
    place=$(mktemp -d /tmp/gputrace-setuid.XXXXXX)
    chmod 777 "$place"
    cp "$programs/nvtx_only" "$place/risen"
    cp "$gputrace" "$build/libgputrace.so.0" "$place"
    chown 1 "$place/risen"
    chmod 4755 "$place/risen"
    mkdir -m 777 "$place/tmp"
    cd "$place"
    TMPDIR=$place/tmp run setpriv --reuid=65534 --regid=65534 --clear-groups ./gputrace run --keep-spool ./risen 6
    spools=$(find "$place/tmp" -name '*.spool' | wc -l)
    mounted=$(findmnt -no OPTIONS --target "$place" | grep -c nosuid || true)
    cd /
    rm -rf "$place"
    [ "$mounted" -eq 0 ] || skip "the file system of /tmp knows no set-user-ID"
    assert_equal "$status" 6
    assert_line done
    assert_line --partial "has more rights than you (set-user-ID) and is not recorded"
    assert_equal "$spools" 0
}

@test "all descriptors closed at the start" {
    unharmed -- "$programs/close_all" first
    recorded user_annotation 100000
}

# A real driver's descriptors are closed too, and its threads go on writing to their numbers, which are the program's
# files now: of such a program nothing can be said but here.
@test "all descriptors closed again and again while much is recorded" {
    need_simulated
    unharmed -- "$programs/close_all" later
    recorded user_annotation 100030
    lost_only traced.json in_flight
}

@test "all descriptors closed again and again, and the GPU used between" {
    need_simulated
    unharmed -- "$programs/close_all" simulated
    recorded user_annotation 100130
    recorded gpu_memcpy 240
    assert_equal "$(ledger traced.json)" ''
}

# bats test_tags=long
@test "all descriptors closed again and again while 16 threads record" {
    need_simulated
    unharmed -- "$programs/close_all" later threads
    recorded user_annotation 1600030
    lost_only traced.json in_flight
}

@test "all descriptors closed where Linux has no close_range(): nothing is lost" {
    need_simulated
    unharmed -- "$programs/seccomp" old "$programs/close_all" later
    recorded user_annotation 100030
    lost_only traced.json in_flight
}

# Of 1600030 ranges each has two records, and whatever is not in the trace is counted: a lost record, or a pop that is there
# without its push. A range whose push is there is shown.
all_is_there_or_counted() {
    ledger traced.json >all
    local lost
    lost=$(awk '$1 == "spool_dropped" || $1 == "unmatched_ranges" { sum += $2 } END { print sum + 0 }' all)
    recorded user_annotation $((1600030 - lost / 2))
}

# bats test_tags=long
@test "all descriptors closed where a sandbox allows no private descriptor table: lost records are counted" {
    need_simulated
    mkdir spools
    # How much is lost is chance: drained chunks are used again if the launcher is in time.
    unharmed -- "$programs/seccomp" shared "$programs/close_all" later threads
    all_is_there_or_counted
    ! grep -q '^spool_dropped ' all || said "the program closed the spool file"
    # Without space for packed chunks none is used again.
    QUOTA_DIRECTORY=$PWD/spools QUOTA_BYTES=0 QUOTA_SUFFIX=.packed LD_PRELOAD=$programs/quota_library.so \
        unharmed --spool-dir="$PWD/spools" -- "$programs/seccomp" shared "$programs/close_all" later threads
    all_is_there_or_counted
    grep -q '^spool_dropped [1-9]' all || fail "nothing was lost: $(cat all said)"
    said "the program closed the spool file"
}

@test "standard descriptors closed too, and taken for files of the program's" {
    unharmed -- "$programs/close_all" all
    unharmed -v -- "$programs/close_all" all
}

@test "RLIMIT_AS, RLIMIT_NOFILE, RLIMIT_FSIZE, RLIMIT_CORE, RLIMIT_STACK: set before anything is recorded" {
    unharmed -- "$programs/limits" as 300000000 first
    unharmed -- "$programs/limits" nofile 16 first
    recorded user_annotation 50000
    unharmed -- "$programs/limits" nofile 3 first
    unharmed -- "$programs/limits" fsize 3000000 first
    unharmed -- "$programs/limits" fsize 0 first
    unharmed -- "$programs/limits" core 0 first
    recorded user_annotation 50000
    unharmed -- "$programs/limits" stack 65536 first
    recorded user_annotation 50000
}

@test "the same limits, set while it is recorded" {
    unharmed -- "$programs/limits" as 200000000 later
    if [ -n "${simulated-}" ]; then # a real driver may need some later, with or without us
        unharmed -- "$programs/limits" nofile 3 later
        recorded user_annotation 50000
    fi
    unharmed -- "$programs/limits" fsize 3000000 later
    unharmed -- "$programs/limits" core 0 later
    unharmed -- "$programs/limits" stack 65536 later
    unharmed -- "$programs/limits" nproc 0 later
}

@test "limits of the shell around everything" {
    (ulimit -n 24 && unharmed -- "$programs/plain" 4)
    (ulimit -s 256 && unharmed -- "$programs/plain" 4)
    (ulimit -c 0 && unharmed -- "$programs/plain" 4)
}

@test "forks in several threads at once" {
    unharmed -- "$programs/fork_threads"
    "$check_trace" --strict traced.json
    # Each second child has used NVTX: one process more for each in the trace.
    assert_equal "$(jq '.gputrace.processes | length' traced.json)" 21
}

@test "a library with NVTX and CUDA, loaded and unloaded again and again" {
    unharmed -- "$programs/unload" "$programs/unloaded_library.so"
    recorded user_annotation 200
}

@test "a program that profiles itself, and comes second" {
    apart plain "$programs/profiler" later
    apart traced "$gputrace" run -o "$PWD/traced.json" "$programs/profiler" later
    cmp plain.out traced.out
    cmp plain.status traced.status
    recorded gpu_memcpy 60
}

@test "a program that profiles itself, and subscribes first: a message says so, and it gets its callbacks" {
    unharmed -- "$programs/profiler" first
    said 'CUDA is not recorded: '
    recorded user_annotation 30
}

@test "another directory, before and after" {
    unharmed -- "$programs/elsewhere" chdir first
    recorded user_annotation 50000
    unharmed -- "$programs/elsewhere" chdir later
    recorded user_annotation 50000
}

@test "another root, before and after" {
    [ "$(id -u)" -eq 0 ] || skip "needs root"
    unharmed -- "$programs/elsewhere" chroot first
    rm -rf plain traced
    unharmed -- "$programs/elsewhere" chroot later
    recorded user_annotation 50000
}

@test "another user, before and after" {
    [ "$(id -u)" -eq 0 ] || skip "needs root"
    unharmed -- "$programs/elsewhere" uid first
    unharmed -- "$programs/elsewhere" uid later
    recorded user_annotation 50000
}

# Runs a program that cannot reach the spool directory: of another user, under another mount, where nothing can be written.
# Its one range is in the trace, and nothing is missing.
hidden() { # OPTION... -- COMMAND...
    timeout "$limit" "$gputrace" run --strict -o traced.json "$@" 2>said || fail "status $?: $(cat said)"
    ! grep 'cannot record\|warning' said || fail "said"
    recorded user_annotation 1
    jq -e '.gputrace.losses.unrecorded == 0' traced.json
}

@test "another user who cannot enter the spool directory is recorded" {
    for_others nvtx_only
    chmod +t "$TMPDIR"
    hidden setpriv --reuid=65534 --regid=65534 --clear-groups "$programs/nvtx_only" 0
    # Programs that drop privileges close what they inherit.
    hidden setpriv --reuid=65534 --regid=65534 --clear-groups bash -c \
        "for fd in /proc/self/fd/*; do fd=\${fd##*/}; [ \$fd -le 2 ] || eval \"exec \$fd>&-\"; done; exec '$programs/nvtx_only' 0"
}

@test "a process is recorded under a mount that hides the spool directory or makes it read-only" {
    unshare --mount true 2>/dev/null || skip "there are no namespaces of mounts here"
    mkdir spools
    script app 'mount -t tmpfs none "${GPUTRACE_SPOOL%/*}" || exit 9' "exec '$programs/nvtx_only' 0"
    hidden --spool-dir=spools unshare --mount ./app
    script app 'mount --bind "${GPUTRACE_SPOOL%/*}" "${GPUTRACE_SPOOL%/*}" || exit 9' \
        'mount -o remount,bind,ro "${GPUTRACE_SPOOL%/*}" || exit 9' "exec '$programs/nvtx_only' 0"
    hidden --spool-dir=spools unshare --mount ./app
}

@test "a process for which no spool can be made is counted, and --strict fails" {
    for_others nvtx_only
    small_disk 1M
    script drop 'head -c 2000000 /dev/zero >"${GPUTRACE_SPOOL%/*}/full" 2>/dev/null' \
        "exec setpriv --reuid=65534 --regid=65534 --clear-groups '$programs/nvtx_only' 0"
    run timeout "$limit" "$gputrace" run --strict --spool-dir=small -o traced.json ./drop
    assert_equal "$status" 124
    assert_output --partial "1 process that could not be recorded"
    refute_output --partial "used neither CUDA nor NVTX"
    echo "$output" >said
    lost_only traced.json unrecorded
}

@test "an environment that is cleared: in the process itself, and before exec" {
    unharmed -- "$programs/elsewhere" environment later
    recorded user_annotation 50000
    unharmed -- "$programs/bare_exec" "$programs/plain" 7
    jq -e '.gputrace.processes == []' traced.json
}

@test "all signals blocked: they stay so, and none is swallowed" {
    unharmed -- "$programs/blocked"
    recorded user_annotation 10000
}

@test "a program that stops itself and is continued" {
    unharmed -- "$programs/stopped"
    recorded gpu_memcpy 40
}

@test "threads that are cancelled: no point of cancellation where there was none" {
    unharmed -- "$programs/cancelled"
    recorded user_annotation 1000
}

@test "a program that takes all keys for data of threads" {
    unharmed -- "$programs/all_keys"
    recorded user_annotation 2000
    # In a namespace of the dynamic linker there is a second C library, whose keys have the same numbers.
    unharmed -- "$programs/all_keys" "$programs/namespace_library.so"
    recorded user_annotation 2000
}

@test "job control of a terminal: stopped and continued from the keyboard" {
    command -v python3 >/dev/null || skip "needs python3"
    script app 'echo ready' 'read -r line' 'echo "got $line"' "'$programs/plain' 3"
    cat >terminal.py <<'P'
import os, pty, re, signal, sys, time, tty
def session(command):
    pid, fd = pty.fork()
    if pid == 0:
        os.execvp("bash", ["bash", "--norc", "-i"])
    seen = b""
    def until(text):
        nonlocal seen
        end = time.time() + 60
        while text not in seen and time.time() < end:
            seen += os.read(fd, 4096)
        assert text in seen, (text, seen)
        seen = seen[seen.index(text) + len(text):]
    os.write(fd, b"PS1=; bind 'set enable-bracketed-paste off' 2>/dev/null; set -m; stty -echo; echo be''gin\n"); until(b"begin")
    os.write(fd, command.encode() + b"\n"); until(b"ready")
    os.write(fd, b"\x1a"); until(b"Stopped")
    while os.tcgetpgrp(fd) != pid: time.sleep(0.01)
    os.write(fd, b"fg\n")
    while os.tcgetpgrp(fd) == pid: time.sleep(0.01)
    os.write(fd, b"a line\n"); until(b"got a line")
    os.write(fd, b"echo sta''tus $?\n"); until(b"status "); until(b"\n")
    os.write(fd, b"exit\n")
    os.waitpid(pid, 0)
session(sys.argv[1])
P
    run -0 timeout 100 python3 terminal.py "./app"
    run -0 timeout 100 python3 terminal.py "'$gputrace' run ./app"
    [ "$(count gpu_memcpy)" -ge 40 ]
}

@test "arguments and environment as large as the system allows" {
    local word one
    word=$(printf 'x%.0s' {1..120000})
    # As many as go without gputrace, whose own variables then do not fit any more: it runs all the same.
    words=()
    while /bin/true "${words[@]}" "$word" 2>/dev/null; do words+=("$word"); done
    [ ${#words[@]} -gt 5 ] || skip "no limit was found"
    local fits=0 many=${#word} # so many letters more fit, so many do not
    while [ $((many - fits)) -gt 300 ]; do
        one=$(((fits + many) / 2))
        if /bin/true "${words[@]}" "${word:0:one}" 2>/dev/null; then fits=$one; else many=$one; fi
    done
    words+=("${word:0:$((fits - 400))}") # for the launcher's own arguments
    run -0 --separate-stderr "$gputrace" run -o huge.json /bin/true "${words[@]}"
    [[ $stderr = *"ran without being traced: arguments and environment leave no space"* ]]
    INPUT= unharmed -- "$programs/plain" 8 "${words[@]:0:3}"
    recorded gpu_memcpy 40
}

@test "a machine with pages of 64 KiB: mapped, recorded, drained and read" {
    need_simulated # a real driver need not support this
    export LD_PRELOAD=$programs/large_pages_library.so
    assert_equal "$(getconf PAGESIZE)" 65536
    unharmed -- "$samples/vector_add"
    assert_equal "$(ledger traced.json)" ''
    "$check_trace" --strict --expect traced.out traced.json
    unharmed -- "$programs/flood" 200000 300
    assert_equal "$(ledger traced.json)" ''
    [ "$(ranges)" -ge 200000 ]
}
