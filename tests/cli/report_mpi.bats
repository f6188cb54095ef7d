# gputrace report --mpi: the report of a job by the processes of an MPI program, by Open MPI and by MPICH.

load common

setup_file() {
    mkdir -p "$BATS_FILE_TMPDIR/traces"
    "$root/tests/cli/ranks_trace" ranks=5 slow=1:1000000 "$BATS_FILE_TMPDIR/traces/rank%r.json"
    echo "nothing to read" >"$BATS_FILE_TMPDIR/traces/notes.txt"
}

before_each() {
    case ${sanitizer-} in *tsan*) skip "MPICH does not start under this sanitizer" ;; esac
}

traces() { # the folder
    echo "$BATS_FILE_TMPDIR/traces"
}

open_mpi() { # PROCESSES PROGRAM...
    OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe \
        mpirun.openmpi --allow-run-as-root -n "$@"
}

@test "processes of Open MPI and of MPICH print what one process prints" {
    "$gputrace" report -f json "$(traces)"/*.json >direct
    open_mpi 1 "$gputrace" report -f json --mpi "$(traces)" | diff direct -
    open_mpi 3 "$gputrace" report -f json --mpi "$(traces)" | diff direct -
    mpirun.mpich -n 1 "$gputrace" report -f json --mpi "$(traces)" | diff direct -
    mpirun.mpich -n 3 "$gputrace" report -f json --mpi "$(traces)" | diff direct -
    mpirun.mpich -n 7 "$gputrace" report -f json --mpi "$(traces)" | diff direct -
    jq -e '.ranks | length == 5' direct
}

@test "parts are taken as they are, and filters are applied where traces are read" {
    mkdir parts
    for rank in 0 1 2 3 4; do
        "$gputrace" report --partial -o parts/rank$rank.gpr "$(traces)/rank$rank.json"
    done
    "$gputrace" report -f json "$(traces)"/*.json >direct
    mpirun.mpich -n 2 "$gputrace" report -f json --mpi parts | diff direct -
    "$gputrace" report -f json -r kernels --step=3 "$(traces)"/*.json >direct
    mpirun.mpich -n 2 "$gputrace" report -f json -r kernels --step=3 --mpi "$(traces)" | diff direct -
    jq -e '.kernels[] | select(.name == "gemm") | .count == 5' direct
}

@test "JSON that is not a trace is left out and named; a folder of nothing else is refused" {
    mkdir mixed
    echo '{"learning rate": 0.1, "layers": [1, 2]}' >mixed/config.json
    run -1 mpirun.mpich -n 2 "$gputrace" report --mpi mixed
    assert_output --partial "no trace in 'mixed' on any node"
    cp "$(traces)"/*.json mixed
    "$gputrace" report -f json "$(traces)"/*.json >direct
    for processes in 1 3; do
        mpirun.mpich -n $processes "$gputrace" report -f json --mpi mixed >found 2>said
        diff direct <(sed 's/"mixed"/"traces"/' found)
        grep -F "'mixed/config.json' is JSON but not a trace: left out" said
    done
}

@test "tasks of srun that MPI does not know of are refused, instead of one report by each" {
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    SLURM_STEP_NUM_TASKS=3 run -1 "$gputrace" report --mpi "$(traces)"
    assert_output --partial 'srun started 3 tasks, and MPI knows of one: use srun --mpi=pmix'
    SLURM_STEP_NUM_TASKS=1 run -0 "$gputrace" report -r overview --mpi "$(traces)"
    assert_output --regexp 'Traces +5'
    SLURM_STEP_NUM_TASKS=2 mpirun.mpich -n 1 "$gputrace" report -r overview --mpi "$(traces)" >words
    grep -E 'Traces +5' words
}

@test "Open MPI's processes have a terminal, and their report no colours unless they are asked for" {
    open_mpi 1 "$gputrace" report -r overview --mpi "$(traces)" >words
    assert_equal "$(grep -c $'\e' words)" 0
    open_mpi 1 "$gputrace" report -r overview --color=always --mpi "$(traces)" | grep -q $'\e'
}

@test "a process that cannot read its traces makes the report fail, and leaves nothing behind" {
    mkdir broken kept
    cp "$(traces)"/*.json broken
    head -c 1000 broken/rank3.json >short && mv short broken/rank3.json
    export TMPDIR=$PWD/kept
    run -1 mpirun.mpich -n 3 "$gputrace" report --mpi broken
    grep -F "broken/rank3.json" <<<"$output"
    [ -z "$(find kept -name '*.gpr')" ]
    mkdir empty
    run -1 mpirun.mpich -n 2 "$gputrace" report --mpi empty
    grep -F "no trace in 'empty' on any node" <<<"$output"
    run -2 "$gputrace" report --mpi "$(traces)" "$(traces)/rank0.json"
}

@test "traces of several jobs are reported as without MPI; of parts the message names the files" {
    mkdir jobs
    "$root/tests/cli/ranks_trace" ranks=2 jobs/a%r.json
    "$root/tests/cli/ranks_trace" ranks=3 jobs/b%r.json
    "$gputrace" report -f json jobs/*.json >direct
    for processes in 1 3; do
        open_mpi $processes "$gputrace" report -f json --mpi jobs | diff direct -
    done
    "$gputrace" report --partial -o jobs/b2.gpr jobs/b2.json
    rm jobs/b2.json
    run -1 "$gputrace" report jobs/a0.json jobs/a1.json jobs/b0.json jobs/b1.json jobs/b2.gpr
    said=$output
    run -1 mpirun.mpich -n 2 "$gputrace" report --mpi jobs
    assert_output --partial "$said"
    assert_output --partial "'jobs/b0.json' is not of the job of 'jobs/a0.json'"
}
