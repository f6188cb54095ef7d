# Jobs of Slurm: its daemons run on this machine as root, with a folder, a key and ports of their own.

load common

before_all() { export SLURM_CONF=$BATS_FILE_TMPDIR/slurm.conf; }

# Each daemon ends after ten minutes by itself, should nobody stop it.
daemon() { # NAME ARG...
    timeout 600 "$@" </dev/null >>"$BATS_FILE_TMPDIR/$1.out" 2>&1 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&- &
    echo $! >>"$BATS_FILE_TMPDIR/daemons"
}

write_conf() { # PORT
    local host
    host=$(hostname)
    cat >"$SLURM_CONF" <<C
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthInfo=socket=$BATS_FILE_TMPDIR/munge
SlurmctldPort=$1
SlurmdPort=$(($1 + 1))
StateSaveLocation=$BATS_FILE_TMPDIR/state
SlurmdSpoolDir=$BATS_FILE_TMPDIR/spool
SlurmctldPidFile=$BATS_FILE_TMPDIR/slurmctld.pid
SlurmdPidFile=$BATS_FILE_TMPDIR/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/linear
SlurmdParameters=config_overrides
ReturnToService=2
NodeName=$host NodeAddr=127.0.0.1 CPUs=4
PartitionName=all Nodes=ALL Default=YES State=UP
C
}

# The last one first: each needs those before it until it has ended.
stop_daemons() {
    local pid
    [ -e "$BATS_FILE_TMPDIR/daemons" ] || return 0
    for pid in $(tac "$BATS_FILE_TMPDIR/daemons"); do
        kill "$pid" 2>/dev/null || true
        eventually is_gone "$pid" || kill -KILL "$pid" || true
    done
    rm "$BATS_FILE_TMPDIR/daemons"
}

is_gone() { ! kill -0 "$1" 2>/dev/null; } # PID
no_steps() { [ -z "$(squeue --noheader --steps --format=%i 2>/dev/null)" ]; }

# An allocation of the whole node, in which tests run steps; its number is in `job`.
allocate() {
    eventually sinfo --noheader --states=idle --format=%D 2>/dev/null | grep -q 1 || return 1
    timeout 20 salloc --quiet --no-shell --ntasks=4 --job-name=tests 2>>"$BATS_FILE_TMPDIR/salloc" || return 1
    squeue --noheader --format=%i >"$BATS_FILE_TMPDIR/job"
}

# Ports may be another's: then once more.
start_slurm() {
    local try
    head -c 1024 /dev/urandom >"$BATS_FILE_TMPDIR/key"
    chmod 400 "$BATS_FILE_TMPDIR/key"
    mkdir "$BATS_FILE_TMPDIR/state" "$BATS_FILE_TMPDIR/spool"
    for try in 1 2 3; do
        write_conf $((20000 + RANDOM % 20000))
        daemon munged --foreground --force --key-file="$BATS_FILE_TMPDIR/key" --socket="$BATS_FILE_TMPDIR/munge" \
            --pid-file="$BATS_FILE_TMPDIR/munged.pid" --log-file="$BATS_FILE_TMPDIR/munged.log" --seed-file=/dev/null
        eventually [ -S "$BATS_FILE_TMPDIR/munge" ] || true
        daemon slurmctld -D -c
        daemon slurmd -D -c
        if allocate; then return; fi
        stop_daemons
        sleep 1
    done
    tail -n 20 "$BATS_FILE_TMPDIR"/*.out >&2
    return 1
}

setup_file() {
    before_all
    command -v slurmctld >/dev/null && command -v munged >/dev/null || return 0
    [ "$(id -u)" -ne 0 ] || start_slurm
}

teardown_file() {
    before_all
    if [ -e "$BATS_FILE_TMPDIR/job" ]; then
        timeout 20 scancel --signal=KILL "$(cat "$BATS_FILE_TMPDIR/job")" || true
        eventually no_steps || true
        timeout 20 scancel "$(cat "$BATS_FILE_TMPDIR/job")" || true
    fi
    stop_daemons
}

step() { # ARG-OF-SRUN...
    before_all
    command -v slurmctld >/dev/null && command -v munged >/dev/null || skip "needs Slurm and MUNGE"
    [ -e "$BATS_FILE_TMPDIR/job" ] || skip "Slurm's daemons start as root alone"
    timeout 60 srun --jobid="$(cat "$BATS_FILE_TMPDIR/job")" --overlap "$@"
}

@test "each task writes a trace with its rank, rank on the host, number of ranks and of the host" {
    run -0 step -n 3 "$gputrace" run -q "$samples/vector_add"
    assert_equal "$(echo trace.*)" "trace.0.json trace.1.json trace.2.json"
    local rank
    for rank in 0 1 2; do
        "$check_trace" trace.$rank.json >/dev/null
        jq -e --argjson rank $rank '[.gputrace.processes[] | [.rank, .local_rank, .world_size, .node_rank]]
            == [[$rank, $rank, 3, 0]] and ([.traceEvents[] | select(.cat == "kernel")] | length) > 0' trace.$rank.json
    done
}

@test "--ranks: other tasks run as without gputrace" {
    run -0 step -n 4 "$gputrace" run -o 'rank.%r.json' --ranks=every:2 "$programs/nvtx_only"
    assert_equal "$(echo rank.*)" "rank.0.json rank.2.json"
    assert_equal "$(grep -c '^done$' <<<"$output")" 4
    assert_equal "$(grep -c '^gputrace: ' <<<"$output")" 2
}

@test "one gputrace around srun records the tasks of its own host" {
    before_all
    run -0 step -n 1 true
    export SLURM_JOB_ID
    SLURM_JOB_ID=$(cat "$BATS_FILE_TMPDIR/job")
    run -0 "$gputrace" run -q srun --overlap -n 2 "$programs/nvtx_only"
    jq -e '(.gputrace.processes | map(.rank) | sort) == [0, 1]' trace.json
}

@test "MPICH over PMI2: --mpi" {
    use_mpi mpich
    mpicc -o calls "$BATS_TEST_DIRNAME/programs/calls.c"
    run -0 step --mpi=pmi2 -n 4 "$gputrace" run -q --mpi -o 'rank.%r.json' ./calls
    assert_line "rank 3: no such type"
    jq -s -e 'map([.traceEvents[] | select(.name == "MPI_Alltoall") | .args.payload.communicator] | .[0]) | unique | length == 1' rank.?.json
    jq -s -e 'map(.gputrace.processes[0].rank) == [0, 1, 2, 3]' rank.?.json
}

# scancel kills gputrace, too, which may have written the trace by then.
@test "after scancel the records of each task are there, and recover writes its trace" {
    local number folder
    before_all
    script app "'$programs/nvtx_only'" "touch started.\$SLURM_PROCID" 'exec sleep 60'
    step -n 2 "$gputrace" run -q ./app >said 2>&1 3>&- &
    launcher=$!
    eventually [ -e started.0 ] && eventually [ -e started.1 ]
    number=$(squeue --steps --noheader --format=%i | grep '\.[0-9]*$' | sort -t. -k2n | tail -n 1)
    scancel "$number"
    wait "$launcher" || true
    launcher=
    for folder in "$TMPDIR"/gputrace-*; do
        [ ! -d "$folder" ] || "$gputrace" recover -q "$folder"
    done
    jq -s -e 'map(.gputrace.processes[0].rank) == [0, 1]' trace.0.json trace.1.json
}
