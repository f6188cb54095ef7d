# The section `operators`: figures worked out by hand from small traces.

load common


# x CATEGORY NAME TID START DURATION [ARGS]
x() {
    printf '{"ph":"X","cat":"%s","name":"%s","pid":%s,"tid":%s,"ts":%s,"dur":%s,"args":{%s}}\n' "$1" "$2" "${7-1}" "$3" "$4" "$5" "${6-}"
}

trace() {
    paste -sd, | sed 's/^/{"traceEvents":[/;s/$/]}/' >trace.json
}

operators() {
    "$gputrace" report -r operators -f json trace.json |
        jq -c '.operators | sort_by(.name)[] | [.name, .calls, .host_ns, .self_host_ns, .gpu_ns, .self_gpu_ns, .launches]'
}

@test "an operator's own time is without the operators and calls in it; GPU time goes to who launched and to all around" {
    {
        x cpu_op outer 7 0 100
        x cpu_op inner 7 10 50
        x cuda_runtime cudaLaunchKernel 7 20 5 '"correlation":1'
        x cuda_driver cuLaunchKernel 7 21 3 '"correlation":1'
        x cuda_runtime cudaLaunchKernel 7 70 10 '"correlation":2'
        x kernel k1 1 200 30 '"device":0,"stream":1,"correlation":1' 0
        x kernel k2 1 230 7 '"device":0,"stream":1,"correlation":2' 0
    } | trace
    operators >got
    diff - got <<'END'
["inner",1,50000,45000,30000,30000,1]
["outer",1,100000,40000,37000,7000,1]
END
}

@test "what graphs replay counts for the innermost operator that it was captured in, beside what that launched itself" {
    {
        x cpu_op aten::linear 7 0 100
        x cpu_op aten::addmm 7 10 50
        x cuda_runtime cudaLaunchKernel 7 20 5 '"correlation":1'
        x kernel k1 1 200 30 '"device":0,"stream":1,"correlation":1' 0
        x cpu_op replaying 7 300 10
        x cuda_runtime cudaGraphLaunch 7 301 5 '"correlation":2'
        x kernel k1 1 310 40 '"device":0,"stream":1,"correlation":2,"captured in":"forward / aten::linear / aten::addmm / inner"' 0
        x kernel k2 1 350 5 '"device":0,"stream":1,"correlation":2,"captured in":"forward / aten::linear"' 0
        x kernel k3 1 355 6 '"device":0,"stream":1,"correlation":2,"captured in":"forward"' 0
        x kernel k4 1 361 7 '"device":0,"stream":1,"correlation":2' 0
    } | trace
    "$gputrace" report -r operators -f json trace.json |
        jq -c '.operators[] | [.name, .self_gpu_ns, .gpu_ns, .replayed_ns]' >got
    diff - got <<'END'
["aten::addmm",30000,30000,40000]
["replaying",58000,58000,null]
["aten::linear",0,30000,5000]
END
    "$gputrace" report -r operators trace.json | grep -q Replayed
    "$gputrace" report -r operators --by-shape -f json trace.json | jq -e '.operators | all(.replayed_ns == null)'
}

@test "no graph replays what was captured in operators: there is no such column" {
    {
        x cpu_op outer 7 0 100
        x cuda_runtime cudaLaunchKernel 7 20 5 '"correlation":1'
        x kernel k1 1 200 30 '"device":0,"stream":1,"correlation":1,"captured in":"forward"' 0
    } | trace
    "$gputrace" report -r operators trace.json >got
    run ! grep -q Replayed got
}

@test "operators of several threads, one after another and at one time, do not mix" {
    {
        x cpu_op a 7 0 10
        x cpu_op b 7 10 10
        x cpu_op a 8 5 20
        x cpu_op c 8 5 20
        x cuda_runtime cudaLaunchKernel 7 10 2 '"correlation":1'
        x cuda_runtime cudaLaunchKernel 8 6 2 '"correlation":2'
        x cuda_runtime cudaLaunchKernel 9 6 2 '"correlation":3'
        x kernel k 1 100 1 '"device":0,"stream":1,"correlation":1' 0
        x kernel k 1 110 2 '"device":0,"stream":1,"correlation":2' 0
        x kernel k 1 120 4 '"device":0,"stream":1,"correlation":3' 0
    } | trace
    operators >got
    diff - got <<'END'
["a",2,30000,10000,2000,0,0]
["b",1,10000,8000,1000,1000,1]
["c",1,20000,18000,2000,2000,1]
END
}

@test "an operator whose only child has its name is one call with it; with other children it is two, as torch.profiler counts" {
    {
        x cpu_op once 7 0 100
        x cpu_op once 7 10 50
        x cpu_op twice 7 200 100
        x cpu_op other 7 210 10
        x cpu_op twice 7 230 50
    } | trace
    operators >got
    diff - got <<'END'
["once",1,100000,100000,0,0,0]
["other",1,10000,10000,0,0,0]
["twice",2,150000,90000,0,0,0]
END
}

@test "no operator: the section is empty" {
    x cuda_runtime cudaLaunchKernel 7 20 5 '"correlation":1' | trace
    run -0 "$gputrace" report -r operators trace.json
    assert_output $'PyTorch operators (operators)\n  none in this trace'
}

# dims SHAPES: the arguments of an operator that was recorded with record_shapes=True
dims() {
    printf '"Input Dims": %s, "Input type": ["float"]' "$1"
}

# What the section shows with --by-shape.
by_shape() {
    "$gputrace" report -r operators -f json --by-shape "${1-trace.json}" |
        jq -c '.operators | sort_by(.name, .shapes)[] | [.name, .shapes, .calls, .host_ns, .self_host_ns, .self_gpu_ns, .launches]'
}

shaped() {
    {
        x cpu_op mm 7 0 10 "$(dims '[[8, 128], [128,768]]')"
        x cuda_runtime cudaLaunchKernel 7 2 3 '"correlation":1'
        x cpu_op mm 7 20 20 "$(dims '[[8,128],[128, 768]]')"
        x cpu_op mm 7 50 40 "$(dims '[[16,128],[128,768]]')"
        x cpu_op mm 7 100 50
        x cpu_op add 7 200 1 "$(dims '[[4],[]]')"
        x cpu_op cat 7 210 2 "$(dims '[[[2,3],[4],[]],[]]')"
        x cpu_op rand 7 220 4 "$(dims '[]')"
        x cpu_op escaped 7 230 8 "\"x\":\"\\u0041\",$(dims '[[5, 6],[]]')"
        x cpu_op words 7 240 16 "$(dims '["a"]')"
        x kernel k 1 300 30 '"device":0,"stream":1,"correlation":1' 0
    } | trace
}

@test "--by-shape has a row for each operator and its input shapes" {
    shaped
    by_shape >got
    diff - got <<'END2'
["add","4, -",1,1000,1000,0,0]
["cat","[2×3, 4, -], -",1,2000,2000,0,0]
["escaped","5×6, -",1,8000,8000,0,0]
["mm",null,1,50000,50000,0,0]
["mm","16×128, 128×768",1,40000,40000,0,0]
["mm","8×128, 128×768",2,30000,27000,30000,1]
["rand","",1,4000,4000,0,0]
["words",null,1,16000,16000,0,0]
END2
}

@test "without --by-shape operators of all shapes are one row, and the table has no column of shapes" {
    shaped
    operators >got
    grep -Fx '["mm",4,120000,117000,30000,30000,1]' got
    [ "$(wc -l <got)" = 6 ]
    run -0 "$gputrace" report -r operators --width=0 trace.json
    refute_output --partial 'Input shapes'
    run -0 "$gputrace" report -r operators --width=0 --by-shape trace.json
    assert_output --partial 'Input shapes'
}

@test "--by-shape shows the same of a trace that was converted" {
    shaped
    by_shape >want
    for format in pftrace pftrace.gz json.gz; do
        "$gputrace" convert trace.json "again.$format"
        by_shape "again.$format" | diff want -
    done
}

@test "--by-shape: an only child of the same name counts with its parent's shapes, another with its own" {
    {
        x cpu_op once 7 0 100 "$(dims '[[1]]')"
        x cpu_op once 7 10 50 "$(dims '[[2]]')"
        x cpu_op twice 7 200 100 "$(dims '[[1]]')"
        x cpu_op twice 7 210 20 "$(dims '[[2]]')"
        x cpu_op twice 7 230 40 "$(dims '[[3]]')"
        x cpu_op other 7 280 10 "$(dims '[[4]]')"
    } | trace
    by_shape >got
    diff - got <<'END2'
["once","1",1,100000,100000,0,0]
["other","4",1,10000,10000,0,0]
["twice","1",1,100000,30000,0,0]
["twice","2",1,20000,20000,0,0]
["twice","3",1,40000,40000,0,0]
END2
}

@test "--by-shape: shapes of more than 512 bytes are cut" {
    local long
    long=$(printf '[128,50257],%.0s' {1..100})
    x cpu_op long 7 0 100 "$(dims "[${long%,}]")" | trace
    shapes=$("$gputrace" report -r operators -f json --by-shape trace.json | jq -r '.operators[0].shapes')
    [[ $shapes == '128×50257, 128×50257, '*'…' ]]
    [ "${#shapes}" -lt 520 ]
}

@test "an operator with shapes does not look like memory or a range of a domain" {
    x user_annotation step 7 0 100 "$(dims '[[1]]')" | trace
    run -0 "$gputrace" report -r nvtx -f json trace.json
    [ "$(jq -c '[.nvtx[] | [.name, .domain]]' <<<"$output")" = '[["step",null]]' ]
}
