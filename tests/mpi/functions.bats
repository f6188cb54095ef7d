# gputrace run --mpi: the calls of MPI 3 and 4 beyond the plain ones, with Open MPI and MPICH.

load common

# What rank RANK calls: "NAME {payload}", without what is the same in each.
said() { # TRACE RANK
    jq -r --argjson rank "$2" '(.gputrace.processes[] | select(.rank == $rank) | .pid) as $pid | [.traceEvents[]
        | select(.args.domain == "MPI" and .pid == $pid)] | sort_by(.ts)[]
        | .name + " " + (.args.payload | if . then del(.communicator, .ranks, .rank) else {} end | tojson)' "$1"
}

# The functions that mpi.h declares and that move data, wait for others, or make what these need.
every_function() {
    use_mpi "$1"
    echo '#include <mpi.h>' >all.c
    mpicc -E all.c | grep -oE '\bMPI_[A-Z][A-Za-z0-9_]+ *\(' | tr -d ' (' | sort -u |
        grep -iE 'send|recv|probe|reduce|scan|bcast|gather|scatter|alltoall|barrier|accumulate|MPI_R?(put|get)(_c)?$|fetch_and|compare_and|pready|parrived|_start|_wait|_(init|init_thread|finalize|abort)$|Win_(create|alloc|free|fence|lock|unlock|flush|post|complete|test|sync)|File_(i?read|i?write|open|close|sync|set_view|set_size|preallocate)|Comm_(dup|idup|create|split|spawn|accept|connect|join|free|disconnect)|Intercomm|Cart_(create|sub)|graph_create' |
        grep -vE 'MPI_T_|Iprobe|Reduce_local|keyval|errhandler|Grequest' >moving
    nm -D --defined-only "$build/libgputrace-mpi.so" | awk '{ print $3 }' | sort >wrapped
    [ "$(wc -l <moving)" -ge "$2" ]
    assert_equal "$(comm -23 moving wrapped)" ''
}

windows_and_files() {
    use_mpi "$1"
    compiled mpi3
    run -0 "$gputrace" run -q --mpi mpirun -n 2 ./mpi3 "$PWD/file"
    "$check_trace" trace.json >/dev/null
    said trace.json 0 >rank.0
    said trace.json 1 >rank.1
    # from the first call that is not a plain send
    diff - <(tail -n +6 rank.0) <<'S'
MPI_Send {"name":"world","bytes":0,"peer":-2,"tag":5}
MPI_Recv {"name":"world","bytes":0,"peer":-2,"tag":5}
MPI_Mprobe {"name":"world","peer":-2,"tag":5}
MPI_Mrecv {"name":"world","bytes":0,"peer":-2,"tag":5}
MPI_Sendrecv {"name":"world","bytes":16,"bytes received":0,"peer":1,"tag":6,"source":-2}
MPI_Send_init {"name":"world","bytes":12,"peer":1,"tag":7}
MPI_Start {"name":"world","bytes":12,"peer":1,"tag":7}
MPI_Recv {"name":"world","bytes":12,"peer":1,"tag":7}
MPI_Wait {}
MPI_Win_allocate {"name":"world"}
MPI_Win_fence {"name":"world"}
MPI_Put {"name":"world","bytes":4,"peer":1}
MPI_Get {"name":"world","bytes":0,"peer":-2}
MPI_Win_fence {"name":"world"}
MPI_Win_lock_all {"name":"world"}
MPI_Fetch_and_op {"name":"world","bytes":4,"peer":0}
MPI_Win_flush_local {"name":"world","peer":0}
MPI_Get_accumulate {"name":"world","bytes":4,"bytes received":4,"peer":0}
MPI_Win_flush_local_all {"name":"world"}
MPI_Compare_and_swap {"name":"world","bytes":4,"peer":0}
MPI_Win_flush {"name":"world","peer":0}
MPI_Rput {"name":"world","bytes":4,"peer":1}
MPI_Wait {}
MPI_Win_sync {"name":"world"}
MPI_Win_unlock_all {"name":"world"}
MPI_Win_free {"name":"world"}
MPI_File_open {"name":"world"}
MPI_File_set_view {"name":"world"}
MPI_File_write_at {"name":"world","bytes":5}
MPI_File_sync {"name":"world"}
MPI_Barrier {"name":"world","sequence":0}
MPI_File_read_at_all {"name":"world","bytes":4}
MPI_File_read_at_all_begin {"name":"world","bytes":3}
MPI_File_read_at_all_end {"name":"world"}
MPI_File_iread_at {"name":"world","bytes":2}
MPI_Wait {}
MPI_File_close {"name":"world"}
MPI_Comm_idup {"name":"world"}
MPI_Wait {}
MPI_Barrier {"name":"world/1","sequence":0}
MPI_Finalize {}
S
    # The message that a probe found says who sent it, though the probe asked for any.
    diff - <(sed -n 2,8p rank.1) <<'S'
MPI_Mprobe {"name":"world","peer":0,"tag":5}
MPI_Mrecv {"name":"world","bytes":16,"peer":0,"tag":5}
MPI_Mprobe {"name":"world","peer":-1,"tag":-1}
MPI_Imrecv {"name":"world","bytes":16,"peer":0,"tag":6}
MPI_Wait {}
MPI_Mrecv {"name":"world","bytes":16,"peer":0,"tag":7}
MPI_Recv {"name":"world","bytes":16,"peer":0,"tag":8}
S
    # Four pairs, and none with MPI_PROC_NULL: those of the persistent sends have 12 bytes.
    "$gputrace" report -r comm --format=json trace.json >report.json
    jq -e '[.comm[] | select(.size_bytes == 16)] | length == 1 and .[0].count == 4 and .[0].ranks == 2' report.json
    jq -e '[.comm[] | select(.size_bytes == 0)] == []' report.json
    jq -e '[.traceEvents[] | select(.args["Collective name"] != null and .args["Collective name"] != "sendrecv"
        and (.args["Src Rank"] == -2 or .args["Dst Rank"] == -2))] == []' trace.json
}

@test "Open MPI: every function of mpi.h that moves data is recorded" { every_function openmpi 160; }
@test "MPICH: every function of mpi.h that moves data is recorded" { every_function mpich 300; }
@test "Open MPI: windows, files, matched messages, persistent requests, MPI_PROC_NULL" { windows_and_files openmpi; }
@test "MPICH: windows, files, matched messages, persistent requests, MPI_PROC_NULL" { windows_and_files mpich; }

@test "MPICH: counts of 64 bits, partitions and persistent collectives of MPI 4, in the world and in sessions" {
    use_mpi mpich
    compiled mpi4
    local mode
    for mode in world sessions; do
        run -0 "$gputrace" run -q --mpi -o "$mode.json" mpirun -n 2 ./mpi4 "$mode"
        "$check_trace" "$mode.json" >/dev/null
        said "$mode.json" 0 >rank.0
        said "$mode.json" 1 >rank.1
        [ "$(grep -o '"name":"[^"]*"' rank.[01] | cut -d: -f2- | sort -u | wc -l)" = 1 ]
        sed 's/"group [^"]*"/"world"/' rank.0 | grep -vE 'MPI_Init|Session|Finalize|Comm_' >calls
        diff - calls <<'S'
MPI_Allreduce_c {"name":"world","sequence":0,"bytes":8}
MPI_Allgatherv_c {"name":"world","sequence":1,"bytes":4,"bytes received":12}
MPI_Send_c {"name":"world","bytes":12,"peer":1,"tag":5}
MPI_Isendrecv {"name":"world","bytes":4,"bytes received":4,"peer":1,"tag":6,"source":1}
MPI_Wait {}
MPI_Bcast_init {"name":"world","sequence":2,"bytes":20,"root":1}
MPI_Start {"name":"world","bytes":20,"root":1}
MPI_Wait {}
MPI_Psend_init {"name":"world","bytes":32,"peer":1,"tag":7}
MPI_Start {"name":"world","bytes":32,"peer":1,"tag":7}
MPI_Pready {"name":"world","peer":1,"tag":7}
MPI_Pready_range {"name":"world","peer":1,"tag":7}
MPI_Pready_list {"name":"world","peer":1,"tag":7}
MPI_Wait {}
S
        grep -qx 'MPI_Parrived {"name":.*,"peer":0,"tag":7}' rank.1
        "$gputrace" report -r comm --format=json "$mode.json" | jq -e '[.comm[] | [.operation, .size_bytes, .count]] | sort
            == [["allgather", 12, 1], ["allreduce", 8, 1], ["send/recv", 12, 1]]'
    done
    [ "$(sed -n '1s/ .*//p;2s/ .*//p;$s/ .*//p' rank.0 | tr '\n' ' ')" = "MPI_Session_init MPI_Comm_create_from_group MPI_Session_finalize " ]
}

abort() {
    use_mpi "$1"
    compiled abort
    run "$gputrace" run -q --mpi mpirun -n 3 ./abort
    [ "$status" -ne 0 ]
    "$check_trace" trace.json >/dev/null
    jq -e '[.traceEvents[] | select(.name == "MPI_Abort") | .args.payload | [.name, .rank, .code]] == [["world", 1, 37]]' trace.json
    # In most libraries it does not return. In MPICH 4.2 it does, and the rank goes on until it is ended.
    [ "$2" ] || jq -e '[.traceEvents[] | select(.name == "MPI_Abort" and .args["open at end"])] | length == 1' trace.json
}

@test "Open MPI: MPI_Abort is recorded, with rank and code, before it ends the job" { abort openmpi ""; }
@test "MPICH: MPI_Abort is recorded, with rank and code, before it ends the job" { abort mpich "$(mpirun.mpich --version | sed -n "s/ *Version: *4\.[2-9].*/returns/p")"; }

what_is_not_recorded_is_said() {
    use_mpi "$1"
    local text="--mpi: calls of PMPI_Allreduce, MPIX_Send_later are not recorded"
    compiled unrecorded -DEXTENSION -shared -fPIC
    mv unrecorded libextension.so
    compiled unrecorded -L. -lextension -Wl,-rpath,"$PWD"
    run -0 --separate-stderr "$gputrace" run --mpi mpirun -n 2 ./unrecorded
    assert_equal "$(grep -c -- "warning: $text\$" <<<"$stderr")" 1
    jq -e --arg text "$text" '[.gputrace.notes[] | select(.text == $text)] | length == 2' trace.json
    compiled abort
    run --separate-stderr "$gputrace" run --mpi mpirun -n 1 ./abort
    jq -e '[.gputrace.notes[] | select(.text | startswith("--mpi"))] == []' trace.json
}

@test "Open MPI: extensions and PMPI_* that the program imports are said to be not recorded" { what_is_not_recorded_is_said openmpi; }
@test "MPICH: extensions and PMPI_* that the program imports are said to be not recorded" { what_is_not_recorded_is_said mpich; }

# MPICH of Debian cannot spawn here.
@test "Open MPI: spawned processes have a world of their own, with the same number on all of its ranks" {
    use_mpi openmpi
    compiled spawn
    # Spawned processes talk through TCP, where version 5 leaves out the interface that is always there.
    run -0 env OMPI_MCA_btl_tcp_if_include=lo "$gputrace" run -q --mpi mpirun -n 1 ./spawn
    "$check_trace" trace.json >/dev/null
    mpi_calls trace.json | jq -c '[.[] | select(.payload.name) | .payload
        | [(.name | sub(" of .*"; " of …")), .ranks, .rank]] | unique | .[]' >names
    diff - names <<'S'
["parent of …",2,0]
["parent of …",2,1]
["world",1,0]
["world of …",2,0]
["world of …",2,1]
["world/1",1,0]
S
    mpi_calls trace.json | jq -e '[.[] | .payload | select(.name) | [.name, .communicator]] | unique | length == 4'
    "$gputrace" report -r comm --format=json trace.json | jq -e '[.comm[] | select(.operation == "allreduce") | [.count, .ranks]] == [[1, 2]]'
}
