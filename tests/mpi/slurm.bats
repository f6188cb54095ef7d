# Jobs of Slurm, whose daemons run on this machine (slurm_daemons).

# bats file_tags=long

load common

has_slurm() { command -v slurmctld >/dev/null && command -v munged >/dev/null; }

before_all() { export SLURM_CONF=$BATS_FILE_TMPDIR/slurm.conf; }

setup_file() {
    if has_slurm && [ "$(id -u)" -eq 0 ]; then
        "$BATS_TEST_DIRNAME/slurm_daemons" start "$BATS_FILE_TMPDIR" 2>"$BATS_FILE_TMPDIR/start" ||
            mv "$BATS_FILE_TMPDIR/start" "$BATS_FILE_TMPDIR/unable"
    fi
}

teardown_file() { "$BATS_TEST_DIRNAME/slurm_daemons" stop "$BATS_FILE_TMPDIR"; }

step() { # ARG-OF-SRUN...
    before_all
    has_slurm || skip "needs Slurm and MUNGE"
    [ ! -e "$BATS_FILE_TMPDIR/unable" ] || skip "Slurm does not start here: $(tail -n 1 "$BATS_FILE_TMPDIR/unable")"
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

@test "report --mpi: tasks over PMIx (Open MPI) and over PMI2 (MPICH) print what one process prints" {
    "$root/tests/cli/ranks_trace" ranks=5 slow=1:1000000 rank%r.json
    "$gputrace" report -f json rank?.json >direct
    mkdir traces && mv rank?.json traces
    use_mpi openmpi
    step --mpi=pmix -n 3 "$gputrace" report -f json --mpi traces | diff direct -
    use_mpi mpich
    step --mpi=pmi2 -n 3 "$gputrace" report -f json --mpi traces | diff direct -
    step --mpi=pmi2 -n 1 "$gputrace" report -f json --mpi traces | diff direct -
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
