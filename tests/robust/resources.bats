# Without disk space, descriptors, memory or a directory: the program is unharmed, recording stops or thins out, the ledger
# counts what was lost, and is the same in the last line of `run`, in the trace and in the report.

load robust

setup_file() { export BATS_TEST_TIMEOUT=120; }

lost() { # NAME: fails unless the ledger has it
    ledger traced.json >all
    grep -q "^$1 [1-9]" all || fail "no loss of $1: $(cat all said)"
}

# What was recorded and what was lost come to what there was.
nothing_unaccounted() { # CATEGORY LOSS WHOLE
    local there missing
    there=$(count "$1" traced.json)
    missing=$(ledger traced.json | awk -v name="$2" '$1 == name { print $2 }')
    [ $((there + ${missing:-0})) -ge "$3" ] || fail "$there of $1 and ${missing:-0} lost, of $3"
}

@test "a disk that is full: recording stops, the program does not" {
    need_plain
    small_disk 6M
    unharmed --spool-dir="$PWD/small" -- "$programs/flood" 50000 300
    said 'the spool cannot grow (No space left on device)'
    lost spool_dropped
    # Two records for each range: where a push is lost its pop may be there, and the other way round.
    [ "$(count user_annotation traced.json)" -gt 1000 ]
    "$check_trace" traced.json
}

@test "a disk that is full: CUPTI's records are counted too" {
    need_plain
    small_disk 3M
    unharmed --spool-dir="$PWD/small" -- "$programs/flood" 20000 4000
    lost cupti_dropped
    nothing_unaccounted cuda_driver cupti_dropped 16000
}

@test "something is left on the disk for the program" {
    need_plain
    small_disk 10M
    script app "'$programs/flood' 200000 10" "head -c 400000 /dev/zero >'$PWD/small/mine' || exit 9" 'exit 21'
    timeout "$limit" "$gputrace" run -o traced.json --spool-dir=small ./app 2>said || [ $? -eq 21 ]
    assert_equal "$(stat -c %s small/mine)" 400000
    lost spool_dropped
}

@test "recording goes on when the disk has space again" {
    need_plain
    small_disk 8M
    head -c 5000000 /dev/zero >small/other
    script app "'$programs/flood' 20000 10" "rm small/other" "'$programs/flood' 2000 10" 'exit 0'
    timeout "$limit" "$gputrace" run -o traced.json --spool-dir=small ./app 2>said
    lost spool_dropped
    jq -e '[.gputrace.processes[] | .losses.spool_dropped] | any(. == 0) and any(. > 0)' traced.json
}

@test "a full disk from the start: the process is reported as not recorded" {
    need_plain
    small_disk 16k
    unharmed --spool-dir="$PWD/small" -- "$programs/flood" 1000 10
    said 'No space left on device'
    lost unrecorded
    jq -e '[.traceEvents[] | select(.ph != "M")] == []' traced.json
}

@test "a disk without files left" {
    need_plain
    [ "$(id -u)" -eq 0 ] || skip "needs root"
    mkdir small
    mount -t tmpfs -o size=8M,nr_inodes=4,mode=1777 none small 2>/dev/null || skip "cannot mount a file system here"
    mounted_at=$PWD/small
    touch small/a # the root, this, the directory of the run, and its session
    unharmed --spool-dir="$PWD/small" -- "$programs/flood" 1000 10
    said 'No space left on device'
}

@test "RLIMIT_FSIZE: no SIGXFSZ, recording stops" {
    need_plain
    unharmed -- "$programs/limits" fsize 3000000 later
    said 'the spool cannot grow (File too large)'
    lost spool_dropped
    unharmed -- "$programs/limits" fsize 100 first
    said 'File too large'
    lost unrecorded
}

@test "no descriptors at the start: the process is reported as not recorded; later it does not matter" {
    need_plain
    unharmed -- "$programs/limits" nofile 3 child
    said 'Too many open files'
    lost unrecorded
    [ -n "${simulated-}" ] || return 0 # a real driver may need some later, with or without us
    unharmed -- "$programs/limits" nofile 3 later
    assert_equal "$(ledger traced.json)" ''
    [ "$(count user_annotation traced.json)" -ge 50000 ]
}

@test "no memory: RLIMIT_AS" {
    need_plain
    unharmed -- "$programs/limits" as 150000000 later
    ledger traced.json
}

@test "no threads: RLIMIT_NPROC" {
    need_plain
    for_others nvtx_only
    # A user that has nothing running; limits do not hold for root.
    script app "exec setpriv --reuid=54321 --regid=54321 --clear-groups prlimit --nproc=1 '$programs/nvtx_only' 24"
    unharmed -- ./../app
    assert_equal "$(cat plain.status)" 24
}

@test "a spool directory that is gone: before and while the program records" {
    need_plain
    for when in first later; do
        apart plain "$programs/vanish" removed $when
        apart traced "$gputrace" run -o "$PWD/traced.json" "$programs/vanish" removed $when
        cmp plain.out traced.out
        # The program failed itself, with its own status.
        cmp plain.status traced.status
        grep -q '^gputrace: ' traced.err
        [ ! -e traced.json ]
    done
    script app "'$programs/vanish' removed later" 'exit 0'
    run -125 timeout "$limit" "$gputrace" run -o traced.json ./app
    assert_output --partial "the spool directory '$TMPDIR/gputrace-"
    assert_output --partial "was removed"
}

@test "a spool directory that is read-only" {
    need_plain
    local user=()
    if [ "$(id -u)" -eq 0 ]; then # root writes everywhere
        for_others vanish
        user=(setpriv --reuid=65534 --regid=65534 --clear-groups)
    fi
    for when in first later; do
        run "${user[@]}" timeout "$limit" "$gputrace" run -o traced.json "$programs/vanish" read-only $when
        assert_equal "$status" 23
        echo "$output" >said
        if [ $when = first ]; then
            assert_output --partial "Permission denied"
        else
            assert_equal "$(ledger traced.json)" ''
        fi
        rm -f traced.json said losses.*
    done
    chmod -R u+w .
}

@test "a small TMPDIR" {
    need_plain
    small_disk 2M
    TMPDIR=$PWD/small unharmed -- "$programs/flood" 30000 100
    lost spool_dropped
}

@test "a small /dev/shm: gputrace writes nothing there" {
    need_plain
    [ "$(id -u)" -eq 0 ] || skip "needs root, to mount a small file system"
    unshare --mount sh -c 'mount -t tmpfs -o size=16k none /dev/shm' 2>/dev/null || skip "cannot mount a file system here"
    script app 'mount -t tmpfs -o size=16k none /dev/shm || exit 9' "'$programs/flood' 50000 300" 'got=$?' 'ls -A /dev/shm' 'exit $got'
    script small 'exec unshare --mount ./../app'
    unharmed -- "$PWD/small"
    assert_equal "$(cat plain.status)" 21
    [ "$(count user_annotation traced.json)" -ge 50000 ]
    assert_equal "$(ledger traced.json)" ''
}

@test "a small /dev/shm as the place of the spool: recording stops, the program does not" {
    need_plain
    [ "$(id -u)" -eq 0 ] || skip "needs root, to mount a small file system"
    unshare --mount sh -c 'mount -t tmpfs -o size=16k none /dev/shm' 2>/dev/null || skip "cannot mount a file system here"
    script small 'mount -t tmpfs -o size=4M none /dev/shm || exit 9' 'exec "$@"'
    run unshare --mount ./small timeout "$limit" "$gputrace" run --spool-dir=/dev/shm -o traced.json "$programs/flood" 50000 300
    assert_equal "$status" 21
    echo "$output" >said
    said 'the spool cannot grow (No space left on device)'
    lost spool_dropped
}

@test "a directory of the trace that became read-only: 125, the spool stays" {
    need_plain
    small_disk 8M
    mkdir tmp/spools
    script app "'$programs/flood' 5000 10" "mount -o remount,ro '$PWD/small' || exit 9" 'exit 0'
    TMPDIR=$TMPDIR/spools run -125 "$gputrace" run -o small/trace.json ./app
    assert_output --partial 'Read-only file system'
    assert_output --partial 'the records stay in'
    assert_equal "$(ls -A small)" ''
    run -0 "$gputrace" recover -o saved.json "$TMPDIR"/spools/gputrace-*
    [ "$(count user_annotation saved.json)" -ge 5000 ]
}

@test "no disk space for the output: 125, the spool is kept" {
    need_plain
    small_disk 200k
    script app "'$programs/flood' 5000 10" 'exit 0'
    run -125 timeout "$limit" "$gputrace" run -o small/trace.json ./app
    assert_output --partial 'the records stay in'
    [ ! -e small/trace.json ]
    assert_equal "$(find small -type f | wc -l)" 0
    [ -n "$(find "$TMPDIR" -name '*.spool' -o -name ended.packed)" ] # a process that has ended may be in either
}

@test "these tests need no way for other users to the build" {
    need_plain
    [ "$(id -u)" -eq 0 ] || skip "needs root, to become another user"
    mkdir -p -m 700 locked
    mkdir -p locked/tests/{cli,robust} locked/build/tests/robust
    cp "$root/tests/cli/common.bash" locked/tests/cli
    cp "$root"/tests/robust/{robust.bash,resources.bats} locked/tests/robust
    cp -P "$gputrace" "$build"/libgputrace.so* locked/build
    cp -R "$build/simgpu" locked/build
    cp -R "$programs" locked/build/tests/robust
    run -0 env GPUTRACE_BUILD="$PWD/locked/build" bats --formatter tap \
        --filter 'RLIMIT_NPROC|spool directory that is read-only' locked/tests/robust/resources.bats
    assert_line --partial 'ok 2 '
    refute_output --partial '# skip'
}

@test "standard output as the name of the trace is an error, and is not changed" {
    local name
    mkdir dev
    ln -s /proc/self/fd/1 dev/stdout # as /dev/stdout is: a test must not be able to replace that
    for name in - dev/stdout; do
        "$gputrace" run -o "$name" touch started >out 2>>err && return 1
        [ ! -e started ]
        [ ! -s out ]
        [ -L dev/stdout ]
    done
    cat err
    grep -q -- "-o: '-' is not a file name: a trace is written to a file" err
    grep -q "'dev/stdout': a regular file is needed, and it is a symbolic link" err
}

@test "names of the trace that cannot be used are refused before the program runs" {
    mkdir -p trace.json.old gone
    touch trace.json
    run -125 "$gputrace" run touch started
    assert_output --partial "cannot keep 'trace.json' as 'trace.json.old': that is a directory"
    run -125 "$gputrace" run -o "$(printf 'x%.0s' {1..256})" touch started
    assert_output --partial 'File name too long'
    run -125 sh -c 'cd gone && rmdir ../gone && exec "$@"' sh "$gputrace" run touch "$PWD/started"
    assert_output --partial "cannot write 'trace.json"
    [ ! -e started ]
    [ -z "$(ls -- *.tmp 2>/dev/null)" ]
}

@test "closed standard descriptors: no message gets into the trace, and the program has them closed" {
    "$gputrace" run -q -o whole.json "$samples/vector_add" >/dev/null
    jq -c '.traceEvents + [1]' whole.json >odd.json # a warning: an event that is none
    "$gputrace" convert odd.json loud.json 2>words
    grep -q warning words
    "$gputrace" convert odd.json silent.json <&- >&- 2>&-
    cmp loud.json silent.json
    script app 'open=' 'for fd in 0 1 2; do [ ! -e "/proc/$$/fd/$fd" ] || open="$open $fd"; done' 'echo "open:$open" >"$1"'
    "$gputrace" run -q ./app with <&- >&- 2>&-
    assert_equal "$(cat with)" 'open:'
}

@test "control characters in names of files do not reach the terminal" {
    run -1 "$gputrace" report $'no\e[2Jsuch\n.json'
    assert_output --partial 'no\x1b[2Jsuch\n.json'
    refute_output --partial $'\e'
}

# The spool of a program that has CUDA and call stacks to name, in the directory "spool".
make_spool() {
    mkdir kept
    "$gputrace" run -q --stacks=all --keep-spool --spool-dir=kept -o kept.json "$samples/vector_add" >/dev/null
    mv kept/* spool
}

@test "a small limit of stacks: the trace is written, and the program has the limit" {
    need_simulated
    for option in --stacks=all --plugin=leaks; do
        run -0 bash -c 'ulimit -s 128; "$0" run "$1" -o t.json "$2"' "$gputrace" "$option" "$samples/vector_add"
        [ "$(jq '[.traceEvents[] | select(.cat == "kernel")] | length' t.json)" -gt 0 ]
        rm t.json
    done
    run -0 --separate-stderr bash -c 'ulimit -s 128; "$0" run -q -o t.json bash -c "ulimit -s"' "$gputrace"
    assert_output 128
}

@test "a small limit of stacks: samples of the processor are written" {
    "$gputrace" run -q --cpu=samples -o usual.json true 2>said || true
    ! grep -q "not recorded\|no samples" said || skip "perf events are not allowed here"
    run -0 bash -c 'ulimit -s 128; "$0" run --cpu=samples,switches -o t.json "$1"' "$gputrace" "$samples/vector_add"
    jq -e .traceEvents t.json >all
}

# Without memory libdw calls exit() or fails an assertion, in any of its calls.
@test "too little memory to write the trace: it is written, or what says so names the spool, which stays" {
    [ -z "${sanitizer-}" ] || skip "sanitizers need memory of their own"
    make_spool
    for limit in $(seq 24000 3000 90000); do
        (ulimit -v "$limit" && "$gputrace" --version >version 2>&1) || continue
        cp -r spool "spool$limit"
        status=0
        (ulimit -v "$limit" && "$gputrace" recover -o t.json "spool$limit" >said 2>&1) || status=$?
        if [ $status = 0 ]; then
            jq -e .traceEvents t.json >all
            continue
        fi
        echo "# $limit: $status: $(<said)"
        [ $status = 1 ]
        grep -q "the records stay in '.*spool$limit'" said
        [ -e "spool$limit/session.json" ]
    done
}
