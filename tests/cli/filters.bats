# gputrace report with filters: figures that were worked out by hand.

load common

data=$root/tests/data
kineto=$data/kineto/kineto-train-h200.json.gz
memory=$data/report/memory.json

report() { # SECTION [OPTION...]: the section's rows as JSON
    local section=$1
    shift
    "$gputrace" report -r "$(section_of "$section")" --format=json "$@" trace.json | jq -c --arg section "$section" '.[$section]'
}

# "alpha 3 90000" for each kernel: calls and ns.
kernels() { # [OPTION...]
    report kernels "$@" | jq -r 'map("\(.name | capture("(?<n>alpha|beta|gamma)").n) \(.calls) \(.total_ns)") | sort | join("; ")'
}

item() { # NAME [OPTION...]: of the overview
    local name=$1
    shift
    report overview "$@" | jq -r --arg name "$name" '.[] | select(.item == $name) | .value'
}

# Process 100 on GPU 0 has three steps of 100 us. In each, 15 us after its start, it launches a kernel that runs from 90
# to 120 us, so beyond the step. Its other thread copies once. Process 200 on GPU 1 has two steps and launches once. The
# call of the kernel gamma is not known.
before_each() {
    cat >trace.json <<'END'
{"baseTimeNanoseconds": 1758000000000000000,
"gputrace": {"version": "0.1.0", "processes": [{"pid": 100, "gpu_pids": {"0": 0}}, {"pid": 200, "gpu_pids": {"1": 1}}]},
"traceEvents": [
{"ph":"M","name":"process_name","pid":100,"tid":100,"ts":0.000,"args":{"name":"app"}},
{"ph":"M","name":"process_name","pid":200,"tid":200,"ts":0.000,"args":{"name":"other"}},
{"ph":"M","name":"process_labels","pid":0,"tid":0,"ts":0.000,"args":{"labels":"GPU 0"}},
{"ph":"M","name":"process_labels","pid":1,"tid":1,"ts":0.000,"args":{"labels":"GPU 1"}},
{"ph":"X","cat":"user_annotation","name":"step","pid":100,"tid":100,"ts":1000.000,"dur":100.000},
{"ph":"X","cat":"user_annotation","name":"inner","pid":100,"tid":100,"ts":1010.000,"dur":20.000},
{"ph":"X","cat":"user_annotation","name":"inner","pid":100,"tid":100,"ts":1040.000,"dur":20.000},
{"ph":"X","cat":"user_annotation","name":"step","pid":100,"tid":100,"ts":1100.000,"dur":100.000},
{"ph":"X","cat":"user_annotation","name":"inner","pid":100,"tid":100,"ts":1110.000,"dur":20.000},
{"ph":"X","cat":"user_annotation","name":"part/2","pid":100,"tid":100,"ts":1140.000,"dur":20.000},
{"ph":"X","cat":"user_annotation","name":"step","pid":100,"tid":100,"ts":1200.000,"dur":100.000},
{"ph":"X","cat":"user_annotation","name":"inner","pid":100,"tid":100,"ts":1210.000,"dur":20.000},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":100,"tid":100,"ts":1015.000,"dur":5.000,"args":{"correlation":1}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":100,"tid":100,"ts":1115.000,"dur":5.000,"args":{"correlation":2}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":100,"tid":100,"ts":1215.000,"dur":5.000,"args":{"correlation":3}},
{"ph":"X","cat":"cuda_runtime","name":"cudaMemcpyAsync","pid":100,"tid":101,"ts":1050.000,"dur":10.000,"args":{"correlation":4}},
{"ph":"X","cat":"kernel","name":"void alpha<int>(int)","pid":0,"tid":7,"ts":1090.000,"dur":30.000,"args":{"device":0,"context":1,"stream":7,"correlation":1}},
{"ph":"X","cat":"kernel","name":"void alpha<int>(int)","pid":0,"tid":7,"ts":1190.000,"dur":30.000,"args":{"device":0,"context":1,"stream":7,"correlation":2}},
{"ph":"X","cat":"kernel","name":"void alpha<int>(int)","pid":0,"tid":7,"ts":1290.000,"dur":30.000,"args":{"device":0,"context":1,"stream":7,"correlation":3}},
{"ph":"X","cat":"kernel","name":"void gamma<int>(int)","pid":0,"tid":7,"ts":1230.000,"dur":5.000,"args":{"device":0,"context":1,"stream":7,"correlation":99}},
{"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD (Pageable -> Device)","pid":0,"tid":8,"ts":1060.000,"dur":20.000,"args":{"device":0,"context":1,"stream":8,"correlation":4,"bytes":4096}},
{"ph":"X","cat":"user_annotation","name":"step","pid":200,"tid":200,"ts":1000.000,"dur":100.000},
{"ph":"X","cat":"user_annotation","name":"step","pid":200,"tid":200,"ts":1100.000,"dur":100.000},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":200,"tid":200,"ts":1020.000,"dur":5.000,"args":{"correlation":11}},
{"ph":"X","cat":"kernel","name":"void beta<int>(int)","pid":1,"tid":7,"ts":1130.000,"dur":40.000,"args":{"device":1,"context":1,"stream":7,"correlation":11}}
]}
END
}

@test "without filters everything counts" {
    assert_equal "$(kernels)" 'alpha 3 90000; beta 1 40000; gamma 1 5000'
    assert_equal "$(item 'Time span')" 320000
    assert_equal "$(item 'Part')" ''
}

@test "--from and --to cut what overlaps them, and the trace lasts as long" {
    assert_equal "$(kernels --from=100us --to=200us)" 'alpha 2 30000; beta 1 40000'
    assert_equal "$(item 'Time span' --from=100us --to=200us)" 100000
    assert_equal "$(item 'GPU 0 busy time' --from=100us --to=200us)" 30000
    assert_equal "$(item 'GPU 0 busy' --from=100us --to=200us)" 30
    assert_equal "$(item 'API calls' --from=100us --to=200us)" 1
    assert_equal "$(item 'Part' --from=100us --to=200us)" '--from=100us --to=200us'
    # a slice that touches the time without a part in it does not count
    assert_equal "$(kernels --from=120us --to=130us)" ''
    assert_equal "$(kernels --from=119us --to=131us)" 'alpha 1 1000; beta 1 1000'
    # one bound alone; the end is the trace's
    assert_equal "$(kernels --from=0.00021)" 'alpha 2 40000; gamma 1 5000'
    assert_equal "$(item 'Time span' --from=210us --to=9s)" 110000
    assert_equal "$(item 'Time span' --to=210us)" 210000
}

@test "a share of the trace is a time" {
    assert_equal "$(report kernels --from=25% --to=50%)" "$(report kernels --from=80us --to=160us)"
    assert_equal "$(item 'Time span' --from=25% --to=50%)" 80000
    assert_equal "$(kernels --to=100%)" "$(kernels)"
    assert_equal "$(kernels --from=0%)" "$(kernels)"
}

@test "--step has the work that a step launched, not what ran in its time" {
    assert_equal "$(kernels --step=1)" 'alpha 1 30000; beta 1 40000'
    assert_equal "$(kernels --step=2)" 'alpha 1 30000'
    # in the third step lies a kernel without a known call
    assert_equal "$(kernels --step=3)" 'alpha 1 30000; gamma 1 5000'
    # it lasts until its last work ends
    assert_equal "$(item 'Time span' --step=1)" 170000
    assert_equal "$(item 'Time span' --step=2)" 120000
    assert_equal "$(item 'API calls' --step=1)" 3
    assert_equal "$(report nvtx --step=2 | jq -c 'map({(.name): .count}) | add')" '{"step":2,"inner":1,"part/2":1}'
}

@test "--step takes the profiler's own numbers" {
    local trace
    cp "$kineto" trace.json
    for step in 1 2 3; do
        assert_equal "$(item 'Kernels' --step=$step)" 24
        assert_equal "$(report nvtx --step=$step | jq -r '.[].name | select(startswith("Prof"))')" "ProfilerStep#$step"
    done
    run -1 "$gputrace" report --step=0 trace.json
    assert_output "gputrace: 'trace.json' has no step 0: its steps, ProfilerStep, are 1 to 3"
}

@test "the steps of a Kineto trace share its operations" {
    cp "$kineto" trace.json
    for step in 1 2 3; do
        report kernels --step=$step | jq -r '.[] | "\(.name) \(.calls) \(.total_ns)"'
    done | awk '{ ns[$0] += 1; calls += $(NF - 1); sum += $NF } END { print calls, sum }' >got
    report kernels | jq -r '"\(map(.calls) | add) \(map(.total_ns) | add)"' | diff - got
}

@test "the step is the outermost range that repeats and has the most time" {
    jq '.traceEvents += [{ph: "X", cat: "user_annotation", name: "all", pid: 100, tid: 100, ts: 1000, dur: 300},
        {ph: "X", cat: "user_annotation", name: "warm", pid: 100, tid: 100, ts: 900, dur: 10},
        {ph: "X", cat: "user_annotation", name: "warm", pid: 100, tid: 100, ts: 910, dur: 10}]' trace.json >other.json
    mv other.json trace.json
    assert_equal "$(kernels --step=2)" 'alpha 1 30000'
    run -1 "$gputrace" report --step=4 trace.json
    assert_output "gputrace: 'trace.json' has no step 4: its steps, step, are 1 to 3"
    jq '.traceEvents |= map(select(.cat != "user_annotation"))' trace.json >none.json
    run -1 "$gputrace" report --step=1 none.json
    assert_output "gputrace: 'none.json' has no steps: neither ranges 'ProfilerStep#N' nor anything that repeats"
}

@test "--range has all occurrences, or one of each thread" {
    # the call of the kernel beta began in it too, in another process
    assert_equal "$(kernels --range=inner)" 'alpha 3 90000; beta 1 40000'
    assert_equal "$(kernels --range=inner/1)" 'alpha 1 30000; beta 1 40000'
    assert_equal "$(kernels --range=inner/2)" ''
    assert_equal "$(item 'API calls' --range=inner)" 5
    assert_equal "$(item 'Time span' --range=inner/1 --gpu=0)" 110000
    # on both processes
    assert_equal "$(kernels --range=step/1)" 'alpha 1 30000; beta 1 40000'
    run -1 "$gputrace" report --range=inner/9 trace.json
    assert_output "gputrace: --range=inner/9: 'trace.json' has the range only 4 times"
    run -1 "$gputrace" report --range=iner trace.json
    assert_output "gputrace: 'trace.json' has no range 'iner': did you mean 'inner'?"
    run -1 "$gputrace" report --range=quite-another/0 trace.json
    assert_output "gputrace: 'trace.json' has no range 'quite-another/0'"
}

@test "a range whose name ends in a number is found by its name" {
    assert_equal "$(report nvtx --range=part/2 | jq -c 'map(.name)')" '["part/2"]'
}

@test "--range has ranges that were started and ended" {
    jq '.traceEvents += [{ph: "b", cat: "user_annotation", name: "open", id: 5, pid: 100, tid: 100, ts: 1110},
        {ph: "e", cat: "user_annotation", name: "open", id: 5, pid: 100, tid: 101, ts: 1118}]' trace.json >other.json
    mv other.json trace.json
    assert_equal "$(kernels --range=open)" 'alpha 1 30000'
    assert_equal "$(report nvtx --range=open | jq -c 'map([.name, .count, .total_ns])' )" '[["inner",1,20000],["open",1,8000]]'
    # cut, whether the border is in the range, before or behind it
    assert_equal "$(report nvtx --from=112us | jq -c '.[] | select(.name == "open") | .total_ns')" 6000
    assert_equal "$(report nvtx --to=112us | jq -c '.[] | select(.name == "open") | .total_ns')" 2000
    assert_equal "$(report nvtx --from=118us | jq -c '.[] | select(.name == "open")')" ''
    assert_equal "$(report nvtx --to=109us | jq -c '.[] | select(.name == "open")')" ''
}

@test "a range that was started before --from and never ended goes on there" {
    jq '.traceEvents += [{ph: "b", cat: "user_annotation", name: "open", id: 5, pid: 100, tid: 100, ts: 1110}]' trace.json >other.json
    mv other.json trace.json
    assert_equal "$(report nvtx --from=200us | jq -c '.[] | select(.name == "open") | .open')" 1
    assert_equal "$(report nvtx --to=100us | jq -c '.[] | select(.name == "open") | .open')" ''
}

@test "--process has its calls, ranges and operations" {
    assert_equal "$(kernels --process=100)" 'alpha 3 90000; gamma 1 5000'
    assert_equal "$(kernels --process=200)" 'beta 1 40000'
    assert_equal "$(item 'API calls' --process=200)" 1
    assert_equal "$(item 'Processes' --process=200)" 1
    assert_equal "$(report nvtx --process=200 | jq -c 'map([.name, .count])')" '[["step",2]]'
    # in a trace that does not say whose a GPU's rows are, the call decides
    jq 'del(.gputrace)' trace.json >other.json
    mv other.json trace.json
    assert_equal "$(kernels --process=100)" 'alpha 3 90000'
    assert_equal "$(kernels --process=200)" 'beta 1 40000'
    cp "$kineto" trace.json
    assert_equal "$(item 'Kernels' --process=583)" 72
    run -1 "$gputrace" report --process=584 trace.json
    assert_output "gputrace: no process 584 in 'trace.json': it has process 583"
}

@test "--thread has what it did and launched" {
    assert_equal "$(kernels --thread=101)" ''
    assert_equal "$(report memtime --thread=101 | jq -c 'map([.name, .count, .total_ns])')" \
        '[["Memcpy HtoD (Pageable -> Device)",1,20000]]'
    assert_equal "$(report api --thread=101 | jq -c 'map([.name, .calls])')" '[["cudaMemcpyAsync",1]]'
    assert_equal "$(kernels --thread=100)" 'alpha 3 90000'
    assert_equal "$(report memtime --thread=100)" '[]'
    # correlation ids count in their process alone, where a row says whose it is
    sed -i 's/"correlation":11/"correlation":1/' trace.json
    assert_equal "$(kernels --thread=100)" 'alpha 3 90000'
    assert_equal "$(kernels --thread=200)" 'beta 1 40000'
    assert_equal "$(kernels --range=inner/1)" 'alpha 1 30000; beta 1 40000'
    "$gputrace" cut -q trace.json -o part.json --thread=200
    assert_equal "$(jq -r '.traceEvents[] | select(.cat == "kernel").name' part.json)" 'void beta<int>(int)'
}

@test "--rank has one rank of a trace of several, and of several traces those of the rank" {
    jq '.gputrace.processes[0] += {rank: 0, world_size: 2} | .gputrace.processes[1] += {rank: 1, world_size: 2}' trace.json >both.json
    cp both.json trace.json
    assert_equal "$(kernels --rank=1)" 'beta 1 40000'
    assert_equal "$(kernels --rank=0 --step=2)" 'alpha 1 30000'
    assert_equal "$(item Processes --rank=1)" 1
    assert_equal "$(item Part --rank=1)" --rank=1
    run -1 "$gputrace" report --rank=2 trace.json
    assert_output "gputrace: no rank 2 in 'trace.json': it has ranks 0, 1"
    "$build/make_job" -n 4 -H 1 -s 3 job >/dev/null
    "$gputrace" merge -q job -o merged.pftrace
    "$gputrace" report -r all --format=json --rank=2 job >of-job
    "$gputrace" report -r all --format=json job/rank2.pftrace >alone
    for section in kernels api nvtx idle steps comm ranks hang; do
        diff <(jq ".\"$section\"" of-job) <(jq ".\"$section\"" alone)
    done
    diff <("$gputrace" report -r kernels,api,steps,comm --format=json --rank=2 merged.pftrace | jq 'map_values(arrays)') \
        <(jq '{kernels, api, steps, comm}' alone)
    run -1 "$gputrace" report --rank=7 job
    assert_output "gputrace: no rank 7 in 'job/rank0.pftrace' to 'job/rank3.pftrace': it has ranks 0 to 3"
    "$gputrace" diff -f json --rank=2 job merged.pftrace | jq -c '[.before, .after]' >sides
    echo '[["job/rank2.pftrace"],["merged.pftrace"]]' | diff - sides
}

@test "--gpu, --stream and --kernel select GPU operations, and leave the host as it is" {
    assert_equal "$(kernels --gpu=0)" 'alpha 3 90000; gamma 1 5000'
    assert_equal "$(kernels --gpu=1)" 'beta 1 40000'
    assert_equal "$(item 'API calls' --gpu=1)" 5
    assert_equal "$(kernels --stream=8)" ''
    assert_equal "$(item 'Memory copies' --stream=8)" 1
    assert_equal "$(kernels --kernel='alp?h|^void be')" 'alpha 3 90000; beta 1 40000'
    assert_equal "$(item 'Memory copies' --kernel=alpha)" 0
    # on the whole name, whatever is shown
    assert_equal "$(kernels --names=short --kernel='<int>.int.$')" "$(kernels)"
    # on the short name, and on the pretty name as the table shows it
    assert_equal "$(kernels --kernel='^gamma$')" 'gamma 1 5000'
    assert_equal "$(kernels --kernel='^gamma<int>$')" 'gamma 1 5000'
    local rows
    rows=$(sed 's/void alpha<int>(int)/void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(int)/' trace.json >pretty.json &&
        "$gputrace" report -r kernels --kernel='^vectorized_elementwise<4, add<float>>$' pretty.json)
    assert_regex "$rows" 'vectorized_elementwise<4, add<float>>'
    refute_regex "$rows" 'beta|gamma'
}

@test "a filter that selects nothing fails, and says what there is" {
    run -1 "$gputrace" report --gpu=7 --fail-on=any trace.json
    assert_output "gputrace: no GPU 7 in 'trace.json': it has GPUs 0, 1"
    run -1 "$gputrace" report --stream=9 trace.json
    assert_output "gputrace: no stream 9 in 'trace.json': it has streams 7, 8"
    run -1 "$gputrace" report --process=300 trace.json
    assert_output "gputrace: no process 300 in 'trace.json': it has processes 100, 200"
    run -1 "$gputrace" report --thread=300 trace.json
    assert_output "gputrace: no thread 300 in 'trace.json': it has threads 100, 101, 200"
    run -1 "$gputrace" report --kernel=nomatch trace.json
    assert_output "gputrace: no kernel in 'trace.json' matches --kernel=nomatch: 'gputrace report -r kernels -n 0' lists them"
    run -1 "$gputrace" report --gpu=1 --kernel=alpha trace.json
    assert_output "gputrace: no kernel in 'trace.json' matches --kernel=alpha on that GPU or stream: 'gputrace report -r kernels -n 0' lists them"
}

@test "a GPU is there if the trace has work, memory or counters of it, a process if it has an event" {
    jq '.traceEvents |= map(select(.pid != 1 and .pid != 200 or .ph == "M"))' trace.json >named.json
    jq -c '.traceEvents += [{ph: "C", name: "power", pid: 1, tid: 0, ts: 1000, args: {watts: 300}}]' named.json >counter.json
    jq -c '.traceEvents += [{ph: "i", cat: "memory", name: "cudaMalloc", pid: 200, tid: 200, ts: 1000, s: "t",
        args: {device: 1, address: "0x7f0000000000", bytes: 4096}}]' named.json >memory.json
    local command
    for command in report 'cut -q --force -o part.json'; do
        # shellcheck disable=SC2086 # words
        for trace in named counter memory; do
            run "$gputrace" $command --gpu=1 $trace.json
            [ $trace != named ] || assert_output "gputrace: no GPU 1 in 'named.json': it has GPU 0"
            assert_equal $status $([ $trace = named ]; echo $((! $?)))
            run "$gputrace" $command --process=200 $trace.json
            [ $trace != named ] || assert_output "gputrace: no process 200 in 'named.json': it has process 100"
            assert_equal $status $([ $trace = named ]; echo $((! $?)))
        done
        run -1 "$gputrace" $command --gpu=7 "$kineto"
        assert_output "gputrace: no GPU 7 in '$kineto': it has GPU 0"
        run -1 "$gputrace" $command --process=0 "$kineto"
        assert_output "gputrace: no process 0 in '$kineto': it has process 583"
        run -0 "$gputrace" $command --process=583 "$kineto"
    done
    run -1 "$gputrace" diff --gpu=7 "$kineto" "$kineto"
    assert_output --partial "no GPU 7 in '$kineto': it has GPU 0"
    run -1 "$gputrace" merge --force -o part.json --gpu=7 "$kineto" "$kineto"
    assert_output --partial "no GPU 7 in '$kineto': it has GPU 0"
}

@test "of several traces, one that has nothing of what a filter selects is a warning, and all an error" {
    cp trace.json other.json
    run -1 --separate-stderr "$gputrace" report -r kernels --gpu=7 --fail-on=any trace.json other.json
    assert_equal "$stderr" "gputrace: no GPU 7 in 'trace.json': it has GPUs 0, 1
gputrace: no GPU 7 in 'other.json': it has GPUs 0, 1"
    jq 'del(.gputrace) | .traceEvents |= map(select(.args.device != 1 and .pid != 1))' trace.json >other.json
    run -0 --separate-stderr "$gputrace" report -r kernels --gpu=1 trace.json other.json
    assert_equal "$stderr" "gputrace: warning: no GPU 1 in 'other.json': it has GPU 0"
}

@test "of many traces that have nothing of what a filter selects, one line says how many" {
    local names=()
    jq '.traceEvents |= map(select(.tid != 101))' trace.json >only.json
    for i in {1..9}; do
        cp only.json "$i.json"
        names+=("$i.json")
    done
    run -1 --separate-stderr "$gputrace" report -r kernels --thread=101 "${names[@]}"
    assert_equal "$stderr" "gputrace: no thread 101 in '1.json': it has threads 100, 200; so it is with 9 of 9 traces"
    run -0 --separate-stderr "$gputrace" report -r kernels --thread=101 trace.json "${names[@]}"
    assert_equal "$stderr" "gputrace: warning: no thread 101 in '1.json': it has threads 100, 200; so it is with 9 of 10 traces"
    run -0 --separate-stderr "$gputrace" report -r kernels --thread=101 trace.json "${names[@]:1}"
    assert_equal "${#stderr_lines[@]}" 8
}

@test "a step, range or time that one of several traces lacks is a warning, and an error where none has it" {
    jq '.traceEvents |= map(select(.ts < 1100))' trace.json >short.json
    for option in --step=3 --range=part/2 --from=310us; do
        run -0 --separate-stderr "$gputrace" report -r overview -f json "$option" short.json trace.json
        jq -e --arg option "$option" 'map(.overview | any(.item == "Part" and .value == $option)) | all' <<<"$output"
        assert_equal "${#stderr_lines[@]}" 1
        [[ $stderr = "gputrace: warning: "*"'short.json'"* ]]
        cp short.json other.json
        run -1 --separate-stderr "$gputrace" report "$option" short.json other.json
        assert_equal "${#stderr_lines[@]}" 2
    done
    assert_line --partial 'short.json'
}

@test "of several filters all must hold" {
    assert_equal "$(kernels --gpu=0 --kernel='alpha|beta' --step=1)" 'alpha 1 30000'
    assert_equal "$(kernels --step=2 --process=200)" ''
    assert_equal "$(kernels --step=1 --from=100us --to=105us)" 'alpha 1 5000'
    assert_equal "$(kernels --range=inner --thread=101)" ''
    run -1 "$gputrace" report --step=3 --to=100us trace.json
    assert_output "gputrace: 'trace.json' has the range only after --to=100us"
    assert_equal "$(item 'Part' --step=2 --gpu=1 --kernel=a)" '--step=2 --gpu=1 --kernel=a'
}

@test "of counters the value before a window counts at its start" {
    cat >trace.json <<'END'
{"traceEvents": [
{"ph":"X","cat":"user_annotation","name":"w","pid":5,"tid":5,"ts":100,"dur":50},
{"ph":"X","cat":"user_annotation","name":"w","pid":5,"tid":5,"ts":300,"dur":50},
{"ph":"X","cat":"cuda_runtime","name":"all","pid":5,"tid":5,"ts":0,"dur":400},
{"ph":"C","name":"Memory in use: Device","pid":0,"ts":10,"args":{"bytes":900}},
{"ph":"C","name":"Memory in use: Device","pid":0,"ts":20,"args":{"bytes":500}},
{"ph":"C","name":"Memory in use: Device","pid":0,"ts":120,"args":{"bytes":100}},
{"ph":"C","name":"Memory in use: Device","pid":0,"ts":200,"args":{"bytes":700}},
{"ph":"C","name":"Memory in use: Device","pid":0,"ts":210,"args":{"bytes":600}},
{"ph":"C","name":"Memory in use: Device","pid":0,"ts":360,"args":{"bytes":1000}}
]}
END
    memory_row() { report memory "$@" | jq -c '.[] | [.peak_bytes, .peak_at_ns, .end_bytes]'; }
    assert_equal "$(memory_row)" '[1000,360000,1000]'
    assert_equal "$(memory_row --from=30us --to=110us)" '[500,0,500]'
    assert_equal "$(memory_row --from=120us --to=150us)" '[100,0,100]'
    assert_equal "$(memory_row --from=20us --to=150us)" '[500,0,100]'
    assert_equal "$(memory_row --to=5us)" ''
    assert_equal "$(memory_row --range=w)" '[600,200000,600]'
    assert_equal "$(memory_row --range=w/1)" '[500,0,100]'
}

@test "counters of other GPUs do not count, whichever comes first, they or the names of rows" {
    cp "$root/tests/data/report/small.json" trace.json
    assert_equal "$(report memory | jq -c 'map(.device) | unique')" '[null,0]'
    assert_equal "$(report memory --gpu=1 | jq -c 'map(.device) | unique')" '[null]'
}

@test "memory that was allocated before a window is in it, and does not count as allocated there" {
    cp "$memory" trace.json
    local part=(--from=250us --to=405us)
    assert_equal "$(report memory-peak "${part[@]}" | jq -c 'map([.total_bytes, .count, .at_ns, .size_bytes, .kind])')" \
        '[[2097152,2,150000,1048576,"Device"],[2097152,1,150000,2097152,"Pool"]]'
    assert_equal "$(report memory-leaks "${part[@]}" | jq -c 'map([.count, .first_ns, .last_ns, .size_bytes])')" \
        '[[2,-150000,-50000,1048576],[1,150000,150000,2097152]]'
    assert_equal "$(report memory-churn "${part[@]}" | jq -c 'map([.count, .allocations])')" '[[2,2]]'
    assert_equal "$(report memory-failures "${part[@]}")" '[]'
    assert_equal "$(report memory "${part[@]}" | jq -c '.[] | select(.kind == "Device") | [.peak_bytes, .peak_at_ns, .end_bytes, .allocations, .releases]')" \
        '[2101248,50000,2097152,2,2]'
    # nothing happens to it in this window
    assert_equal "$(report memory-peak --from=310us --to=320us | jq -c 'map([.count, .at_ns])')" '[[2,0]]'
    # a peak before the window is not one of it
    assert_equal "$(report memory-peak --from=501us --to=550us | jq -c 'map([.total_bytes, .at_ns, .kind])')" \
        '[[2097152,0,"Pool"],[1048576,0,"Device"]]'
    assert_equal "$(report memory --snapshot=10us --from=501us | jq -c 'map(.count)')" '[1,1]'
}

@test "--snapshot behind the end of a part names its end as the part's" {
    run -0 --separate-stderr "$gputrace" report -r memory --from=250us --to=405us --snapshot=900us "$memory"
    assert_line --index 0 'Memory allocated at the end of the part, 155 µs (--snapshot asked for 900 µs) (memory)'
    assert_equal "$stderr" "gputrace: warning: the part of '$memory' ends at 155 µs, before the 900 µs of --snapshot: showing what was allocated at its end"
    run -0 --separate-stderr "$gputrace" report -r memory --snapshot=9ms "$memory"
    assert_line --index 0 'Memory allocated at the end of the trace, 4 ms (--snapshot asked for 9 ms) (memory)'
}

@test "PyTorch's memory before a window is in it" {
    cp "$data/report/pytorch-memory.json" trace.json
    assert_equal "$(report memory --from=50% | jq -c 'map([.peak_bytes, .peak_at_ns, .end_bytes, .allocations])')" \
        '[[4194304,0,4194304,null],[2048,0,2048,null],[64,0,64,null]]'
    assert_equal "$(report memory-peak --from=50% | jq -c 'map([.total_bytes, .count, .at_ns])')" '[[2048,2,0],[64,1,0]]'
}

@test "all formats of a trace give the same part" {
    mkdir spool
    gzip -dc "$data/h200/train.spool.gz" >spool/1-0.spool
    cp "$data/h200/train.session.json" spool/session.json
    "$gputrace" convert -q spool part.json
    "$gputrace" convert -q spool part.json.gz
    "$gputrace" convert -q spool part.pftrace
    local options
    for options in --step=2 '--from=20% --to=80%' '--gpu=0 --kernel=gemm'; do
        for trace in spool part.json part.json.gz part.pftrace; do
            # shellcheck disable=SC2086 # they are several words
            "$gputrace" report --format=json $options $trace | jq 'del(.trace)' >"$trace.out"
        done
        [ "$(jq '.overview[] | select(.item == "Kernels").value' part.json.out)" -gt 3 ]
        for trace in part.json.gz part.pftrace spool; do
            diff part.json.out "$trace.out"
        done
    done
}

@test "a pipe is refused where the trace must be read twice, and read where not" {
    run -1 bash -c "'$gputrace' report --from=1us - <trace.json"
    assert_output 'gputrace: a part of a trace needs a file: standard input cannot be read twice'
    mkfifo pipe
    run -1 "$gputrace" report --step=1 pipe
    assert_output "gputrace: a part of a trace needs a file: 'pipe' cannot be read twice"
    run -0 bash -c "'$gputrace' report -r kernels --format=csv --gpu=1 - <trace.json"
    assert_output --partial beta
    refute_output --partial alpha
}

@test "times and sizes have units in every option, with or without a blank" {
    assert_equal "$(kernels --from='100 us' --to='0.2 ms')" "$(kernels --from=100us --to=200us)"
    "$gputrace" cut -q --from=100us --to=200us trace.json a.json
    "$gputrace" cut -q --from='100 µs' --to='0.0002 s' trace.json b.json
    diff <(jq .traceEvents a.json) <(jq .traceEvents b.json)
    run -0 "$gputrace" report -r memory --snapshot='200 us' trace.json
    run -0 "$gputrace" diff --fail-on='total>1 s' --fail-on='total>20us' --fail-on='memory>1 GiB' --fail-on='memory>1GB' trace.json trace.json
    run -2 "$gputrace" diff --fail-on='memory>1 GIB' trace.json trace.json
    assert_output --partial 'try >3%, >2ms or >100MiB'
    local option
    for option in run:--delay run:--duration run:--flush-interval view:--timeout report:--snapshot; do
        "$gputrace" "${option%:*}" --help | grep -A2 -e " ${option#*:}=TIME" | tr -s ' \n' ' ' | grep -E 'with a unit|likewise'
        run ! "$gputrace" "${option%:*}" "${option#*:}=1 week" trace.json
        assert_output "gputrace: ${option#*:}: '1 week' is not a time (try 2, 0.5 or 300ms)"
    done
}

@test "arguments that make no sense" {
    local option
    for option in --from= --from=x --from=-1 --from=1h --from=nan --from=1e30 --to=101% --to=-1% --to=nan% --to=% --step=x \
        --step=-1 --step= --gpu=1.5 --gpu=99999999999999999999 --stream=all --process=app --thread=0x1 '--kernel=(' \
        '--kernel=[a' '--kernel=a{2,1}' --range=; do
        run -2 "$gputrace" report "$option" trace.json
        [[ $output = "gputrace: --"* ]] || fail "$option: $output"
    done
    run -2 "$gputrace" report --range=step --step=1 trace.json
    run -1 "$gputrace" report --from=60us --to=50us trace.json
    assert_output "gputrace: --from=60us is after --to=50us in 'trace.json'"
    "$build/make_job" -n 2 -s 2 job >/dev/null
    run -1 --separate-stderr "$gputrace" merge -q --from=60% --to=10% -o merged.json job
    assert_equal "$stderr" "gputrace: --from=60% is after --to=10% in 'job/rank0.pftrace' to 'job/rank1.pftrace'"
    run -1 "$gputrace" merge -q --from=1s -o merged.json trace.json
    assert_output "gputrace: --from=1s is after the end of 'trace.json', which lasts 0.00032s"
    run -1 "$gputrace" report --from=1s trace.json
    assert_output "gputrace: --from=1s is after the end of 'trace.json', which lasts 0.00032s"
    echo '[]' >empty.json
    run -0 "$gputrace" report -r overview --from=1s empty.json
    assert_line --regexp "^  Time span +0 ns$"
    run -1 "$gputrace" report --step=1 empty.json
}

@test "report -o writes what is printed to a file, and replaces no trace" {
    "$gputrace" report -r kernels trace.json >printed
    run -0 "$gputrace" report -r kernels trace.json -o written
    assert_output ''
    cmp printed written
    run -2 "$gputrace" report trace.json -o trace.json
    assert_output "gputrace: -o: 'trace.json' is a trace, which a report does not replace"
}

@test "diff compares what filters select" {
    jq '(.traceEvents[] | select(.name == "void alpha<int>(int)")).dur = 60' trace.json >after.json
    run -0 "$gputrace" diff trace.json after.json --gpu=0 --format=json
    assert_output --partial alpha
    run -0 "$gputrace" diff trace.json after.json --gpu=1 --format=json
    refute_output --partial alpha
    run -0 "$gputrace" diff trace.json after.json --gpu=0 --step=2
    assert_line --index 0 --regexp ' · only --step=2 --gpu=0$'
    "$gputrace" diff trace.json after.json --step=2 --format=json | jq -e '.summary | contains("· only --step=2")'
    run -1 "$gputrace" diff trace.json after.json --gpu=7
    assert_output "gputrace: no GPU 7 in 'trace.json': it has GPUs 0, 1"
    run -2 "$gputrace" diff trace.json after.json '--kernel=('
}

@test "diff of several traces leaves out those that have nothing of what is selected, as report does" {
    "$build/make_job" -n 4 -H 2 -s 3 job >/dev/null
    run -0 --separate-stderr "$gputrace" diff --thread=4001 job job -f json
    jq -c '[.before, .after]' <<<"$output" >sides
    echo '[["job/rank1.pftrace","job/rank3.pftrace"],["job/rank1.pftrace","job/rank3.pftrace"]]' | diff - sides
    assert_equal "${#stderr_lines[@]}" 4
    assert_equal "${stderr_lines[0]}" "gputrace: warning: no thread 4001 in 'job/rank0.pftrace': it has thread 4000"
    run -1 --separate-stderr "$gputrace" diff --thread=9 job job
    assert_equal "${#stderr_lines[@]}" 4
    assert_equal "${stderr_lines[3]}" "gputrace: no thread 9 in 'job/rank3.pftrace': it has thread 4001"
}

@test "a filter or --fail-on that is given twice is refused, as one of the two would be ignored" {
    local option
    for option in --gpu=0 --rank=0 --step=1 --kernel=k --from=1ms --range=x --fail-on=any; do
        run -2 "$gputrace" report "$option" "$option" "$root/tests/data/report/small.json"
        assert_line --partial "${option%=*} is given twice"
    done
    run -2 "$gputrace" diff --fail-on=finding:nosuch "$root/tests/data/report/small.json" "$root/tests/data/report/small.json"
    assert_output --partial "no finding is called 'nosuch': there are pageable-copies"
    run -0 "$gputrace" diff --fail-on=finding:straggler "$root/tests/data/report/small.json" "$root/tests/data/report/small.json"
}

@test "options that nothing in a trace meets together are an error" {
    "$build/make_job" -n 4 -H 2 -s 2 -w job
    run -1 "$gputrace" report --rank=2 --process=4001 job/node1.pftrace
    assert_output --partial "'job/node1.pftrace' has nothing that all of these options select"
}
