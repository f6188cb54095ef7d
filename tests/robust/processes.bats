# A tree of processes in one trace: each process that recorded has rows of its own, named; ids do not collide, clocks
# agree, nothing hangs.

load robust

before_each() { need_plain; }

setup_file() { export BATS_TEST_TIMEOUT=120; }

@test "fork: CUDA first used in the children, NVTX before in the parent" {
    traced "$programs/tree" fork
    sound
    assert_equal "$(workers)" 4
    assert_equal "$(gpu_users)" 3
}

@test "fork: nothing in the parent" {
    traced "$programs/tree" child-first
    sound
    assert_equal "$(workers)" 3
    assert_equal "$(jq '.gputrace.processes | length' trace.json)" 3
}

@test "forked workers that never touch CUDA leave nothing" {
    traced "$programs/tree" idle
    sound
    assert_equal "$(jq '.gputrace.processes | length' trace.json)" 1
}

# Twelve children, each with 2005 calls of NVTX, while four threads of the parent record.
@test "_Fork and clone, which call no handlers: children are left alone and counted, the parent's records are whole" {
    for how in _Fork clone; do
        unharmed --strict -- "$programs/raw_fork" "$how" 12 || [ "$(cat traced.status)" -eq 124 ]
        said "24,060 calls in children of _Fork() or clone()"
        assert_equal "$(ledger traced.json)" 'unannounced 24060'
        "$check_trace" traced.json
        assert_equal "$(jq '.gputrace.processes | length' traced.json)" 1
    done
}

# bats test_tags=long
@test "NVTX in a namespace of the dynamic linker, whose C library is not the one that forks" {
    unharmed -- "$programs/raw_fork" fork 12 "$programs/namespace_library.so"
    assert_equal "$(ledger traced.json)" 'unannounced 24000'
    "$check_trace" traced.json
}

@test "vfork and exec" {
    traced "$programs/tree" vfork "$programs/plain" 0
    sound
    assert_equal "$(workers)" 2
    assert_equal "$(gpu_users)" 2
}

@test "posix_spawn" {
    traced "$programs/tree" spawn "$programs/plain" 0
    sound
    assert_equal "$(workers)" 2
}

@test "a chain of exec: one process, one group of rows, the GPU's of each image" {
    traced "$programs/tree" exec "$programs/tree" exec "$programs/plain" 0
    sound in_flight
    assert_equal "$(jq '.gputrace.processes | length' trace.json)" 3
    assert_equal "$(workers)" 1
    assert_equal "$(gpu_work)" 72
}

@test "a daemon outlives the program: reported by default" {
    traced "$programs/tree" daemon
    grep -q "still run" said
}

# MiB on the disk of the removed files that a process has open.
removed_mib() { # PID
    local descriptor blocks=0
    for descriptor in "/proc/$1/fd"/*; do
        case $(readlink "$descriptor") in
        *.spool\ \(deleted\)) blocks=$((blocks + $(stat -L -c %b "$descriptor"))) ;;
        esac
    done
    echo $((blocks / 2048))
}
holds_little() { [ "$(removed_mib "$1")" -le 8 ]; }

@test "a daemon that outlives run stops recording, and gives the disk back what it held" {
    traced "$programs/tree" daemon-flood 3>&-
    said "what it does from now on is not in the trace ('gputrace run --wait=all' waits for it)"
    eventually test -e much # a million ranges since the end of the program, 100 MB
    local daemon
    daemon=$(cat daemon)
    kill -0 "$daemon"
    eventually holds_little "$daemon"
    # All that is left of the spool is mapped: a segment or two, and no thread keeps more ready.
    assert_equal "$(grep -c '\.spool (deleted)' "/proc/$daemon/maps" | awk '{ print ($1 <= 4) }')" 1
    touch end
}

@test "--wait=all: for a daemon too; all it did is in the trace" {
    traced --wait=all "$programs/tree" daemon
    sound
    assert_equal "$(workers)" 2
    assert_equal "$(gpu_users)" 1
    ! grep -q "still run" said
}

@test "children that outlive the first process, which waits for none: --wait=primary and --wait=all" {
    script app "'$programs/nvtx_only' 0 \$1 >/dev/null 2>&1 &" 'echo $! >one' "'$programs/nvtx_only' 0 \$1 >/dev/null 2>&1 &" 'echo $! >two' \
        'while [ "$(ls "$GPUTRACE_SPOOL"/*.spool 2>/dev/null | wc -l)" -lt 2 ]; do sleep 0.05; done' 'exit 3'
    traced --wait=primary ./app 60000 || [ $? -eq 3 ]
    kill "$(cat one)" "$(cat two)"
    grep -q "2 processes .*still run" said
    assert_equal "$(jq '[.gputrace.processes[] | select(.state == "still runs")] | length' trace.json)" 2
    traced --wait=all ./app 1000 || [ $? -eq 3 ]
    sound
    assert_equal "$(workers)" 2
    assert_equal "$(jq '[.gputrace.processes[] | select(.state == "finished")] | length' trace.json)" 2
}

@test "--wait=all does not wait for a forked child that records nothing" {
    traced --wait=all "$programs/tree" idle-left 3>&-
    [ ! -e ended ]
    touch end
    ! grep -q "still run" said
    sound
}

@test "a process in another pid namespace that outlives the program: reported by default, waited for with --wait=all" {
    unshare --pid --fork --mount-proc true 2>/dev/null || skip "there are no namespaces of pids here"
    script app "unshare --pid --fork --kill-child '$programs/nvtx_only' 0 \$1 >/dev/null 2>&1 3>&- &" 'echo $! >pid' \
        'while ! ls "$GPUTRACE_SPOOL"/*.spool >/dev/null 2>&1; do sleep 0.05; done'
    traced ./app 60000
    kill "$(cat pid)"
    said '1 process of'
    said 'still runs'
    jq -e '[.gputrace.processes[].state] == ["still runs"]' trace.json
    traced --wait=all ./app 1000
    jq -e '[.gputrace.processes[].state] == ["finished"]' trace.json
    assert_equal "$(ranges trace.json)" 1
}

@test "--wait=all ends when it is asked to" {
    script app "'$programs/nvtx_only' 0 60000 >/dev/null 2>&1 &" 'echo $! >pid' \
        'while ! ls "$GPUTRACE_SPOOL"/*.spool >/dev/null 2>&1; do sleep 0.05; done' 'touch ready' 'exit 3'
    beside "$gputrace" run --wait=all -v ./app 2>said
    eventually grep -q 'waiting for 1 more process' said
    kill -TERM "$launcher"
    ended_with 3
    kill "$(cat pid)"
    jq -e .traceEvents trace.json
}

@test "--children=no: the first process alone" {
    traced --children=no "$programs/tree" fork
    sound
    assert_equal "$(workers)" 1
    assert_equal "$(jq '.gputrace.processes | length' trace.json)" 1
    traced --children=no "$programs/tree" spawn "$programs/plain" 0
    assert_equal "$(workers)" 1
    # An exec is no child.
    traced --children=no "$programs/bare_exec" "$programs/plain" 0
    traced --children=no sh -c "exec '$programs/plain' 0"
    assert_equal "$(workers)" 1
    run -125 "$gputrace" run --children=some true
    run -125 "$gputrace" run --wait=never true
}

@test "200 short processes" {
    traced "$programs/tree" many 200
    sound
    assert_equal "$(workers)" 200
    assert_equal "$(jq '.gputrace.processes | length' trace.json)" 200
}

@test "processes of a job are named by rank, command and pid" {
    script app "RANK=0 LOCAL_RANK=0 WORLD_SIZE=4 '$programs/plain' 0 &" "RANK=1 LOCAL_RANK=1 WORLD_SIZE=4 '$programs/plain' 0 &" \
        "OMPI_COMM_WORLD_RANK=2 '$programs/plain' 0 &" "SLURM_PROCID=3 SLURM_LOCALID=1 '$programs/plain' 0 &" \
        "RANK=none '$programs/plain' 0 &" wait
    traced ./app
    sound
    for rank in 0 1 2 3; do
        jq -e --arg name "rank $rank: plain 0" '[.traceEvents[] | select(.name == "process_name" and .args.name == $name)] | length == 1' trace.json
        jq -e --argjson rank $rank '.gputrace.processes[] | select(.rank == $rank) | .pid as $pid | .gpu_pids[]' trace.json
        # The rows of its GPU name rank and pid.
        jq -e --argjson rank $rank '(.gputrace.processes[] | select(.rank == $rank)) as $process
            | [.traceEvents[] | select(.name == "process_name" and .pid == $process.gpu_pids["0"]) | .args.name]
            == ["rank \($rank): plain (\($process.pid)) GPU 0"]' trace.json
    done
    jq -e '[.gputrace.processes[] | select(.rank == null)] | length == 1' trace.json
    jq -e '.gputrace.processes[] | select(.rank == 3) | .local_rank == 1' trace.json
}

@test "Python's multiprocessing: fork and spawn" {
    command -v python3 >/dev/null || skip "needs python3"
    cat >work.py <<'P'
import ctypes, multiprocessing, sys

def work(number):
    library = ctypes.CDLL(sys.argv[2] if len(sys.argv) > 2 else library_path)
    library.unloaded_work.restype = ctypes.c_uint
    return library.unloaded_work(number)

def start(path):
    global library_path
    library_path = path

if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    with context.Pool(3, start, (sys.argv[2],)) as pool:
        print(sorted(set(pool.map(work, [2] * 12, 1))))
        pool.close()
        pool.join()
P
    for way in fork spawn; do
        python3 work.py $way "$programs/unloaded_library.so" >plain
        traced python3 work.py $way "$programs/unloaded_library.so" >got
        cmp plain got
        sound in_flight # forked workers end by os._exit()
        assert_equal "$(gpu_work)" 72
        jq -e '.gputrace.processes | length >= 1 and length <= 3' trace.json
    done
}

@test "a pid that is used again has rows of its own" {
    [ "$(id -u)" -eq 0 ] || skip "needs root"
    unshare --pid --fork --mount-proc true 2>/dev/null || skip "there are no namespaces of pids here"
    # Two namespaces: the number of the program is 2 in both, or 1.
    script app "unshare --pid --fork --mount-proc '$programs/plain' 0" "unshare --pid --fork --mount-proc '$programs/plain' 0"
    traced ./app
    "$check_trace" --strict trace.json
    assert_equal "$(workers)" 2
    jq -e '[.gputrace.processes[] | .system_pid // .pid] | unique | length == 1' trace.json
    jq -e '[.gputrace.processes[] | .pid] | unique | length == 2' trace.json
}

# The ticks of the trace are as far apart as steady has written to the file "ticks", to half a second.
distances_hold() {
    jq -e --slurpfile numbers ticks '$numbers as $real | [.traceEvents[] | select(.ph == "X" and .cat != null)] as $all
        | [$all[] | select(.name // "" | startswith("tick")) | .ts * 1000] | sort as $seen
        | ($real | length) == 2 * length and ([range(1; length) | ($seen[.] - $seen[. - 1]) as $far
                | $far > $real[2 * .] - $real[2 * . - 1] - 5e8 and $far < $real[2 * . + 1] - $real[2 * . - 2] + 5e8] | all)
            and ([$all[] | .ts + .dur] | max) - ([$all[].ts] | min) < 600e6' trace.json ||
        fail "$STEP_S s: the ticks are not as far apart as they were"
}

# Runs PROGRAM while the host's clock is stepped by so many seconds, when the file "stepped" is made.
traced_stepped() { # SECONDS PROGRAM...
    export STEP_S=$1 STEP_FILE=$PWD/stepped
    shift
    traced env LD_PRELOAD="$programs/stepped_clock_library.so" "$@" >ticks
    distances_hold
}

@test "the host's clock is stepped during the run: distances in the trace stay right" {
    local step started=()
    for step in 3600 -3600 2 -2; do
        (mkdir -- $step && cd -- $step && traced_stepped $step "$programs/steady" 60 50 stepped) 3>&- &
        started+=($!)
    done
    for step in "${started[@]}"; do wait "$step"; done
}

@test "a process that began after the step is on the axis of those before" {
    script app "'$programs/steady' 4 50" 'touch stepped' "'$programs/steady' 4 50"
    traced_stepped -1000 ./app
}

@test "600 short processes, one after another: all are in the trace, on a disk for few of their spools" {
    small_disk 256M
    traced --spool-dir small "$programs/many" 600
    sound
    assert_equal "$(jq '.gputrace.processes | length' trace.json)" 600
    assert_equal "$(jq '[.traceEvents[] | select(.cat == "user_annotation" and .ph == "X")] | length' trace.json)" 600
}

@test "a program that writes anything into its spool while it is read" {
    for i in 1 2 3; do
        timeout 60 "$gputrace" run -o trace.json "$programs/scribble" 2>said
        jq -e '.traceEvents | length > 1000' trace.json >/dev/null
    done
}

@test "a launcher that is killed: processes that had ended by then, and those after it, are all in the trace" {
    mkdir spools
    # shellcheck disable=SC2016 # the shell below is to expand it
    "$gputrace" run -q --keep-running --spool-dir spools -o trace.json sh -c '"$0" 400; touch done' "$programs/many" &
    launcher=$!
    some_ended() { compgen -G 'spools/*/ended.packed'; }
    eventually some_ended
    kill -KILL "$launcher"
    wait "$launcher" || true
    eventually [ -e done ]
    run -0 "$gputrace" recover -o trace.json spools/*
    sound
    assert_equal "$(jq '[.traceEvents[] | select(.cat == "user_annotation" and .ph == "X")] | length' trace.json)" 400
}

@test "as process 1 of a container: orphans do not stay zombies, also while --wait=all waits" {
    unshare --pid --fork --mount-proc true 2>/dev/null || skip "there are no namespaces of pids here"
    # shellcheck disable=SC2016 # the program's shell expands it
    script orphans 'for i in 1 2 3 4 5; do sh -c "sleep 0.05 & exec true"; done' \
        'tries=1200; while ps -e -o comm= | grep -q "^sleep" && [ $tries -gt 0 ]; do sleep 0.05; tries=$((tries - 1)); done' \
        'ps -e -o stat= | grep -c "^Z" >zombies; exit 3'
    run -3 timeout "$limit" unshare --pid --fork --mount-proc "$gputrace" run ./orphans
    assert_equal "$(cat zombies)" 0
    rm zombies
    # They come once the program has ended.
    script app "'$programs/nvtx_only' 0 60000 >/dev/null 2>&1 3>&- &" 'left=$! app=$$' \
        '(while kill -0 $app; do sleep 0.05; done; ./orphans; kill $left) >/dev/null 2>&1 3>&- &' \
        'while ! ls "$GPUTRACE_SPOOL"/*.spool >/dev/null 2>&1; do sleep 0.05; done' 'exit 5'
    run -5 timeout "$limit" unshare --pid --fork --mount-proc "$gputrace" run --wait=all ./app
    assert_equal "$(cat zombies)" 0
}

@test "a process in another time namespace is on the axis of the others, and --delay and --duration hold there" {
    unshare --time --monotonic 100000 true 2>/dev/null || skip "there are no time namespaces here"
    script app "'$programs/steady' 3 50" "unshare --time --monotonic 100000 '$programs/steady' 3 50" \
        "unshare --time --monotonic -100 '$programs/steady' 3 50"
    traced ./app
    jq -e '[.traceEvents[] | select(.name // "" | startswith("tick")) | .ts] | length == 9 and max - min < 30e6' trace.json ||
        fail "the ticks are further apart than they were"
    # By a clock that is that far off, the delay and the duration would be over, or not begin.
    ticks() { jq '[.traceEvents[] | select(.name // "" | startswith("tick"))] | length' trace.json; }
    local option
    for option in --delay=1000:0 --duration=1000:4; do
        traced "${option%:*}" unshare --time --monotonic 100000 "$programs/steady" 4 50
        assert_equal "$option: $(ticks)" "$option: ${option#*:}"
        # The launcher too.
        timeout "$limit" unshare --time --monotonic 5000 "$gputrace" run "${option%:*}" "$programs/steady" 4 50 2>said
        assert_equal "$option: $(ticks)" "$option: ${option#*:}"
    done
}
