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
