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
