# A quota of the disk, for the spool, for what is packed of it, and for the trace: the program is not harmed, what is
# missing is counted, and a trace that cannot be written keeps the spool. Most of it with a library that answers as a
# system with quotas does, and so it runs everywhere; and where a file system with a quota can be mounted, with that.

load robust

before_each() { need_plain; }

setup_file() { export BATS_TEST_TIMEOUT=120; }

# From now on whatever is under DIRECTORY may take so much together.
quota() { # DIRECTORY BYTES
    export QUOTA_DIRECTORY=$1 QUOTA_BYTES=$2 LD_PRELOAD=$programs/quota_library.so
}

no_quota() {
    unset QUOTA_DIRECTORY QUOTA_BYTES QUOTA_SUFFIX LD_PRELOAD
}

# A file system at ./real with a quota of so many bytes for all that is in ./real/limited.
real_quota() { # BYTES
    [ "$(id -u)" -eq 0 ] || skip "needs root, to mount a file system with a quota"
    command -v mkfs.btrfs >/dev/null || skip "needs btrfs-progs, for a file system with a quota"
    truncate -s 256M image
    mkfs.btrfs -q image >/dev/null 2>&1
    mkdir real
    mount -o loop image real 2>/dev/null || skip "cannot mount a file system here"
    mounted_at=$PWD/real
    { btrfs quota enable real && btrfs subvolume create real/limited && btrfs qgroup limit "$1" real/limited; } >/dev/null ||
        skip "this file system has no quota"
    mkdir real/limited/mine
}

lost() { # NAME
    ledger traced.json >all
    grep -q "^$1 [1-9]" all || fail "no loss of $1: $(cat all said)"
}

# 125, no partial file, the spool is kept, and the printed command makes the trace when there is space.
keeps_the_spool() { # DIRECTORY-OF-THE-TRACE
    assert_output --partial 'Disk quota exceeded'
    assert_line --regexp "the records stay in '.*': 'gputrace recover .* -o recovered.json' writes the trace"
    assert_equal "$(ls -A "$1")" ''
    no_quota
    run -0 "$gputrace" recover -o saved.json "$TMPDIR"/gputrace-*
    "$check_trace" saved.json
    [ "$(count user_annotation saved.json)" -ge 50000 ]
    assert_equal "$(ls "$TMPDIR")" ''
}

@test "a quota for the spool: recording stops, the program goes on, and lost records are counted" {
    mkdir spools
    quota "$PWD/spools" 3500000
    unharmed --spool-dir="$PWD/spools" -- "$programs/flood" 50000 300
    no_quota
    said 'the spool cannot grow (Disk quota exceeded)'
    lost spool_dropped
    grep -q 'incomplete: ' said
    [ "$(count user_annotation traced.json)" -gt 1000 ]
    "$check_trace" traced.json
    assert_equal "$(ls spools)" ''
}

@test "a quota for the spool: --strict fails" {
    mkdir spools
    script app "'$programs/flood' 50000 300" 'exit 0'
    quota "$PWD/spools" 3500000
    run -124 "$gputrace" run --strict --spool-dir="$PWD/spools" ./app
    assert_line --partial 'incomplete: '
}

@test "a quota of nothing: the process is reported as not recorded" {
    mkdir spools
    quota "$PWD/spools" 8000
    unharmed --spool-dir="$PWD/spools" -- "$programs/flood" 1000 10
    no_quota
    said 'Disk quota exceeded'
    lost unrecorded
}

@test "a quota that leaves no space for packed chunks: they stay in the spool, and nothing is lost" {
    need_simulated
    mkdir spools
    script app "'$samples/launch_loop' 100000 >statement"
    for bytes in 0 300000; do
        quota "$PWD/spools" $bytes
        export QUOTA_SUFFIX=.packed
        run -0 "$gputrace" run -v --spool-dir="$PWD/spools" -o trace.json ./app
        no_quota
        if [ $bytes -eq 0 ]; then
            refute_output --partial ' packed while the program ran'
        fi
        "$check_trace" --quiet --strict --expect statement trace.json
    done
}

@test "a quota for the trace: 125, the spool stays, and recover makes the trace" {
    mkdir traces
    script app "'$programs/flood' 50000 300" 'exit 0'
    quota "$PWD/traces" 500000
    run -125 "$gputrace" run -o traces/trace.json ./app
    keeps_the_spool traces
}

@test "a quota for the trace: the program's own failure goes before ours" {
    mkdir traces
    quota "$PWD/traces" 500000
    run -21 "$gputrace" run -o traces/trace.json "$programs/flood" 50000 300
    keeps_the_spool traces
}

@test "a quota of the system for the spool: recording stops or thins out, no SIGBUS" {
    real_quota 8M
    unharmed --spool-dir="$PWD/real/limited/mine" -- "$programs/flood" 500000 300
    said '(Disk quota exceeded)'
    lost spool_dropped
    # Each range has two records; those in segments without space are counted too.
    there=$(count user_annotation traced.json)
    [ "$there" -gt 1000 ]
    [ $((there + $(awk '$1 == "spool_dropped" { print $2 }' all))) -ge 500000 ]
    "$check_trace" traced.json
}

@test "a quota of the system that something else has used up, while pages of the spool are written again and again" {
    real_quota 24M
    # Pages that were written to the disk need space again on a file system that copies on write.
    script app "head -c 12M /dev/urandom >'$PWD/real/limited/other' 2>/dev/null" \
        "(while kill -0 \$\$; do sync -f '$PWD/real'; head -c 9M /dev/urandom >>'$PWD/real/limited/other'; done) 2>/dev/null &" \
        "exec '$programs/steady' 40 50"
    run "$gputrace" run -o traced.json --spool-dir="$PWD/real/limited/mine" ./app
    assert_equal "$status" 0
    "$check_trace" traced.json
}

@test "a quota of the system for the trace: 125, and the spool stays" {
    real_quota 1M
    script app "'$programs/flood' 50000 300" 'exit 0'
    run -125 "$gputrace" run -o real/limited/mine/trace.json ./app
    keeps_the_spool real/limited/mine
}

@test "a spool that is truncated while the program writes into it: no SIGBUS, and a message says so" {
    # Once half of the ranges are in the spool.
    script app "'$programs/steady' 60 50 half &" 'program=$!' 'until [ -e half ]; do sleep 0.02; done' \
        'truncate -s 0 "$GPUTRACE_SPOOL"/*.spool; wait $program; echo "it ended with $?"'
    run -0 "$gputrace" run -o traced.json ./app
    assert_line 'it ended with 0'
    assert_line --partial 'a part of the spool cannot be written'
    jq -e .traceEvents traced.json >/dev/null
}

@test "a spool that is truncated while it is opened: no SIGBUS, and a message says so" {
    script app "LD_PRELOAD='$programs/truncating_library.so' '$programs/steady' 20 1" 'echo "it ended with $?"'
    run "$gputrace" run -o traced.json ./app
    assert_line 'it ended with 0'
    assert_line --partial 'a part of the spool cannot be written'
}
