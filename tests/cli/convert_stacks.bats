#!/usr/bin/env bats
# GPU time by stack: folded stacks and speedscope's JSON. Their sums are the GPU time of the trace, and each operation is
# below the ranges and operators that were open around its call.

load common

kineto=$root/tests/data/kineto/kineto-train-h200.json.gz

# The file OUT of a trace of these events.
stacks_of() { # OUT EVENT...
    local out=$1 IFS=,
    shift
    printf '{"traceEvents":[%s]}' "$*" >made.json
    "$gputrace" convert -q --force made.json "$out"
}

slice() { # CATEGORY NAME TID START DURATION [ARGS]
    printf '{"ph":"X","cat":"%s","name":"%s","pid":1,"tid":%s,"ts":%s,"dur":%s,"args":{%s}}' "$1" "$2" "$3" "$4" "$5" "${6-}"
}
call() { # CORRELATION TID START
    slice cuda_runtime cudaLaunchKernel "$2" "$3" 1 "\"correlation\":$1"
}
kernel() { # CORRELATION NAME DURATION [DEVICE]
    printf '{"ph":"X","cat":"kernel","name":"%s","pid":%s,"tid":7,"ts":900,"dur":%s,"args":{"device":%s,"stream":7,"correlation":%s}}' \
        "$2" "${4-0}" "$3" "${4-0}" "$1"
}

sum_of() { # FILE.folded
    awk '{ sum += $NF } END { print sum + 0 }' "$1"
}

# The GPU time of a trace by the report.
gpu_time() { # TRACE
    "$gputrace" report -r kernels,memtime --format=json "$1" | jq '[.kernels[], .memtime[] | .total_ns] | add'
}

# The stacks of a file of speedscope's, as lines of folded stacks, which its schema allows.
unfold() { # FILE.speedscope.json
    jq -e '(.["$schema"] == "https://www.speedscope.app/file-format-schema.json")
        and (.shared.frames | all(keys == ["name"] and (.name | type) == "string"))
        and (.profiles | length > 0 and all(.type == "sampled" and .unit == "nanoseconds" and .startValue == 0
            and (.name | type) == "string" and (.samples | length) == (.weights | length)
            and (.weights | add // 0) == .endValue))
        and (.activeProfileIndex == 0) and (.exporter | startswith("gputrace "))' "$1" >schema
    jq -r '.shared.frames as $frames | .profiles[] | [.samples, .weights] | transpose[]
        | (.[0] | map($frames[.].name) | join(";")) + " \(.[1])"' "$1" | LC_ALL=C sort
}

@test "the stacks of vector_add are its ranges, calls and kernels" {
    "$gputrace" run -q -o trace.json "$samples/vector_add"
    "$gputrace" convert -q trace.json trace.folded
    sed 's/ [0-9]*$//' trace.folded >stacks
    diff - stacks <<'END'
add chunks;chunk;cudaLaunchKernel;vector_add(float const*, float const*, float*, int)
add chunks;chunk;cudaMemcpyAsync;Memcpy DtoH (Device -> Pinned)
add chunks;chunk;cudaMemcpyAsync;Memcpy HtoD (Pinned -> Device)
prepare;cudaMemset;Memset (Device)
END
    assert_equal "$(sum_of trace.folded)" "$(gpu_time trace.json)"
    "$gputrace" convert -q trace.json trace.speedscope.json
    diff trace.folded <(unfold trace.speedscope.json)
}

@test "a spool, a .pftrace and a .json.gz give the same stacks as JSON" {
    mkdir spool
    gzip -dc "$root/tests/data/h200/train.spool.gz" >spool/1-0.spool
    cp "$root/tests/data/h200/train.session.json" spool/session.json
    "$gputrace" convert -q spool expected.folded
    assert_equal "$(sum_of expected.folded)" "$(gpu_time spool)"
    LC_ALL=C sort -c expected.folded
    local ending
    for ending in json json.gz pftrace; do
        "$gputrace" convert -q spool trace.$ending
        "$gputrace" convert -q --force trace.$ending made.folded
        diff expected.folded made.folded
    done
    "$gputrace" convert -q spool made.folded.gz
    diff expected.folded <(gzip -dc made.folded.gz)
    "$gputrace" convert -q spool made.speedscope.json.gz
    gzip -dc made.speedscope.json.gz >made.speedscope.json
    diff expected.folded <(unfold made.speedscope.json)
}

@test "kernels of PyTorch's backward pass are below the range around backward()" {
    "$gputrace" convert -q "$kineto" trace.folded
    assert_equal "$(sum_of trace.folded)" "$(gpu_time "$kineto")"
    LC_ALL=C sort -c trace.folded
    assert_equal "$(cut -d';' -f1,2 trace.folded | grep -c '^ProfilerStep#[123];\(forward\|backward\|optimizer\|aten::item\)$')" \
        "$(wc -l <trace.folded)"
    grep -q '^ProfilerStep#2;backward;autograd::engine::evaluate_function: AddmmBackward0;AddmmBackward0;aten::mm;cuLaunchKernel;void cutlass' trace.folded
    "$gputrace" convert -q "$kineto" trace.speedscope.json
    diff trace.folded <(unfold trace.speedscope.json)
    assert_equal "$(jq -r '.profiles[].name' trace.speedscope.json)" 'GPU 0 (NVIDIA H200)'
}

@test "an autograd thread's operation is below the range of the forward pass, another thread's is not" {
    local forward='{"ph":"s","cat":"fwdbwd","name":"fwdbwd","id":5,"pid":1,"tid":1,"ts":12}'
    local backward='{"ph":"f","bp":"e","cat":"fwdbwd","name":"fwdbwd","id":5,"pid":1,"tid":2,"ts":50}'
    local events=("$(slice user_annotation step 1 10 20)" "$(slice cpu_op aten::mm 1 12 3)"
        "$(slice cpu_op MmBackward0 2 50 9)" "$(call 1 2 51)" "$(kernel 1 k 1)")
    stacks_of with.folded "${events[@]}" "$forward" "$backward"
    assert_equal "$(<with.folded)" 'step;MmBackward0;cudaLaunchKernel;k 1000'
    stacks_of without.folded "${events[@]}"
    assert_equal "$(<without.folded)" 'MmBackward0;cudaLaunchKernel;k 1000'
}

@test "ranges, operators and Python functions of a thread are one stack by time" {
    stacks_of out.folded "$(slice python_function 'train.py(3): step' 1 0 100)" "$(slice user_annotation forward 1 5 50)" \
        "$(slice cpu_op aten::linear 1 10 20)" "$(slice cpu_op aten::addmm 1 11 10)" "$(slice cpu_op other 2 0 99)" \
        "$(call 1 1 12)" "$(call 2 1 25)" "$(call 3 1 60)" "$(call 4 1 200)" \
        "$(kernel 1 inner 1)" "$(kernel 2 outer 2)" "$(kernel 3 python 3)" "$(kernel 4 none 4)"
    diff - out.folded <<'END'
cudaLaunchKernel;none 4000
train.py(3): step;cudaLaunchKernel;python 3000
train.py(3): step;forward;aten::linear;aten::addmm;cudaLaunchKernel;inner 1000
train.py(3): step;forward;aten::linear;cudaLaunchKernel;outer 2000
END
}

@test "an operation whose call is not in the trace says so" {
    stacks_of out.folded "$(slice user_annotation step 1 0 2000)" "$(kernel 9 lost 5)"
    assert_equal "$(<out.folded)" '(call not recorded);lost 5000'
}

@test "a semicolon in a name becomes a comma, a line end a blank; what is equal then is one line" {
    stacks_of out.folded "$(slice user_annotation 'a;b\nc' 1 0 5)" "$(slice user_annotation 'a,b c' 1 10 5)" \
        "$(slice user_annotation 'é \"q\" \\' 1 20 5)" "$(slice user_annotation '' 1 30 5)" \
        "$(call 1 1 1)" "$(call 2 1 11)" "$(call 3 1 21)" "$(call 4 1 31)" \
        "$(kernel 1 'f<1;2>' 1)" "$(kernel 2 'f<1,2>' 2)" "$(kernel 3 k 4)" "$(kernel 4 k 8)"
    diff - out.folded <<'END'
(unnamed);cudaLaunchKernel;k 8000
a,b c;cudaLaunchKernel;f<1,2> 3000
é "q" \;cudaLaunchKernel;k 4000
END
    "$gputrace" convert -q made.json out.speedscope.json
    unfold out.speedscope.json >unfolded
    assert_equal "$(jq -c '[.shared.frames[].name] | map(select(test("[;\n\"]")))' out.speedscope.json)" \
        '["a;b\nc","f<1;2>","é \"q\" \\"]'
}

@test "each GPU is a profile of speedscope's, and of several processes each one's part of it" {
    stacks_of out.speedscope.json "$(call 1 1 1)" "$(call 2 1 3)" "$(kernel 1 a 1 0)" "$(kernel 2 b 2 1)"
    unfold out.speedscope.json >unfolded
    assert_equal "$(jq -c '[.profiles[] | [.name, .endValue]]' out.speedscope.json)" '[["GPU 0",1000],["GPU 1",2000]]'
    rm out.speedscope.json
    stacks_of out.speedscope.json "$(call 1 1 1)" "$(call 2 1 3 | sed 's/"pid":1/"pid":5/')" "$(kernel 1 a 1)" "$(kernel 2 b 2)"
    assert_equal "$(jq -c '[.profiles[] | [.name, .endValue]]' out.speedscope.json)" \
        '[["GPU 0, process (1)",1000],["GPU 0, process (5)",2000]]'
}

@test "a trace without GPU operations gives files without stacks" {
    echo '[]' >none.json
    run -0 "$gputrace" convert none.json none.folded
    assert_output "gputrace: 0 stacks in 'none.folded' (0 bytes)"
    assert_equal "$(wc -c <none.folded)" 0
    "$gputrace" convert -q none.json none.speedscope.json
    assert_equal "$(unfold none.speedscope.json)" ''
    assert_equal "$(jq -c '.profiles | map([.samples, .weights])' none.speedscope.json)" '[[[],[]]]'
}

@test "more than 65,536 different stacks are summed up as others, and the sum stays" {
    jq -nc '[range(70000) | {ph: "X", cat: "user_annotation", name: "step \(.)", pid: 1, tid: 1, ts: (. * 10), dur: 9},
        {ph: "X", cat: "cuda_runtime", name: "c", pid: 1, tid: 1, ts: (. * 10 + 1), dur: 1, args: {correlation: .}},
        {ph: "X", cat: "kernel", name: "k", pid: 0, tid: 7, ts: (. * 10 + 2), dur: 1, args: {correlation: .}}]' >many.json
    "$gputrace" convert -q many.json many.folded
    assert_equal "$(sum_of many.folded)" 70000000
    (($(wc -l <many.folded) < 65536))
    assert_equal "$(grep -c '^(others) [0-9]*$' many.folded)" 1
    LC_ALL=C sort -c many.folded
}

@test "ranges that nest deeper than 200 are left out beyond that depth" {
    jq -nc '[range(1000) | {ph: "X", cat: "user_annotation", name: "r\(.)", pid: 1, tid: 1, ts: ., dur: (3000 - 2 * .)}]
        + [{ph: "X", cat: "cuda_runtime", name: "c", pid: 1, tid: 1, ts: 1000, dur: 1, args: {correlation: 1}},
           {ph: "X", cat: "kernel", name: "k", pid: 0, tid: 7, ts: 1002, dur: 1, args: {correlation: 1}}]' >deep.json
    "$gputrace" convert -q deep.json deep.folded
    assert_equal "$(tr ';' '\n' <deep.folded | wc -l)" 202
    assert_equal "$(sum_of deep.folded)" 1000
}

@test "a trace that is cut off gives its stacks up to there, or an error and no file" {
    printf '[%s,%s,{"ph":"X"' "$(call 1 1 1)" "$(kernel 1 k 1)" >cut.json
    run -0 "$gputrace" convert cut.json cut.folded
    assert_output --partial 'is cut off at byte'
    assert_equal "$(<cut.folded)" 'cudaLaunchKernel;k 1000'
    gzip -dc "$kineto" | head -c 200 >incomplete.json
    local ending
    for ending in folded speedscope.json; do
        run -1 "$gputrace" convert incomplete.json out.$ending
        assert_output --partial 'the file is incomplete'
    done
    assert_equal "$(find . -name 'out*')" ''
}

@test "'run' refuses to write stacks, and says which command does" {
    run -125 "$gputrace" run -o x.speedscope.json true
    assert_output --partial "'-o x.speedscope.json': only 'gputrace convert' writes .speedscope.json, of a trace: use .json"
    run -125 "$gputrace" run -o x.folded.gz true
    assert_output --partial "only 'gputrace convert' writes .folded.gz"
}

@test "frames of call stacks take the place of ranges where the trace has them" {
    "$gputrace" run -q --stacks=launch:1 -o trace.json "$samples/launches" >/dev/null
    "$gputrace" convert -q trace.json out.folded
    run -0 cat out.folded
    refute_line --partial '_start'
    assert_line --regexp '^main \(launches.cu:[0-9]+\);launch_brackets \(launches.cu:[0-9]+\);cudaLaunchKernel;by_brackets\(int\*\) [0-9]+$'
    # as much as the GPU did in all
    assert_equal "$(awk '{ sum += $NF } END { print sum }' out.folded)" \
        "$(jq '[.traceEvents[] | select(.cat == "kernel" or .cat == "gpu_memcpy" or .cat == "gpu_memset") | .dur * 1000 | round] | add' trace.json)"
    "$gputrace" convert -q trace.json out.speedscope.json
    jq -e '[.shared.frames[].name] | any(startswith("launch_brackets (launches.cu:"))' out.speedscope.json
}
