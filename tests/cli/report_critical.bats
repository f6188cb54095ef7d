# The sections `critical-path` and `critical-names`: what decides the length of the run, and the slack of the rest.

load common

# x CATEGORY NAME TID START DURATION [ARGS [PID]]
x() {
    printf '{"ph":"X","cat":"%s","name":"%s","pid":%s,"tid":%s,"ts":%s,"dur":%s,"args":{%s}}\n' "$1" "$2" "${7-1}" "$3" "$4" "$5" "${6-}"
}

# call NAME TID START DURATION [CORRELATION]
call() {
    x cuda_runtime "$1" "$2" "$3" "$4" "\"correlation\":${5-0}"
}

# op CATEGORY NAME STREAM START DURATION CORRELATION [DEVICE]
op() {
    x "$1" "$2" "$3" "$4" "$5" "\"device\":${7-0},\"context\":1,\"stream\":$3,\"correlation\":$6" "${7-0}"
}

# launch CORRELATION TID CALLED STREAM START DURATION NAME: a call of 2 us, and its kernel
launch() {
    call cudaLaunchKernel "$2" "$3" 2 "$1"
    op kernel "$7" "$4" "$5" "$6" "$1"
}

# sync NAME STREAM START DURATION CORRELATION [WAITED_STREAM RECORDED]: CUPTI's record
sync() {
    x cuda_sync "$1" 99 "$3" "$4" "\"device\":0,\"context\":1,\"stream\":$2,\"correlation\":$5,\"wait_on_stream\":${6--1},\"wait_on_cuda_event_record_corr_id\":${7-0}" 0
}

trace() {
    paste -sd, | sed 's/^/{"traceEvents":[/;s/$/]}/' >trace.json
}

# What is on the path, most first; us
path() {
    "$gputrace" report -r critical-path -f json trace.json |
        jq -c '."critical-names"[] | select(.total_ns > 0) | [.kind, .name // "", .total_ns / 1000, .count]'
}

# What is not: kind, name, time and least slack; us
off() {
    "$gputrace" report -r critical-path -f json trace.json |
        jq -c '."critical-names"[] | select((.off_ns // 0) > 0) | [.kind, .name, .off_ns / 1000, .slack_min_ns / 1000]'
}

@test "a thread that waits for each kernel: the kernels, the waits' ends and the host are the path" {
    {
        for i in 0 1 2; do
            launch $((i + 1)) 7 $((i * 200)) 13 $((i * 200 + 5)) 100 work
            call cudaStreamSynchronize 7 $((i * 200 + 3)) 112 $((i + 10))
            sync "Stream Sync" 13 $((i * 200 + 4)) 110 $((i + 10))
        done
    } | trace
    path >got
    diff - got <<'END'
["kernel","work",300,3]
["outside","",170,2]
["return","cudaStreamSynchronize",30,3]
["launch","cudaLaunchKernel",9,3]
["call","cudaLaunchKernel",6,3]
END
}

@test "launches that take longer than their kernels are the path, and the kernels have slack" {
    {
        for i in 0 1 2 3; do
            call cudaLaunchKernel 7 $((i * 50)) 40 $((i + 1))
            op kernel short 13 $((i * 50 + 44)) 5 $((i + 1))
        done
        call cudaDeviceSynchronize 7 195 10 9
    } | trace
    path >got
    diff - got <<'END'
["call","cudaLaunchKernel",160,4]
["outside","",30,3]
["return","cudaDeviceSynchronize",6,1]
["kernel","short",5,1]
["launch","cudaLaunchKernel",4,1]
END
    off >got
    diff - got <<'END'
["kernel","short",15,45]
END
}

@test "of two streams that a third waits for by events, the longer one is the path; the other has the difference as slack" {
    {
        launch 1 7 0 13 5 1000 long
        launch 2 7 10 14 15 300 short
        call cudaEventRecord 7 20 1 3
        call cudaStreamWaitEvent 7 22 1 4
        sync "Stream Wait Event" 15 22 1 4 13 3
        call cudaEventRecord 7 24 1 5
        call cudaStreamWaitEvent 7 26 1 6
        sync "Stream Wait Event" 15 26 1 6 14 5
        launch 7 7 30 15 1007 50 last
        call cudaStreamSynchronize 7 40 1027 8
        sync "Stream Sync" 15 40 1027 8
    } | trace
    path >got
    diff - got <<'END'
["kernel","long",1000,1]
["kernel","last",50,1]
["return","cudaStreamSynchronize",10,1]
["launch","cudaLaunchKernel",3,1]
["between","last",2,1]
["call","cudaLaunchKernel",2,1]
END
    off >got
    sed -n '/short/p' got | diff - <(echo '["kernel","short",300,690]')
}

@test "an operation that was launched after the event was recorded is not waited for" {
    {
        launch 1 7 0 13 5 100 marked
        call cudaEventRecord 7 10 1 2
        launch 3 7 20 13 106 900 later
        call cudaStreamWaitEvent 7 30 1 4
        sync "Stream Wait Event" 14 30 1 4 13 2
        launch 5 7 40 14 107 1000 waiting
        call cudaStreamSynchronize 7 50 1067 6
        sync "Stream Sync" 14 50 1067 6
    } | trace
    path >got
    diff - got <<'END'
["kernel","waiting",1000,1]
["kernel","marked",100,1]
["return","cudaStreamSynchronize",10,1]
["launch","cudaLaunchKernel",3,1]
["between","waiting",2,1]
["call","cudaLaunchKernel",2,1]
END
}

@test "work that had ended before the call that waits for it may last until that call" {
    {
        launch 1 7 0 13 5 10 work
        call cudaStreamSynchronize 7 100 2 2
        sync "Stream Sync" 13 100 2 2
    } | trace
    path >got
    diff - got <<'END'
["outside","",98,1]
["call","cudaStreamSynchronize",2,1]
["call","cudaLaunchKernel",2,1]
END
    off >got
    diff - got <<<'["kernel","work",10,85]'
}

@test "a wait for a stream in which nothing runs is not a wait for another stream's work" {
    {
        launch 1 7 0 13 5 100 work
        call cudaStreamSynchronize 7 50 60 2
        sync "Stream Sync" 14 50 60 2
    } | trace
    path >got
    diff - got <<'END'
["call","cudaStreamSynchronize",60,1]
["outside","",48,1]
["call","cudaLaunchKernel",2,1]
END
}

# two_processes: a process with the thread 7 and another with the thread 8, both with streams 13 and 14 on GPU 0, and
# with the same correlation ids
two_processes() {
    {
        x cuda_runtime cudaLaunchKernel 7 0 2 '"correlation":1' 100
        x kernel other 13 5 500 '"device":0,"context":1,"stream":13,"correlation":1' 101
        x cuda_runtime cudaLaunchKernel 8 100 2 '"correlation":1' 200
        x kernel own 14 105 100 '"device":0,"context":1,"stream":14,"correlation":1' 201
        cat
    } | paste -sd, | sed 's/^/{"gputrace":{"version":"0.1.0","processes":[{"pid":100,"gpu_pids":{"0":101}},{"pid":200,"gpu_pids":{"0":201}}]},"traceEvents":[/;s/$/]}/' >trace.json
}

@test "a wait for a stream is not a wait for a stream of another process with the same number" {
    {
        x cuda_runtime cudaStreamSynchronize 8 300 207 '"correlation":2' 200
        x cuda_sync "Stream Sync" 99 300 207 '"device":0,"context":1,"stream":13,"correlation":2,"wait_on_stream":-1,"wait_on_cuda_event_record_corr_id":0' 201
    } | two_processes
    path >got
    diff - got <<'END'
["outside","",298,2]
["call","cudaStreamSynchronize",207,1]
["call","cudaLaunchKernel",2,1]
END
}

@test "a record of a wait belongs to the call of its process, not to another process's call with the same correlation id" {
    {
        x cuda_runtime cudaOther 7 300 210 '"correlation":2' 100
        x cuda_sync "Stream Sync" 99 302 200 '"device":0,"context":1,"stream":13,"correlation":2,"wait_on_stream":-1,"wait_on_cuda_event_record_corr_id":0' 101
        x cuda_runtime cudaOther 8 301 5 '"correlation":2' 200
    } | two_processes
    path >got
    diff - got <<'END'
["kernel","other",500,1]
["return","cudaOther",5,1]
["launch","cudaLaunchKernel",3,1]
["call","cudaLaunchKernel",2,1]
END
}

@test "a copy that runs beside kernels is not on the path; a copy that the thread waits for is" {
    {
        launch 1 7 0 13 5 500 compute
        call cudaMemcpyAsync 7 10 2 2
        op gpu_memcpy "Memcpy HtoD (Pinned -> Device)" 14 14 200 2
        call cudaMemcpy 7 20 1000 3
        op gpu_memcpy "Memcpy DtoH (Device -> Pageable)" 13 507 500 3
    } | trace
    path >got
    diff - got <<'END'
["copy","Memcpy DtoH (Device -> Pageable)",500,1]
["kernel","compute",500,1]
["return","cudaMemcpy",13,1]
["launch","cudaLaunchKernel",3,1]
["between","Memcpy DtoH (Device -> Pageable)",2,1]
["call","cudaLaunchKernel",2,1]
END
    off >got
    grep -F '["copy","Memcpy HtoD (Pinned -> Device)",200,806]' got
}

@test "a copy engine that another stream uses, and the legacy default stream's barrier, are found by the times" {
    {
        call cudaMemcpyAsync 7 0 2 1
        op gpu_memcpy "Memcpy HtoD (Pinned -> Device)" 13 5 400 1
        call cudaMemcpyAsync 7 5 2 2
        op gpu_memcpy "Memcpy DtoD (Device -> Device)" 14 406 100 2
        call cudaStreamSynchronize 7 10 500 3
        sync "Stream Sync" 14 10 500 3
    } | trace
    path >got
    diff - got <<'END'
["copy","Memcpy HtoD (Pinned -> Device)",400,1]
["copy","Memcpy DtoD (Device -> Device)",100,1]
["return","cudaStreamSynchronize",4,1]
["launch","cudaMemcpyAsync",3,1]
["call","cudaMemcpyAsync",2,1]
["between","Memcpy DtoD (Device -> Device)",1,1]
END
}

# default_stream START DURATION: of another operation. That of the default stream runs from 510 to 610.
default_stream() {
    launch 1 7 0 13 5 500 long
    launch 2 7 5 14 10 50 short
    launch 3 7 10 7 510 100 joining
    launch 4 7 15 14 "$1" "$2" other
    call cudaStreamSynchronize 7 20 600 5
    sync "Stream Sync" 7 20 600 5
}

@test "the legacy default stream waits for the others, unless they ran beside it" {
    default_stream 611 5 | trace
    off >got
    grep -F '["kernel","short",50,445]' got
    default_stream 62 460 | trace
    off >got
    grep -F '["kernel","short",50,98]' got
}

@test "two threads with streams of their own: the one that ends last is the path, the other's work is off it" {
    {
        launch 1 7 0 13 5 1000 slow
        call cudaStreamSynchronize 7 4 1007 2
        sync "Stream Sync" 13 4 1007 2
        launch 3 8 1 14 6 300 quick
        call cudaStreamSynchronize 8 5 304 4
        sync "Stream Sync" 14 5 304 4
    } | trace
    path >got
    diff - got <<'END'
["kernel","slow",1000,1]
["return","cudaStreamSynchronize",6,1]
["launch","cudaLaunchKernel",3,1]
["call","cudaLaunchKernel",2,1]
END
    off >got
    grep -F '["kernel","quick",300,702]' got
}

@test "threads that launch in turn into one stream wait for each other" {
    {
        launch 1 7 0 13 4 5 forward
        launch 2 8 100 13 104 5 backward
        launch 3 8 200 13 204 5 backward
        launch 4 7 300 13 304 5 optimizer
        call cudaDeviceSynchronize 7 303 10 5
    } | trace
    path >got
    diff - got <<'END'
["outside","",294,3]
["call","cudaLaunchKernel",8,4]
["kernel","optimizer",5,1]
["return","cudaDeviceSynchronize",4,1]
["launch","cudaLaunchKernel",2,1]
END
}

@test "in a graph the operation that ended last before decides; a branch that ends earlier has slack" {
    {
        call cudaGraphLaunch 7 0 10 1
        op kernel root 13 15 100 1
        op kernel long 13 116 500 1
        op kernel short 14 117 50 1
        op kernel join 13 618 100 1
        call cudaStreamSynchronize 7 11 720 2
        sync "Stream Sync" 13 11 720 2
    } | trace
    path >got
    diff - got <<'END'
["kernel","long",500,1]
["kernel","join",100,1]
["kernel","root",100,1]
["return","cudaStreamSynchronize",13,1]
["call","cudaGraphLaunch",10,1]
["launch","cudaGraphLaunch",5,1]
["between","join",2,1]
["between","long",1,1]
END
    off >got
    grep -F '["kernel","short",50,449]' got
}

@test "an operation without a call is the beginning of what is known; without operations the host is the path" {
    op kernel alone 13 100 50 9 >one
    call cudaDeviceSynchronize 7 90 70 1 >>one
    call cudaMalloc 7 0 40 2 >>one
    trace <one
    path >got
    diff - got <<'END'
["unknown","",100,1]
["kernel","alone",50,1]
["return","cudaDeviceSynchronize",10,1]
END
    { call cudaMalloc 7 0 40 1 && call cudaFree 7 50 30 2; } | trace
    path >got
    diff - got <<'END'
["call","cudaMalloc",40,1]
["call","cudaFree",30,1]
["outside","",10,1]
END
}

@test "the path of the steps is the run's path in their time, for each step and for the slowest" {
    {
        for i in 0 1 2; do
            x user_annotation "step $i" 7 $((i * 1000)) 900
            launch $((i + 1)) 7 $((i * 1000 + 10)) 13 $((i * 1000 + 15)) $((100 + 300 * (i == 1))) work
            call cudaDeviceSynchronize 7 $((i * 1000 + 15)) 500 $((i + 10))
        done
    } | trace
    "$gputrace" report -r critical-path -f json trace.json |
        jq -c '."critical-path"[] | select(.kind == "kernel") | [.total_ns, .step_ns, .slowest_step_ns]' >got
    diff - got <<<'[600000,200000,100000]'
}

# Of a recorded scene of the sample critical_path: whether OPERATION is on the path, and how long the scene took.
recorded_scene() { # NAME OPERATION
    rm -rf spool && mkdir spool
    tar -C spool -xzf "$root/tests/data/planted/critical-$1.tar.gz"
    "$gputrace" convert -q --force spool scene.json
    "$gputrace" report -r critical-path -f json scene.json |
        jq -r --arg name "$2" '[."critical-names"[] | select(.kind == ("kernel", "outside") and (.name // "" | startswith($name)))]
            | if (map(.total_ns) | add) > 1000000 then "on" else "off" end'
    jq '[.traceEvents[] | select((.cat == "kernel" and .dur > 1000) or (.cat == "user_annotation" and .name == "host"))]
        | (map(.ts + .dur) | max) - (map(.ts) | min)' scene.json
}

@test "an operation on the path that takes 10 ms longer makes the run 10 ms longer; one off the path does not (recorded)" {
    local scene operation path longer
    while read -r scene operation path; do
        run -0 recorded_scene "$scene" "$operation"
        assert_equal "$scene $operation ${lines[0]}" "$scene $operation $path"
        longer=$(recorded_scene "$scene-$operation" "$operation" | tail -n 1)
        awk -v before="${lines[1]}" -v after="$longer" -v path="$path" '
            { grown = after - before; exit path == "on" ? grown < 9500 || grown > 10500 : grown < -500 || grown > 500 }' <<<'' ||
            fail "$scene: ${lines[1]} us, and $longer us when $operation takes 10 ms longer"
    done <<'END'
events longer on
events shorter off
events joining on
loop longer on
loop shorter off
loop host on
overlap shorter off
overlap host on
overlap joining on
barrier longer on
barrier shorter off
barrier joining on
graph root on
graph longer on
graph shorter off
graph joining on
threads longer on
threads shorter off
threads joining on
END
}

@test "what the host does after the last operation and call is on the path" {
    {
        launch 1 7 0 13 5 100 work
        x user_annotation after 7 110 90
    } | trace
    path >got
    diff - got <<'END'
["kernel","work",100,1]
["outside","after",90,1]
["outside","",5,1]
["launch","cudaLaunchKernel",3,1]
["call","cudaLaunchKernel",2,1]
END
    { op kernel alone 13 0 50 1 && x user_annotation after 7 60 40; } | trace
    path >got
    diff - got <<'END'
["kernel","alone",50,1]
["outside","",50,1]
END
}

@test "the path of a part of the trace adds up to that part" {
    for i in 0 1 2 3; do
        launch $((i + 1)) 7 $((i * 250)) 13 $((i * 250 + 5)) 100 work
        call cudaStreamSynchronize 7 $((i * 250 + 3)) 112 $((i + 10))
    done | trace
    "$gputrace" report -r critical-path -f json --from=400us --to=800us trace.json |
        jq -c '[."critical-names"[].total_ns] | add' >got
    diff - got <<<'400000'
}

@test "the time of the host on the path goes to the innermost range or operator" {
    {
        x user_annotation outer 7 0 100
        x user_annotation inner 7 20 30
        x cpu_op aten::mm 7 60 20
        call cudaMalloc 7 0 10 1
        call cudaFree 7 90 10 2
    } | trace
    path >got
    diff - got <<'END'
["outside","outer",30,3]
["outside","inner",30,1]
["outside","aten::mm",20,1]
["call","cudaFree",10,1]
["call","cudaMalloc",10,1]
END
}

# Whatever a trace holds, the parts add up to the run.
adds_up() {
    "$gputrace" report -r overview,critical-path -f json "$1" >report.json
    jq -e '([."critical-path"[].total_ns] | add) as $sum | ([."critical-names"[].total_ns] | add) == $sum and
           (([."critical-path"[].share_percent] | add) - 100 | fabs) < 0.001' report.json
}

@test "the parts add up to the run in traces of the samples" {
    need_simulated
    local sample
    for sample in vector_add streams_events graphs threads launches devices; do
        SIMGPU_DEVICES=2 "$gputrace" run -o "$sample.json" "$samples/$sample" >/dev/null 2>&1
        adds_up "$sample.json"
    done
    for sample in events loop overlap barrier graph threads; do
        "$gputrace" run -o "$sample.json" "$samples/critical_path" "$sample" >statement
        "$check_trace" --strict --expect statement "$sample.json"
        adds_up "$sample.json"
    done
}
