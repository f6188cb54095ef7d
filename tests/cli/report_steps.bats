# The sections `steps` and `slowest-step`: which repetitions are taken for steps, and what differs in the slowest.

load common

# x CATEGORY NAME TID START DURATION [ARGS [PID]]
x() {
    printf '{"ph":"X","cat":"%s","name":"%s","pid":%s,"tid":%s,"ts":%s,"dur":%s,"args":{%s}}\n' "$1" "$2" "${7-1}" "$3" "$4" "$5" "${6-}"
}

# launch CORRELATION TID CALLED START DURATION NAME: a call and the kernel it launches
launch() {
    x cuda_runtime cudaLaunchKernel "$2" "$3" 2 "\"correlation\":$1"
    x kernel "$6" 1 "$4" "$5" "\"device\":0,\"stream\":1,\"correlation\":$1" 0
}

trace() {
    paste -sd, | sed 's/^/{"traceEvents":[/;s/$/]}/' >trace.json
}

steps() {
    "$gputrace" report -r steps -f json trace.json |
        jq -c '.steps[] | [.name, .count, .avg_ns, .max_ns, .gpu_ns, .launches, .slowest, .slowest_at_ns]'
}

parts() {
    "$gputrace" report -r slowest-step -f json trace.json |
        jq -c '."slowest-step"[] | [.kind, .name, .difference_ns, .slowest_ns, .slowest_count]'
}

@test "ProfilerStep#N are the steps, whatever else repeats; the slowest is compared with the others" {
    {
        for i in 0 1 2 3; do
            x user_annotation "ProfilerStep#$i" 7 $((i * 1000)) $((100 + 50 * (i == 2)))
            x user_annotation forward 7 $((i * 1000)) 20
            x user_annotation forward 7 $((i * 1000 + 30)) 20
            launch $((i + 1)) 7 $((i * 1000 + 10)) $((i * 1000 + 500)) $((10 + 30 * (i == 2))) mm
        done
    } | trace
    steps >got
    diff - got <<<'["ProfilerStep",4,112500,150000,17500,1,2,2000000]'
    parts >got
    diff - got <<'END'
["host","(outside API calls)",50000,148000,1]
["kernel","mm",30000,40000,1]
END
}

@test "the outermost ranges that launch most are the steps; names may end with a number; ranges that launch less are not" {
    {
        x user_annotation whole 7 0 100000
        x user_annotation load 7 10000 80000
        for i in 0 1 2; do
            x user_annotation "step $i" 7 $((i * 1000)) 100
            x user_annotation inner 7 $((i * 1000 + 5)) 90
            x user_annotation compile 9 $((i * 1000)) 900
            launch $((i + 1)) 7 $((i * 1000 + 10)) $((i * 1000 + 500)) 10 mm
        done
    } | trace
    steps >got
    diff - got <<<'["step",3,100000,100000,10000,1,0,0]'
}

@test "a step has what other threads of its process launch while it is open" {
    {
        for i in 0 1 2; do
            x user_annotation step 7 $((i * 1000)) 100
            launch $((i + 1)) 7 $((i * 1000 + 10)) $((i * 1000 + 500)) 10 forward
            launch $((i + 11)) 8 $((i * 1000 + 50)) $((i * 1000 + 600)) 20 backward
            launch $((i + 21)) 8 $((i * 1000 + 150)) $((i * 1000 + 700)) 40 outside
        done
    } | trace
    steps >got
    diff - got <<<'["step",3,100000,100000,30000,2,1,0]'
}

@test "without ranges the sequence of operations has steps, which the rarest operation begins" {
    {
        for i in 0 1 2 3 4; do
            launch $((10 * i + 1)) 7 $((i * 1000 + 10)) $((i * 1000 + 100)) 10 begin
            for k in 2 3 4; do
                launch $((10 * i + k)) 7 $((i * 1000 + 10 * k)) $((i * 1000 + 100 * k)) 10 same
            done
        done
    } | trace
    steps >got
    diff - got <<<'["(GPU operations that repeat)",4,1000000,1000000,40000,4,1,90000]'
}

@test "steps whose first ones do more are found, and not the layers in them" {
    local id=0 at
    for i in {0..14}; do
        at=$((i * 10000))
        launch $((++id)) 7 $((at += 100)) $((at + 5)) 10 begin
        for layer in {1..6}; do
            for name in product norm add; do
                launch $((++id)) 7 $((at += 100)) $((at + 5)) 10 $name
            done
        done
        for parameter in {1..4}; do
            launch $((++id)) 7 $((at += 100)) $((at + 5)) 10 "update $parameter"
        done
        [ "$i" -gt 2 ] || launch $((++id)) 7 $((at += 100)) $((at + 5)) 10 "rebuild $i"
    done >events
    trace <events
    run -0 steps
    assert_output --regexp '^\["\(GPU operations that repeat\)",14,10000000,'
}

@test "what does not repeat has no steps" {
    {
        launch 1 7 10 100 10 a
        launch 2 7 20 200 10 b
        launch 3 7 30 300 10 a
        x user_annotation once 7 0 50
        x user_annotation twice 7 60 5
        x user_annotation twice 7 70 5
    } | trace
    run -0 "$gputrace" report -r steps trace.json
    assert_output $'Steps (steps)\n  none in this trace'
}

@test "calls of NCCL and MPI that repeat are not steps, whatever they launch; ranges of the program are" {
    calls() { # DOMAIN
        for i in 0 1 2 3; do
            x user_annotation AllReduce 7 $((i * 1000 + 5)) 60 "\"domain\":\"$1\""
            launch $((i + 1)) 7 $((i * 1000 + 10)) $((i * 1000 + 500)) 10 mm
        done
    }
    for domain in NCCL MPI; do
        calls "$domain" | trace
        [ -z "$(steps | grep AllReduce)" ]
    done
    calls mine | trace
    steps | grep -F '["AllReduce",4,'
}

@test "kernels that all start at one time have no steps, and the other sections are as usual" {
    local id=0
    for i in {1..4}; do
        for name in a b c; do
            launch $((++id)) 7 $((10 * id)) 1000 10 $name
        done
    done | trace
    run -0 steps
    assert_output ''
    run -0 "$gputrace" report -r all trace.json
    assert_line --regexp '^ +1\.0 +10\.0 µs +12 +0 +0 .* 0 +1$'
}

@test "one ProfilerStep#N is the step, whatever repeats in it: in ranks, --step, diff and parts of jobs too" {
    {
        x user_annotation "ProfilerStep#7" 7 0 10000
        for i in 0 1 2 3; do
            x user_annotation attention 7 $((i * 2000 + 1000)) 300
            launch $((i + 1)) 7 $((i * 2000 + 1010)) $((i * 2000 + 1100)) 1500 attn
        done
    } | trace
    sed -i 's/^{/{"distributedInfo":{"backend":"nccl","rank":0,"world_size":1},/' trace.json
    steps >got
    diff - got <<<'["ProfilerStep",1,10000000,10000000,6000000,4,7,0]'
    run -0 parts
    assert_output ''
    run -0 "$gputrace" report -r ranks -f csv --columns=step trace.json
    assert_output --partial 10000000
    run -0 "$gputrace" report -r kernels --step=7 -f csv --columns=calls trace.json
    assert_output --regexp $'calls\r\n4'
    run -1 "$gputrace" report --step=1 trace.json
    assert_output --partial "its steps, ProfilerStep, are 7 to 7"
    "$gputrace" report --partial trace.json -o one.gpr
    run -0 "$gputrace" report -r ranks -f csv --columns=step one.gpr
    assert_output --partial 10000000
}

# iterations COUNT: each takes 10 ms: a copy by a DataLoader, two kernels, and an optimizer that launches a third
iterations() {
    local i at
    for ((i = 0; i < $1; i++)); do
        at=$((i * 10000))
        x user_annotation "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__" 7 $((at)) 200
        launch $((i * 10 + 1)) 7 $((at + 300)) $((at + 400)) 3000 "forward $i"
        launch $((i * 10 + 2)) 7 $((at + 4000)) $((at + 4100)) 4000 backward
        [ -z "${2-}" ] || x user_annotation "$2" 7 $((at + 9000)) 300
        launch $((i * 10 + 3)) 7 $((at + 9010)) $((at + 9100)) 500 update
    done
}

@test "a range of PyTorch's optimizers parts the steps, and finding warm-up means the same steps" {
    {
        iterations 30 Optimizer.step#SGD.step
        x user_annotation Optimizer.step#SGD.step 7 -2000000 300
        launch 999 7 -1999990 -1999900 500 update
    } | trace
    steps >got
    diff - got <<'END'
["Optimizer.step#SGD.step (to the next)",30,76633333.33333333,2009000000,7500000,3,1,0]
END
    run -0 "$gputrace" report -r findings trace.json
    assert_output --regexp 'takes 2.01 s until its steps are as fast as usual, 10 ms,'
}

@test "ranges that take and launch little of a step are parts of it; without periods they part the steps" {
    local name
    for name in update "enumerate(DataLoader)#next" Optimizer.zero_grad#Adam.zero_grad; do
        iterations 20 "$name" | trace
        run -0 "$gputrace" report -r steps -f json trace.json
        jq -e '.steps | length == 1 and .[0].count == 19 and .[0].avg_ns == 10000000' <<<"$output"
    done
}

@test "a range in which the optimizers of its process do not run is a part of the step; one around them is the step" {
    {
        iterations 5 Optimizer.step#SGD.step
        for i in {0..4}; do x user_annotation forward 7 $((i * 10000 + 250)) 6000; done
    } | trace
    steps | grep -F '["Optimizer.step#SGD.step (to the next)",4,10000000,'
    {
        iterations 5 Optimizer.step#SGD.step
        for i in {0..4}; do x user_annotation "step $i" 7 $((i * 10000 + 250)) 9500; done
    } | trace
    steps | grep -F '["step",5,9500000,'
}

@test "collective operations and autograd's operators are no steps, whatever they launch" {
    local name
    for name in nccl:all_reduce "autograd::engine::evaluate_function: MmBackward0" "aten::mm"; do
        for i in 0 1 2 3; do
            x user_annotation "$name" 7 $((i * 1000 + 5)) 900
            launch $((i + 1)) 7 $((i * 1000 + 10)) $((i * 1000 + 500)) 10 mm
        done | trace
        run -0 steps
        assert_output ''
    done
}
