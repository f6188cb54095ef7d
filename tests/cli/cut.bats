# gputrace cut, and convert with the same options: what is in the part and what is not.

load common

data=$root/tests/data
kineto=$data/kineto/kineto-train-h200.json.gz

# Two processes and two GPUs. The first launch is before 100 us and its kernel runs there; the second is there and its
# kernel later; the third pair is there.
before_each() {
    cat >trace.json <<'END'
{"baseTimeNanoseconds": 1758000000000000000,
"gputrace": {"version": "0.1.0", "processes": [{"pid": 100, "gpu_pids": {"0": 0}}, {"pid": 200, "gpu_pids": {"1": 1}}]},
"other": {"kept": [1, 2]},
"traceEvents": [
{"ph":"M","name":"process_name","pid":100,"tid":100,"ts":0.000,"args":{"name":"app"}},
{"ph":"M","name":"process_name","pid":200,"tid":200,"ts":0.000,"args":{"name":"other"}},
{"ph":"M","name":"process_name","pid":0,"tid":0,"ts":0.000,"args":{"name":"app"}},
{"ph":"M","name":"process_labels","pid":0,"tid":0,"ts":0.000,"args":{"labels":"GPU 0"}},
{"ph":"M","name":"process_name","pid":1,"tid":1,"ts":0.000,"args":{"name":"other"}},
{"ph":"M","name":"process_labels","pid":1,"tid":1,"ts":0.000,"args":{"labels":"GPU 1"}},
{"ph":"M","name":"thread_name","pid":100,"tid":100,"ts":0.000,"args":{"name":"main"}},
{"ph":"M","name":"thread_name","pid":0,"tid":7,"ts":0.000,"args":{"name":"stream 7"}},
{"ph":"X","cat":"user_annotation","name":"all","pid":100,"tid":100,"ts":1000.000,"dur":300.000},
{"ph":"X","cat":"user_annotation","name":"step","pid":100,"tid":100,"ts":1000.000,"dur":100.000},
{"ph":"X","cat":"user_annotation","name":"step","pid":100,"tid":100,"ts":1100.000,"dur":100.000},
{"ph":"X","cat":"cuda_runtime","name":"first","pid":100,"tid":100,"ts":1015.000,"dur":5.000,"args":{"correlation":1}},
{"ph":"s","id":1,"pid":100,"tid":100,"ts":1015.000,"cat":"ac2g","name":"ac2g"},
{"ph":"X","cat":"cuda_runtime","name":"second","pid":100,"tid":100,"ts":1115.000,"dur":5.000,"args":{"correlation":2}},
{"ph":"s","id":2,"pid":100,"tid":100,"ts":1115.000,"cat":"ac2g","name":"ac2g"},
{"ph":"X","cat":"cuda_runtime","name":"third","pid":100,"tid":100,"ts":1125.000,"dur":5.000,"args":{"correlation":3}},
{"ph":"s","id":3,"pid":100,"tid":100,"ts":1125.000,"cat":"ac2g","name":"ac2g"},
{"ph":"X","cat":"kernel","name":"k1","pid":0,"tid":7,"ts":1095.000,"dur":10.000,"args":{"device":0,"stream":7,"correlation":1}},
{"ph":"f","id":1,"pid":0,"tid":7,"ts":1095.000,"cat":"ac2g","name":"ac2g","bp":"e"},
{"ph":"X","cat":"kernel","name":"k2","pid":0,"tid":7,"ts":1210.000,"dur":10.000,"args":{"device":0,"stream":7,"correlation":2}},
{"ph":"f","id":2,"pid":0,"tid":7,"ts":1210.000,"cat":"ac2g","name":"ac2g","bp":"e"},
{"ph":"X","cat":"kernel","name":"k3","pid":0,"tid":7,"ts":1140.000,"dur":10.000,"args":{"device":0,"stream":7,"correlation":3}},
{"ph":"f","id":3,"pid":0,"tid":7,"ts":1140.000,"cat":"ac2g","name":"ac2g","bp":"e"},
{"ph":"X","cat":"kernel","name":"foreign","pid":1,"tid":7,"ts":1150.000,"dur":10.000,"args":{"device":1,"stream":7,"correlation":9}},
{"ph":"X","cat":"cuda_runtime","name":"else","pid":200,"tid":200,"ts":1120.000,"dur":5.000,"args":{"correlation":9}},
{"ph":"i","cat":"user_annotation","name":"early","pid":100,"tid":100,"ts":1099.999,"s":"t"},
{"ph":"i","cat":"user_annotation","name":"at","pid":100,"tid":100,"ts":1100.000,"s":"t"},
{"ph":"i","cat":"user_annotation","name":"late","pid":100,"tid":100,"ts":1200.000,"s":"t"},
{"ph":"b","cat":"user_annotation","name":"across","id":4,"pid":100,"tid":100,"ts":1050.000},
{"ph":"e","cat":"user_annotation","name":"across","id":4,"pid":100,"tid":100,"ts":1110.000},
{"ph":"b","cat":"user_annotation","name":"before","id":5,"pid":100,"tid":100,"ts":1050.000},
{"ph":"e","cat":"user_annotation","name":"before","id":5,"pid":100,"tid":100,"ts":1060.000},
{"ph":"C","name":"Memory in use: Device","pid":0,"ts":1010.000,"args":{"bytes":900}},
{"ph":"C","name":"Memory in use: Device","pid":0,"ts":1020.000,"args":{"bytes":500}},
{"ph":"C","name":"Memory in use: Device","pid":0,"ts":1150.000,"args":{"bytes":700}},
{"ph":"C","name":"Memory in use: Device","pid":0,"ts":1250.000,"args":{"bytes":100}},
{"ph":"C","name":"several","pid":100,"ts":1030.000,"args":{"a":1,"b":2.5}}
]}
END
}

# What a part has: the names of slices, instants and ranges in order.
names() { # TRACE
    jq -r '[.traceEvents[] | select(.ph == "X" or .ph == "i" or .ph == "b") | .name] | sort | join(" ")' "$1"
}

@test "slices that overlap the time stay whole, others are left out" {
    run -0 "$gputrace" cut trace.json -o part.json --from=100us --to=200us
    assert_output --partial "13 events in 'part.json'"
    assert_equal "$(names part.json)" 'across all at else foreign k1 k3 second step third'
    assert_equal "$(jq -c '[.traceEvents[] | select(.name == "k1") | [.ts + 0, .dur + 0]]' part.json)" '[[1095,10]]'
    assert_equal "$(jq -c '[.traceEvents[] | select(.name == "step") | .ts + 0]' part.json)" '[1100]'
    assert_equal "$(jq -c '[.traceEvents[] | select(.name == "across") | [.ph, .ts + 0]]' part.json)" '[["b",1050],["e",1110]]'
}

@test "flows stay where both their ends do" {
    "$gputrace" cut -q trace.json -o part.json --from=100us --to=200us
    assert_equal "$(jq -c '[.traceEvents[] | select(.ph == "s" or .ph == "f") | [.ph, .id]]' part.json)" '[["s",3],["f",3]]'
    "$gputrace" cut -q trace.json -o more.json --from=100us --to=220us
    assert_equal "$(jq -c '[.traceEvents[] | select(.ph == "s") | .id]' more.json)" '[2,3]'
}

@test "a counter's last value before the part is repeated at its start" {
    "$gputrace" cut -q trace.json -o part.json --from=100us --to=200us
    assert_equal "$(jq -c '[.traceEvents[] | select(.ph == "C") | [.name, .ts + 0, .args]] | sort' part.json)" \
        '[["Memory in use: Device",1100,{"bytes":500}],["Memory in use: Device",1150,{"bytes":700}],["several",1100,{"a":1,"b":2.5}]]'
    # not when it has one there
    "$gputrace" cut -q trace.json -o other.json --from=150us --to=200us
    assert_equal "$(jq -c '[.traceEvents[] | select(.ph == "C" and .pid == 0) | [.ts + 0, .args.bytes]]' other.json)" '[[1150,700]]'
}

@test "metadata, the clock and names of rows stay, and a key says what was cut" {
    "$gputrace" cut -q trace.json -o part.json --from=100us --to=200us
    for key in other gputrace baseTimeNanoseconds; do
        assert_equal "$(jq -c ".$key" part.json)" "$(jq -c ".$key" trace.json)"
    done
    assert_equal "$(jq -c .gputrace_cut part.json)" '{"from_ns":100000,"to_ns":200000,"of_ns":300000}'
    assert_equal "$(jq -c '[.traceEvents[] | select(.name == "thread_name" or .name == "process_name") | .args.name] | sort' part.json)" \
        '["app","app","main","other","other","stream 7"]'
    # of a part that is cut again it says the last
    "$gputrace" cut -q part.json -o again.json --gpu=0
    assert_equal "$(jq -c .gputrace_cut again.json)" '{"from_ns":0,"to_ns":300000,"of_ns":300000,"gpu":0}'
    assert_equal "$(grep -c '"gputrace_cut"' again.json)" 1
}

@test "--range is the time of a range, or of one occurrence" {
    "$gputrace" cut -q trace.json -o part.json --range=step/2
    assert_equal "$(names part.json)" 'across all at else foreign k1 k3 second step third'
    "$gputrace" cut -q trace.json -o both.json --range=step
    assert_equal "$(names both.json)" 'across all at before early else first foreign k1 k3 second step step third'
    "$gputrace" cut -q trace.json -o less.json --range=step/2 --from=145us
    assert_equal "$(names less.json)" 'all foreign k3 step'
    "$gputrace" cut -q trace.json -o async.json --range=before
    assert_equal "$(names async.json)" 'across all before step'
    run -1 "$gputrace" cut trace.json -o no.json --range=step/3
    assert_output "gputrace: --range=step/3: 'trace.json' has the range only 2 times"
    run -1 "$gputrace" cut trace.json -o no.json --range=steps
    assert_output "gputrace: 'trace.json' has no range 'steps': did you mean 'step'?"
    run -1 "$gputrace" cut trace.json -o no.json --range=step/1 --from=150us
    assert_output "gputrace: 'trace.json' has nothing between --from and --to in that range"
    [ ! -e no.json ]
}

@test "--gpu and --process leave out the rows of others" {
    "$gputrace" cut -q trace.json -o gpu.json --gpu=1
    assert_equal "$(names gpu.json)" 'across all at before early else first foreign late second step step third'
    assert_equal "$(jq '[.traceEvents[] | select(.ph == "s" or .ph == "f" or (.ph == "C" and .pid == 0))] | length' gpu.json)" 0
    assert_equal "$(jq -c '[.traceEvents[] | select(.name == "process_name") | .pid] | sort' gpu.json)" '[1,100,200]'
    "$gputrace" cut -q trace.json -o process.json --process=200
    assert_equal "$(names process.json)" 'else foreign'
    assert_equal "$(jq -c '[.traceEvents[] | select(.ph == "M") | .pid] | unique' process.json)" '[1,200]'
    run -1 "$gputrace" cut trace.json -o none.json --process=300
    assert_output "gputrace: no process 300 in 'trace.json': it has processes 100, 200"
    run -1 "$gputrace" convert trace.json none.json --gpu=9
    assert_output "gputrace: no GPU 9 in 'trace.json': it has GPUs 0, 1"
    [ ! -e none.json ]
    # a process and a GPU that have a name and nothing else
    jq '.traceEvents |= map(select(.ph == "M" or (.pid != 1 and .pid != 200)))' trace.json >named.json
    run -1 "$gputrace" cut named.json -o none.json --process=200
    assert_output "gputrace: no process 200 in 'named.json': it has process 100"
    run -1 "$gputrace" cut named.json -o none.json --process=1
    run -1 "$gputrace" cut named.json -o none.json --gpu=1
    assert_output "gputrace: no GPU 1 in 'named.json': it has GPU 0"
    # rows without names: a GPU's work is the process's that launched it
    jq 'del(.gputrace) | .traceEvents |= map(select(.ph != "M"))' trace.json >bare.json
    "$gputrace" cut -q bare.json -o bare-process.json --process=200
    assert_equal "$(names bare-process.json)" 'else foreign'
    "$gputrace" cut -q bare.json -o bare-gpu.json --gpu=1
    assert_equal "$(names bare-gpu.json)" "$(names gpu.json)"
    run -1 "$gputrace" cut bare.json -o none.json --gpu=7
    assert_output "gputrace: no GPU 7 in 'bare.json': it has GPUs 0, 1"
}

@test "--step is the time of a step, as report finds it" {
    "$gputrace" cut -q trace.json -o step.json --step=2
    "$gputrace" cut -q trace.json -o range.json --range=step/2
    assert_equal "$(names step.json)" "$(names range.json)"
    assert_equal "$(jq -c .gputrace_cut step.json)" '{"from_ns":0,"to_ns":300000,"of_ns":300000,"step":2}'
    run -1 "$gputrace" convert trace.json no.json --step=3
    assert_output "gputrace: 'trace.json' has no step 3: its steps, step, are 1 to 2"
    # steps of the profiler, and in a trace whose times are counted from its start
    "$gputrace" convert -q "$kineto" kineto.pftrace
    for input in "$kineto" kineto.pftrace; do
        "$gputrace" cut -q --force "$input" -o step.json --step=2
        assert_equal "$(jq -r '[.traceEvents[] | select(.name | startswith("ProfilerStep")) | .name] | unique | join(" ")' step.json)" 'ProfilerStep#2'
    done
    run -2 "$gputrace" cut trace.json -o no.json --step=1 --range=step
    assert_output "gputrace: --range and --step both name a part of the trace: use one of them"
}

@test "--kernel, --stream and --thread select as in a report" {
    "$gputrace" cut -q trace.json -o kernel.json --kernel='k[12]$|^for'
    assert_equal "$(names kernel.json)" 'across all at before early else first foreign k1 k2 late second step step third'
    assert_equal "$(jq -c '[.traceEvents[] | select(.ph == "s") | .id]' kernel.json)" '[1,2]'
    jq '.traceEvents |= map(if .name == "third" then .tid = 101 else . end)' trace.json >threads.json
    "$gputrace" cut -q threads.json -o thread.json --thread=101
    assert_equal "$(names thread.json)" 'k3 third'
    sed 's/"k1"/"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float> >(int)"/' trace.json >pretty.json
    for name in 'vectorized_elementwise<4, add<float>>' at::native::vectorized_elementwise_kernel; do
        "$gputrace" cut -q pretty.json -o kernel.json --force --kernel="^$name\$"
        assert_equal "$(jq -c '[.traceEvents[] | select(.cat == "kernel") | .ts * 1]' kernel.json)" '[1095]'
    done
    "$gputrace" cut -q threads.json -o thread.json --thread=100 --force --kernel=k
    assert_equal "$(names thread.json)" 'across all at before early first k1 k2 late second step step'
    run -1 "$gputrace" cut threads.json -o no.json --thread=5
    assert_output "gputrace: no thread 5 in 'threads.json': it has threads 100, 101, 200"
    run -1 "$gputrace" cut trace.json -o no.json --stream=9
    assert_output "gputrace: no stream 9 in 'trace.json': it has stream 7"
    run -1 "$gputrace" convert trace.json no.json --kernel=nomatch
    assert_output "gputrace: no kernel in 'trace.json' matches --kernel=nomatch: 'gputrace report -r kernels -n 0' lists them"
    run -2 "$gputrace" cut trace.json -o no.json '--kernel=('
    [ ! -e no.json ]
    # what a report of the part has is what a report with the filter has
    local filter
    for filter in --kernel=gemm --stream=7 --thread=624 --thread=583; do
        "$gputrace" cut -q --force "$kineto" -o part.pftrace $filter
        for section in kernels memtime api; do
            diff <("$gputrace" report -r $section -f json $filter "$kineto" | jq ".$section") \
                <("$gputrace" report -r $section -f json part.pftrace | jq ".$section")
        done
    done
}

# Two ranks: processes of rank 1 are its program and a child of that. The child and a process without a rank have a
# counter each.
ranks() { # PATH
    sed -e 's|^"traceEvents": *\[|&{"ph":"C","name":"files","pid":201,"tid":0,"ts":1000.000,"args":{"value":1}},{"ph":"C","name":"files","pid":300,"tid":0,"ts":1000.000,"args":{"value":1}},|' -e 's|"processes": .*|"processes": [{"pid": 100, "rank": 0, "world_size": 2, "started": 1795435128061422230, "gpu_pids": {"0": 0}}, {"pid": 200, "rank": 1, "world_size": 2, "gpu_pids": {"1": 1}, "distributedInfo": {"backend": "nccl", "rank": 1, "world_size": 2}}, {"pid": 201, "rank": 1, "gpu_pids": {}}, {"pid": 300, "gpu_pids": {}}], "after": 1},|' trace.json >"$1"
}

@test "--rank leaves the processes and GPUs of one rank, and what is said of it" {
    ranks job.json
    "$gputrace" cut -q job.json -o part.json --rank=1
    assert_equal "$(names part.json)" 'else foreign'
    assert_equal "$(jq -c '[.gputrace.processes[].pid], .gputrace.after, .gputrace_cut.rank' part.json | paste -sd' ')" '[200,201] 1 1'
    assert_equal "$(jq -c .distributedInfo part.json)" '{"rank":1,"world_size":2,"backend":"nccl"}'
    "$gputrace" cut -q job.json -o first.json --rank=0
    assert_equal "$(jq -c '[.traceEvents[] | select(.ph == "M") | .pid] | unique' first.json)" '[0,100]'
    # what HTA looks for, and numbers as they were
    assert_equal "$(grep -c '"distributedInfo":{"rank": 0, "world_size": 2}' first.json)" 1
    assert_equal "$(grep -c '"started":\s*1795435128061422230' first.json)" 1
    # a process is of one rank
    "$gputrace" cut -q job.json -o process.json --process=201
    assert_equal "$(jq -c .distributedInfo process.json)" '{"rank":1}'
    "$gputrace" convert -q --rank=1 job.json converted.json
    diff <(jq -S . part.json) <(jq -S . converted.json)
    run -1 "$gputrace" cut job.json -o none.json --rank=2
    assert_output "gputrace: no rank 2 in 'job.json': it has ranks 0, 1"
}

@test "--rank takes a trace of one rank whole; parts that are not of a rank say nothing of it" {
    jq -c '. + {distributedInfo: {rank: 3}}' trace.json >one.json
    "$gputrace" cut -q one.json -o part.json --rank=3
    assert_equal "$(names part.json)" "$(names trace.json)"
    assert_equal "$(jq -c .distributedInfo part.json)" '{"rank":3}'
    run -1 "$gputrace" cut one.json -o none.json --rank=0
    assert_output "gputrace: no rank 0 in 'one.json': it has rank 3"
    ranks job.json
    "$gputrace" cut -q job.json -o process.json --process=300
    assert_equal "$(jq -c .distributedInfo process.json)" null
    "$gputrace" cut -q job.json -o time.json --from=10%
    assert_equal "$(jq -c '.distributedInfo, (.gputrace.processes | length)' time.json | paste -sd' ')" 'null 4'
}

@test "cut and convert write the same part, in every format" {
    local part=(--from=100us --to=200us)
    "$gputrace" cut -q "${part[@]}" -o part.json trace.json
    "$gputrace" convert -q "${part[@]}" trace.json other.json
    diff part.json other.json
    "$gputrace" convert -q trace.json trace.pftrace
    for name in part.json.gz part.pftrace part.pftrace.gz; do
        for input in trace.json trace.pftrace; do
            "$gputrace" cut --force -q "${part[@]}" -o "$name" "$input"
            "$gputrace" convert --force -q "$name" back.json
            diff <(jq -S '.traceEvents |= sort' part.json) <(jq -S '.traceEvents |= sort' back.json)
        done
    done
}

@test "a share of the trace, a bound alone, and the whole" {
    "$gputrace" cut -q trace.json -o share.json --from=50% --to=60%
    "$gputrace" cut -q trace.json -o time.json --from=150us --to=180us
    assert_equal "$(names share.json)" "$(names time.json)"
    "$gputrace" cut -q trace.json -o all.json --from=0
    diff <(jq -S 'del(.gputrace_cut) | .traceEvents |= sort' all.json) \
        <("$gputrace" convert -q trace.json whole.json && jq -S '.traceEvents |= sort' whole.json)
}

@test "Perfetto loads every part without errors" {
    [ -x "${TRACE_PROCESSOR-}" ] || skip "TRACE_PROCESSOR names no trace_processor_shell of Perfetto"
    echo "select name, value from stats where severity in ('error', 'data_loss') and value > 0
        union all select 'slices', count(*) from slice" >stats.sql
    mkdir spool
    gzip -dc "$data/h200/train.spool.gz" >spool/1-0.spool
    cp "$data/h200/train.session.json" spool/session.json
    "$gputrace" convert -q spool train.json
    "$gputrace" convert -q spool train.pftrace
    for input in trace.json train.json train.pftrace "$kineto"; do
        for options in --to=60% --from=30% --gpu=0 --from=99%; do
            for output in part.json part.pftrace part.json.gz part.pftrace.gz; do
                # shellcheck disable=SC2086 # they are several words
                "$gputrace" cut --force -q $options -o $output "$input"
                "$TRACE_PROCESSOR" -q stats.sql $output 2>/dev/null >stats
                assert_equal "$(wc -l <stats)" 2
                [ "$(sed -n 's/"slices",//p' stats)" -gt 0 ]
            done
        done
    done
}

@test "what a part of a Kineto trace has is what jq finds" {
    "$gputrace" cut -q "$kineto" -o part.json --from=40% --to=60%
    # Kineto's own slice "Trace" and instants are not the program's.
    gzip -dc "$kineto" | jq -c '[.traceEvents[] | select(.ph == "X" and .cat != "Trace") | [.ts, .ts + (.dur // 0)]] | (map(.[0]) | min), (map(.[1]) | max)' |
        paste -sd' ' >ends
    local first last
    read -r first last <ends
    gzip -dc "$kineto" | jq --argjson first "$first" --argjson last "$last" '
        ($first + 0.4 * ($last - $first)) as $from | ($first + 0.6 * ($last - $first)) as $to
        | [.traceEvents[] | select(.ph == "X" and .ts < $to and .ts + .dur > $from)] | length' >expected
    jq '[.traceEvents[] | select(.ph == "X")] | length' part.json | diff expected -
}

@test "times of cut count from where those of a report do" {
    mkdir spool
    gzip -dc "$data/h200/train.spool.gz" >spool/1-0.spool
    cp "$data/h200/train.session.json" spool/session.json
    "$gputrace" convert -q spool train.json
    "$gputrace" cut -q train.json -o part.json --from=3ms --to=9ms
    run -0 "$gputrace" report --from=3ms --to=9ms -r kernels -f json train.json
    assert_equal "$(jq '[.traceEvents[] | select(.cat == "kernel")] | length' part.json)" "$(jq '[.kernels[].calls] | add' <<<"$output")"
}

@test "a spool directory must be converted first" {
    mkdir spool
    gzip -dc "$data/h200/vector_add.spool.gz" >spool/1-0.spool
    run -1 "$gputrace" cut spool -o part.json --from=10%
    assert_output "gputrace: 'spool' is a spool directory: write its trace first, with 'gputrace convert spool trace.pftrace'"
}

@test "an existing file is kept, a pipe is refused, no part or no file is an error" {
    echo old >part.json
    run -1 "$gputrace" cut trace.json -o part.json --from=1us
    assert_output --partial "'part.json' is there already: --force replaces it"
    assert_equal "$(cat part.json)" old
    run -1 bash -c "'$gputrace' cut - -o out.json --from=1us <trace.json"
    assert_output --partial 'it is read twice'
    run -2 "$gputrace" cut trace.json -o out.json
    assert_output "gputrace: 'cut' needs a part of 'trace.json': --from, --to, --range, --step, --rank, --process, --gpu, --stream, --kernel or --thread"
    run -2 "$gputrace" cut trace.json --from=1us
    run -2 "$gputrace" cut trace.json out.json -o two.json --from=1us
    run -2 "$gputrace" cut trace.json two.json -o out.json --from=1us
    run -2 "$gputrace" cut trace.json -o out.txt --from=1us
    assert_output --regexp 'must end in .* \.json, '
    run -2 "$gputrace" cut trace.json -o out.json --range=
    local option
    for option in --from= --from=x --to=101% --gpu=x --process=-1 --from=1e40; do
        run -2 "$gputrace" cut trace.json -o out.json "$option"
        [[ $output = "gputrace: --"* ]] || fail "$option: $output"
    done
    run -1 "$gputrace" cut trace.json -o out.json --from=2s
    assert_output "gputrace: --from=2s is after the end of 'trace.json', which lasts 0.0003s"
    run -1 "$gputrace" cut trace.json -o trace.json --force --from=2us
    assert_output --partial 'are the same file'
    echo '[]' >empty.json
    run -1 "$gputrace" cut empty.json -o out.json --from=0
    assert_output "gputrace: 'empty.json' has no events: there is nothing to cut out"
    echo '{"traceEvents": [{"ph":"X"' >broken.json
    run -1 "$gputrace" cut broken.json -o out.json --from=0
    assert_output --partial 'the file is incomplete'
    [ ! -e out.json ]
}

@test "the output may be -o or the second name, and the input the newest trace here" {
    "$gputrace" cut -q trace.json -o one.json --from=10%
    "$gputrace" cut -q trace.json two.json --from=10%
    cmp one.json two.json
    "$gputrace" cut -q -o three.json --from=10%
    cmp one.json three.json
}
