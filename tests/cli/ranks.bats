# gputrace run for ranks of a job: their numbers in the trace, names of files, --ranks. What starts jobs is played by its
# variables here; tests/mpi has Open MPI, MPICH and Slurm.

load common

before_each() {
    programs=$build/tests/robust/programs
    unset "${!OMPI_@}" "${!PMI_@}" "${!PMIX_@}" "${!SLURM_@}" LOCAL_RANK GROUP_RANK
    # A job of four ranks, as torchrun starts it.
    script torchrun 'for rank in 0 1 2 3; do' \
        'RANK=$rank LOCAL_RANK=$rank WORLD_SIZE=4 GROUP_RANK=0 "$@" &' 'done' wait
}

@test "ranks that share a folder write traces of their own, with their numbers" {
    for rank in 0 1 2; do
        RANK=$rank WORLD_SIZE=3 LOCAL_RANK=$((rank + 10)) GROUP_RANK=5 "$gputrace" run "$programs/nvtx_only" 2>said.$rank &
    done
    wait
    assert_equal "$(echo *.json)" "trace.0.json trace.1.json trace.2.json"
    for rank in 0 1 2; do
        "$check_trace" trace.$rank.json
        grep -q "trace.$rank.json" said.$rank
        grep -q '"distributedInfo": *{"rank": '$rank', "world_size": 3}' trace.$rank.json
        jq -e --argjson rank $rank --arg host "$(hostname)" '.gputrace.processes == [.gputrace.processes[0]]
            and (.gputrace.processes[0] | .rank == $rank and .local_rank == $rank + 10 and .world_size == 3
                 and .node_rank == 5 and .host == $host)' trace.$rank.json
    done
}

@test "a program without a rank has the host in its trace, and no rank" {
    "$gputrace" run -q "$programs/nvtx_only"
    jq -e --arg host "$(hostname)" '.gputrace.processes[0] | .host == $host and has("rank") == false
        and has("world_size") == false and has("node_rank") == false' trace.json
    jq -e 'has("distributedInfo") == false' trace.json
}

@test "%r, %l and %w are the rank's numbers; without a rank the error says what to do" {
    OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_SIZE=8 OMPI_COMM_WORLD_LOCAL_RANK=1 \
        "$gputrace" run -q -o 'r%r-%l-of-%w.json' "$programs/nvtx_only"
    [ -e r3-1-of-8.json ]
    run -125 "$gputrace" run -o 'r%r.json' touch started
    assert_output --partial "this process has no rank: start gputrace itself by mpirun, srun or 'torchrun --no-python'"
    [ ! -e started ]
    PMIX_RANK=1 run -125 "$gputrace" run -o 'r%w.json' true
    assert_output --partial "does not say how many ranks there are"
}

@test "backend: nccl if NCCL's ranges were recorded" {
    RANK=0 WORLD_SIZE=1 "$gputrace" run -q "$programs/nvtx_only" 0 0 NCCL
    grep -q '"distributedInfo": *{"backend": "nccl", "rank": 0, "world_size": 1}' trace.json
    RANK=0 WORLD_SIZE=1 "$gputrace" run -q "$programs/nvtx_only" 0 0 NCCLX
    grep -q '"distributedInfo": *{"rank": 0, "world_size": 1}' trace.json
}

@test "--ranks: what starts other ranks becomes the program and writes nothing" {
    script app 'echo $$' 'env | grep -E "GPUTRACE_(SPOOL|LIBRARY)|INJECTION64"' "'$programs/nvtx_only'" 'exit 3'
    export SLURM_NTASKS=8
    SLURM_PROCID=5 beside "$gputrace" run --ranks=0,7 ./app >said 2>&1
    local pid=$launcher
    ended_with 3
    assert_equal "$(cat said)" "$pid"$'\ndone'
    assert_equal "$(echo *.json)" '*.json'
    SLURM_PROCID=7 run "$gputrace" run --ranks=0,7 ./app
    assert_equal "$status" 3
    jq -e '.gputrace.options.ranks == "0,7" and [.gputrace.processes[].rank] == [7]' trace.7.json
}

@test "--ranks: of the ranks that one launcher records only these are recorded" {
    run --separate-stderr "$gputrace" run ./torchrun "$programs/nvtx_only"
    assert_equal "$status" 0
    jq -e '([.gputrace.processes[].rank] | sort) == [0, 1, 2, 3] and has("distributedInfo") == false' trace.json
    run --separate-stderr "$gputrace" run --ranks=every:2 ./torchrun "$programs/nvtx_only"
    assert_equal "$status" 0
    assert_equal "$(wc -l <<<"$stderr")" 1
    "$check_trace" trace.json
    jq -e '([.gputrace.processes[].rank] | sort) == [0, 2] and .gputrace.options.ranks == "every:2"
        and ([.traceEvents[] | select(.cat == "user_annotation") | .pid] | unique | length) == 2' trace.json
    run --separate-stderr "$gputrace" run --ranks=1 ./torchrun "$programs/nvtx_only"
    grep -q '"distributedInfo": *{"rank": 1, "world_size": 4}' trace.json
}

@test "--ranks: a torchrun in a task of Slurm is not a rank itself" {
    SLURM_PROCID=1 SLURM_NTASKS=2 "$gputrace" run -q --ranks=3 ./torchrun "$programs/nvtx_only"
    jq -e '[.gputrace.processes[].rank] == [3]' trace.1.json
    grep -q '"distributedInfo": *{"rank": 3, "world_size": 4}' trace.1.json
}

@test "--ranks: if no process is one of them, a warning says so" {
    run --separate-stderr -0 "$gputrace" run --ranks=9 ./torchrun "$programs/nvtx_only"
    [[ $stderr = *"no process that used CUDA or NVTX was one of the ranks '9' (--ranks)"* ]]
    run --separate-stderr -0 "$gputrace" run --ranks=9 "$programs/nvtx_only"
    [[ $stderr = *"no process that used CUDA or NVTX was one of the ranks '9' (--ranks)"* ]]
    run -125 "$gputrace" run --ranks=3-1 true
    assert_output --partial "--ranks: '3-1' is not a list of ranks: use numbers, 0-3 or every:8, separated by commas"
}

@test "--ranks: --cpu records the processors of these ranks alone" {
    "$gputrace" run -q --cpu=samples -o probe.json true 2>said || true
    if grep -q 'no CPU samples' said; then skip "perf events are refused here: $(cat said)"; fi
    rm -f probe.json
    script work 'i=0; while [ $i -lt 60000 ]; do i=$((i + 1)); done'
    "$gputrace" run -q --cpu=samples --ranks=2 ./torchrun ./work
    jq -e '([.traceEvents[] | select(.cat == "cpu_sample") | .pid] | unique | length) == 1' trace.json
    "$gputrace" run -q --cpu=samples ./torchrun ./work
    jq -e '([.traceEvents[] | select(.cat == "cpu_sample") | .pid] | unique | length) >= 4' trace.json
}
