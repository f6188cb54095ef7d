# gputrace run --mpi: what MPI's calls say of themselves, with Open MPI and MPICH, and that no program is harmed.

load common

calls_and_communicators() {
    use_mpi "$1"
    compiled calls
    mpirun -n 4 ./calls | sort >without
    "$gputrace" run -q --mpi mpirun -n 4 ./calls | sort >with
    diff without with
    grep -q 'rank 3: no such type' with
    "$check_trace" trace.json >/dev/null
    jq -e '.gputrace.options.mpi == true' trace.json
    mpi_calls trace.json >mpi.json
    # A communicator has one number and one name on all of its ranks, and no other one has them.
    jq -e '[.[] | select(.payload.name)] | (group_by(.payload.name) | map(map(.payload.communicator) | unique | length) | all(. == 1))
        and (group_by(.payload.communicator) | map(map(.payload.name) | unique | length) | all(. == 1))' mpi.json
    # The operation of a number is the same on all ranks, and each rank calls it once. (An intercommunicator has two sides.)
    jq -e '[.[] | select(.payload.sequence != null)] | group_by([.payload.name, .payload.sequence])
        | all((map(.name) | unique | length) == 1 and
              (length == .[0].payload.ranks and (map(.payload.rank) | unique | length) == length
               or (.[0].payload.name | startswith("group")) and length == 4))' mpi.json
    jq -r '[.[].payload | select(.name) | .name] | unique[]' mpi.json | sed 's/group [0-9a-f]*/group/' | LC_ALL=C sort | tr '\n' ' ' >names
    assert_equal "$(cat names)" "group.1 group.1 group.1/1.2 group.2 self 0 self 1 self 2 self 3 world world/1 world/1/1.2 \
world/1/1.2/1 world/1/1.2/2 world/1/1.3 world/1/1.3/1 world/1/1.3/2 world/2 world/3.1 "
}

bytes_peers_and_roots() {
    use_mpi "$1"
    compiled calls
    "$gputrace" run -q --mpi --ranks=0 mpirun -n 4 ./calls >/dev/null
    mpi_calls trace.json | jq -r '.[] | .name + " " + (.payload | del(.communicator, .ranks, .rank) | tojson)' | head -25 >said
    cat >expected <<'S'
MPI_Init_thread null
MPI_Irecv {"name":"world","bytes":400,"peer":-1,"tag":7}
MPI_Isend {"name":"world","bytes":400,"peer":1,"tag":7}
MPI_Waitall {"requests":2}
MPI_Sendrecv {"name":"world","bytes":40,"bytes received":80,"peer":1,"tag":8,"source":3}
MPI_Sendrecv_replace {"name":"world","bytes":12,"bytes received":12,"peer":1,"tag":9,"source":3}
MPI_Send {"name":"world","bytes":40,"peer":3,"tag":11}
MPI_Send {"name":"world","bytes":0,"peer":-2,"tag":0}
MPI_Barrier {"name":"world","sequence":0}
MPI_Bcast {"name":"world","sequence":1,"bytes":24,"root":1}
MPI_Allreduce {"name":"world","sequence":2,"bytes":12}
MPI_Allreduce {"name":"world","sequence":3,"bytes":16}
MPI_Reduce {"name":"world","sequence":4,"bytes":8,"root":0}
MPI_Gather {"name":"world","sequence":5,"bytes":8,"root":0}
MPI_Gatherv {"name":"world","sequence":6,"bytes":4,"bytes received":40,"root":0}
MPI_Scatter {"name":"world","sequence":7,"bytes":8,"root":0}
MPI_Allgather {"name":"world","sequence":8,"bytes":8}
MPI_Allgatherv {"name":"world","sequence":9,"bytes":4,"bytes received":40}
MPI_Alltoall {"name":"world","sequence":10,"bytes":12}
MPI_Alltoallv {"name":"world","sequence":11,"bytes":32,"bytes received":32}
MPI_Reduce_scatter {"name":"world","sequence":12,"bytes":8,"bytes sent":32}
MPI_Reduce_scatter_block {"name":"world","sequence":13,"bytes":12}
MPI_Scan {"name":"world","sequence":14,"bytes":16}
MPI_Iallreduce {"name":"world","sequence":15,"bytes":20}
MPI_Wait null
S
    diff expected said
    jq -e '[.gputrace.processes[].rank] == [0]' trace.json
    # Its payload has the bytes of all ranks, that of MPI_Alltoall those of one.
    assert_equal "$(jq -c '[.traceEvents[] | select(.args.domain == "MPI" and (.name | startswith("MPI_Alltoall")))
        | .args | [."Collective name", ."In msg nelems", ."Out msg nelems"]] | .[0:2]' trace.json)" '[["all_to_all",48,48],["all_to_allv",32,32]]'
}

# [operation, bytes in, bytes out, from, to] of each rank, in order.
shares_of_different_sizes() {
    use_mpi "$1"
    compiled shares
    "$gputrace" run -q --mpi mpirun -n 3 ./shares
    "$check_trace" trace.json >/dev/null
    local rank
    for rank in 0 1 2; do
        jq -c --argjson rank "$rank" '(.gputrace.processes[] | select(.rank == $rank) | .pid) as $pid
            | [.traceEvents[] | select(.pid == $pid and .args["Collective name"] != null)] | sort_by(.ts)[] | .args
            | [.["Collective name"], .["In msg nelems"], .["Out msg nelems"], .["Src Rank"], .["Dst Rank"]]' trace.json
    done >said
    # the root alone knows what all ranks give or get
    diff - said <<'S'
["sendrecv",8,12,2,1]
["gather",4,null,null,null]
["scatter",null,4,null,null]
["_allgather_base",4,24,null,null]
["_allgather_base",4,24,null,null]
["_reduce_scatter_base",24,4,null,null]
["all_to_allv",16,16,null,null]
["sendrecv",8,12,0,2]
["gather",8,24,null,null]
["scatter",24,8,null,null]
["_allgather_base",8,24,null,null]
["_allgather_base",8,24,null,null]
["_reduce_scatter_base",24,8,null,null]
["all_to_allv",16,16,null,null]
["sendrecv",8,12,1,0]
["gather",12,null,null,null]
["scatter",null,12,null,null]
["_allgather_base",12,24,null,null]
["_allgather_base",12,24,null,null]
["_reduce_scatter_base",24,12,null,null]
["all_to_allv",16,16,null,null]
S
    "$gputrace" report -r comm --format=json trace.json | jq -e '[.comm[] | [.operation, .size_bytes]] | sort ==
        [["allgather", 24], ["alltoall", 16], ["gather", 24], ["reducescatter", 24], ["scatter", 24]]'
}

# The same program with the modules mpi and mpi_f08: what rank 0 calls, once each.
programs_in_fortran() {
    use_mpi "$1"
    script bin/mpif90 "exec mpif90.$1 \"\$@\""
    local module
    cat >expected <<'S'
MPI_Init_thread null
MPI_Irecv {"name":"world","ranks":3,"rank":0,"bytes":20,"peer":-1,"tag":7}
MPI_Isend {"name":"world","ranks":3,"rank":0,"bytes":20,"peer":1,"tag":7}
MPI_Waitall {"requests":2}
MPI_Sendrecv {"name":"world","ranks":3,"rank":0,"bytes":8,"bytes received":16,"peer":1,"tag":8,"source":2}
MPI_Barrier {"name":"world","ranks":3,"rank":0,"sequence":0}
MPI_Allreduce {"name":"world","ranks":3,"rank":0,"sequence":1,"bytes":32}
MPI_Bcast {"name":"world","ranks":3,"rank":0,"sequence":2,"bytes":24,"root":1}
MPI_Gatherv {"name":"world","ranks":3,"rank":0,"sequence":3,"bytes":4,"bytes received":24,"root":0}
MPI_Alltoallw {"name":"world","ranks":3,"rank":0,"sequence":4,"bytes":12,"bytes received":12}
MPI_Comm_split {"name":"world","ranks":3,"rank":0}
MPI_Comm_dup {"name":"world/1.0","ranks":2,"rank":0}
MPI_Reduce {"name":"world/1.0/1","ranks":2,"rank":0,"sequence":0,"bytes":8,"root":0}
MPI_Comm_free null
MPI_Send {"name":"world/1.0","ranks":2,"rank":0,"bytes":0,"peer":-2,"tag":3}
MPI_Isend {"name":"world","ranks":3,"rank":0,"bytes":8,"peer":1,"tag":9}
MPI_Mprobe {"name":"world","ranks":3,"rank":0,"peer":2,"tag":9}
MPI_Mrecv {"name":"world","ranks":3,"rank":0,"bytes":8,"peer":2,"tag":9}
MPI_Wait null
MPI_Win_allocate {"name":"world","ranks":3,"rank":0}
MPI_Win_fence {"name":"world","ranks":3,"rank":0}
MPI_Put {"name":"world","ranks":3,"rank":0,"bytes":12,"peer":1}
MPI_Win_fence {"name":"world","ranks":3,"rank":0}
MPI_Win_free {"name":"world","ranks":3,"rank":0}
MPI_File_open {"name":"world","ranks":3,"rank":0}
MPI_File_set_view {"name":"world","ranks":3,"rank":0}
MPI_File_write {"name":"world","ranks":3,"rank":0,"bytes":8}
MPI_File_close {"name":"world","ranks":3,"rank":0}
MPI_Finalize null
S
    for module in PLAIN F08; do
        mpif90 -cpp -fallow-argument-mismatch -ffree-line-length-none "-D$module" -o fortran "$BATS_TEST_DIRNAME/programs/fortran.f90"
        mpirun -n 3 ./fortran "$PWD/file.without" | sort >without
        "$gputrace" run -q --mpi -o "$module.json" mpirun -n 3 ./fortran "$PWD/file.with" | sort >with
        diff without with
        cmp file.without file.with
        rm file.without file.with
        assert_equal "$(wc -l <with)" 3
        "$check_trace" "$module.json" >/dev/null
        jq -r '(.gputrace.processes[] | select(.rank == 0) | .pid) as $pid | [.traceEvents[]
            | select(.args.domain == "MPI" and .pid == $pid)] | sort_by(.ts)[]
            | .name + " " + (.args.payload | del(.communicator) | tojson)' "$module.json" >said
        diff expected said
    done
}

# Python's modules of MPI are loaded like this one.
loaded_out_of_sight() {
    use_mpi "$1"
    compiled module.so -shared -fPIC
    cc -o loader "$BATS_TEST_DIRNAME/programs/loader.c" -ldl
    run -0 "$gputrace" run -q --mpi mpirun -n 2 ./loader ./module.so
    assert_line "rank 0: 2"
    assert_line "rank 1: 2"
    mpi_calls trace.json | jq -e '[.[] | select(.name == "MPI_Allreduce") | .payload | [.name, .rank, .bytes]] | sort
        == [["world", 0, 4], ["world", 1, 4]]'
}

# Another tool that is preloaded sees what it saw before, and hides nothing.
beside_another_tool() {
    use_mpi "$1"
    compiled tool.so -shared -fPIC
    compiled tool_program
    LD_PRELOAD=$PWD/tool.so mpirun -n 2 ./tool_program | sort >without
    LD_PRELOAD=$PWD/tool.so "$gputrace" run -q --mpi mpirun -n 2 ./tool_program | sort >with
    diff without with
    printf 'rank %d: 2 barriers, 1 broadcast\n' 0 1 | diff - with
    mpi_calls trace.json | jq -c '[.[] | select(.payload.rank != 1)] | map(.name)' >names
    assert_equal "$(jq -c '(.[0:1] + (. - ["MPI_Init", "MPI_Finalize"]))' names)" \
        '["MPI_Init","MPI_Barrier","MPI_Barrier","MPI_Bcast"]'
    jq -e '[.traceEvents[] | select(.name == "MPI_Finalize")] | length == 2' trace.json
}

@test "Open MPI: a tool that is preloaded, and wraps MPI by PMPI, sees each call, too" { beside_another_tool openmpi; }
@test "MPICH: a tool that is preloaded, and wraps MPI by PMPI, sees each call, too" { beside_another_tool mpich; }
@test "Open MPI: the same communicators and sequences on all ranks, the same results" { calls_and_communicators openmpi; }
@test "MPICH: the same communicators and sequences on all ranks, the same results" { calls_and_communicators mpich; }
@test "Open MPI: bytes, peers, tags, roots" { bytes_peers_and_roots openmpi; }
@test "MPICH: bytes, peers, tags, roots" { bytes_peers_and_roots mpich; }
@test "Open MPI: what ranks with shares of different sizes give and get" { shares_of_different_sizes openmpi; }
@test "MPICH: what ranks with shares of different sizes give and get" { shares_of_different_sizes mpich; }
@test "Open MPI: programs in Fortran, with the modules mpi and mpi_f08" { programs_in_fortran openmpi; }
@test "MPICH: programs in Fortran, with the modules mpi and mpi_f08" { programs_in_fortran mpich; }
@test "Open MPI: a library that the program loads out of sight calls MPI" { loaded_out_of_sight openmpi; }
@test "MPICH: a library that the program loads out of sight calls MPI" { loaded_out_of_sight mpich; }

@test "a program without MPI runs the same, and one that looks for MPI gets an error" {
    "$gputrace" run -q --mpi "$programs/nvtx_only" >out
    assert_equal "$(cat out)" done
    jq -e '[.traceEvents[] | select(.cat == "user_annotation") | .name] | unique == ["only"]' trace.json
    cc -o loader "$BATS_TEST_DIRNAME/programs/loader.c" -ldl
    assert_equal "$(./loader)" "no MPI"
    assert_equal "$("$gputrace" run -q --mpi -o none.json ./loader)" "MPI cannot start"
}

@test "what was preloaded before stays, behind the library; without --mpi nothing is preloaded" {
    script app 'echo "$LD_PRELOAD"'
    assert_equal "$(LD_PRELOAD=libdl.so.2 "$gputrace" run -q --mpi ./app)" "$build/libgputrace-preload/\$LIB/libgputrace-mpi.so.0:libdl.so.2"
    assert_equal "$("$gputrace" run -q ./app)" ''
}

@test "a program of 32 bits writes what it writes untraced: the dynamic loader has no error to print" {
    printf '%s\n' 'long write(int, const void *, unsigned); void _exit(int);' \
        'void _start(void) { write(1, "hello\n", 6); _exit(7); }' >old.c
    gcc -m32 -nostdlib -fno-stack-protector -no-pie -Wl,-dynamic-linker,/lib/ld-linux.so.2 -o old old.c \
        "$(find /lib32/libc.so.6 /lib/i386-linux-gnu/libc.so.6 2>/dev/null | head -n 1)"
    run -7 --separate-stderr "$gputrace" run -q --mpi ./old
    assert_equal "$output" hello
    assert_equal "$(grep -v '^gputrace: ' <<<"$stderr")" ''
}

@test "--mpi without NVTX is refused" {
    run -125 "$gputrace" run --mpi --trace=kernel touch started
    assert_output --partial "--mpi: MPI calls are recorded as NVTX ranges, which --trace leaves out"
    [ ! -e started ]
}
