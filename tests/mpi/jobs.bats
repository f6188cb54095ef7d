# Jobs of several ranks, started by Open MPI and MPICH in both ways: a trace for each rank, and one for all.

load common

one_trace_for_each_rank() {
    use_mpi "$1"
    run -0 mpirun -n 3 "$gputrace" run -q -o 'rank.%r.of.%w.json' "$samples/vector_add"
    assert_equal "$(echo rank.*)" "rank.0.of.3.json rank.1.of.3.json rank.2.of.3.json"
    local rank
    for rank in 0 1 2; do
        "$check_trace" rank.$rank.of.3.json
        grep -q '"distributedInfo": *{"rank": '$rank', "world_size": 3}' rank.$rank.of.3.json
        jq -e --argjson rank $rank '(.gputrace.processes | length) == 1 and (.gputrace.processes[0]
            | .rank == $rank and .local_rank == $rank and .world_size == 3 and has("host"))
            and ([.traceEvents[] | select(.cat == "kernel")] | length) > 0' rank.$rank.of.3.json
    done
    run -0 mpirun -n 3 "$gputrace" run -q --ranks=1-2 "$programs/nvtx_only"
    assert_equal "$(echo trace.*)" "trace.1.json trace.2.json"
}

one_trace_for_all() {
    use_mpi "$1"
    run -0 "$gputrace" run -q mpirun -n 3 "$samples/vector_add"
    "$check_trace" trace.json
    jq -e '(.gputrace.processes | map(.rank) | sort) == [0, 1, 2] and (.gputrace.processes | map(.local_rank) | sort) == [0, 1, 2]
        and ([.gputrace.processes[].world_size] | unique) == [3] and has("distributedInfo") == false' trace.json
    run -0 "$gputrace" run -q --ranks=every:2 -o some.json mpirun -n 3 "$programs/nvtx_only"
    jq -e '(.gputrace.processes | map(.rank) | sort) == [0, 2]' some.json
    run -3 "$gputrace" run -q mpirun -n 2 "$programs/nvtx_only" 3
}

@test "Open MPI: a trace for each rank" { one_trace_for_each_rank openmpi; }
@test "Open MPI: one trace for all ranks, and mpirun's exit status" { one_trace_for_all openmpi; }
@test "MPICH: a trace for each rank" { one_trace_for_each_rank mpich; }
@test "MPICH: one trace for all ranks, and mpirun's exit status" { one_trace_for_all mpich; }
