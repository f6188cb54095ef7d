# The section `lines`: GPU time, waiting and memory by line of the program, from the call stacks of a trace.

load common

lines() {
    "$gputrace" report -r lines -f json trace.json | jq -c '.lines | sort_by(.name)[]
        | [.name, .gpu_ns, .measured_percent, .operations, .waited_ns, .waits, .bytes_bytes, .allocations]'
}

kernel() { # NAME CORRELATION DURATION GRID [STACK]
    printf '{"ph":"X","cat":"kernel","name":"%s","pid":0,"tid":7,"ts":%d,"dur":%s' "$1" "$((100 * $2))" "$3"
    printf ',"args":{"device":0,"stream":7,"correlation":%d,"grid":[%d,1,1],"block":[32,1,1]%s}},\n' "$2" "$4" \
        "${5:+,\"stack\":$5}"
}

call() { # NAME CORRELATION DURATION [STACK]
    printf '{"ph":"X","cat":"cuda_runtime","name":"%s","pid":9,"tid":9,"ts":%d,"dur":%s,"args":{"correlation":%d%s}},\n' \
        "$1" "$((100 * $2))" "$3" "$2" "${4:+,\"stack\":$4}"
}

allocation() { # BYTES [STACK]
    printf '{"ph":"i","cat":"memory","name":"Allocate Device","pid":9,"tid":9,"ts":1,"s":"t",'
    printf '"args":{"address":"0x10","bytes":%d,"kind":"Device","device":0%s}},\n' "$1" "${2:+,\"stack\":$2}"
}

# main() calls work() and wait(); work() calls the library f(), which calls CUDA.
frames='{"1": {"name": "_start", "category": "/bin/app"},
    "2": {"name": "main", "category": "/bin/app", "file": "/src/app.cu", "line": 50, "parent": 1},
    "3": {"name": "work", "category": "/bin/app", "file": "/src/app.cu", "line": 10, "parent": 2},
    "4": {"name": "f", "category": "/usr/lib/python3/site-packages/torch/lib/libtorch_cuda.so", "parent": 3, "offset": "0x10"},
    "5": {"name": "cudaLaunchKernel", "category": "/lib/libcudart.so.13", "parent": 4, "offset": "0x20"},
    "6": {"name": "cudaLaunchKernel", "category": "/lib/libcudart.so.13", "parent": 2, "offset": "0x20"},
    "7": {"name": "cudaDeviceSynchronize", "category": "/lib/libcudart.so.13", "parent": 3, "offset": "0x20"}}'

trace() { # FRAMES, events from stdin
    printf '{"stackFrames": %s, "traceEvents": [\n%s\n{"ph":"M","name":"process_name","pid":9,"args":{"name":"app"}}]}' \
        "$1" "$(cat)" >trace.json
}

@test "GPU time goes to the innermost line of the program, past the libraries that it calls" {
    { kernel a 1 3.000 1 5; kernel b 2 4.000 1 6; } | trace "$frames"
    lines >got
    diff - got <<'END'
["main (app.cu:50)",4000,100,1,null,null,null,null]
["work (app.cu:10)",3000,100,1,null,null,null,null]
END
}

@test "launches without a stack count as those of their kernel and grid that have one" {
    {
        kernel a 1 1.000 1 5 # of 10 us with a stack, 1 us is work()'s
        kernel a 2 9.000 1 6
        kernel a 3 30.000 1
        kernel a 4 2.000 2 5 # another grid
        kernel a 5 8.000 2
        kernel c 6 7.000 1 # never with a stack
    } | trace "$frames"
    lines >got
    diff - got <<'END'
["(no stack recorded)",7000,0,1,null,null,null,null]
["main (app.cu:50)",36000,25,2,null,null,null,null]
["work (app.cu:10)",14000,21.428571428571427,4,null,null,null,null]
END
    "$gputrace" report -r lines -f json trace.json | jq -e '[.lines[].share_percent] | add | . > 99.999 and . < 100.001'
}

@test "waits and allocations of a line stand beside its GPU time" {
    {
        call cudaDeviceSynchronize 1 5.000 7
        call cudaStreamSynchronize 2 1.000 7
        call cudaStreamSynchronize 3 1.000   # without a stack
        call cudaLaunchKernel 4 2.000 5      # not a wait
        allocation 100 7
        allocation 28 7
        allocation 1000
    } | trace "$frames"
    lines >got
    diff - got <<'END'
["work (app.cu:10)",null,null,null,6000,2,128,2]
END
}

@test "the whole stack stands in csv and json, innermost function first" {
    kernel a 1 3.000 1 5 | trace "$frames"
    "$gputrace" report -r lines -f json trace.json | jq -r '.lines[0].stack' >got
    echo 'cudaLaunchKernel (libcudart.so.13+0x20) < f (libtorch_cuda.so+0x10) < work (/src/app.cu:10) < main (/src/app.cu:50) < _start (app+0x0)' |
        diff - got
}

@test "frames that refer to each other in a circle, or to none, do no harm" {
    kernel a 1 3.000 1 5 | trace '{"5": {"name": "f", "parent": 6}, "6": {"name": "g", "parent": 5}, "x": {"name": "h"}}'
    lines | jq -e '.[1] == 3000'
    kernel a 1 3.000 1 5 | trace '{"5": {"name": "f", "parent": 77}, "7": 3, "8": {}}'
    lines | jq -e '.[0] == "f" and .[1] == 3000'
    kernel a 1 3.000 1 5 | trace '[]'
    run -0 lines
    refute_output
}

@test "a trace without stacks has no such section" {
    kernel a 1 3.000 1 | trace '{}'
    run -0 "$gputrace" report -r lines trace.json
    assert_output $'Lines of the program (lines)\n  none in this trace'
}

@test "stacks of a program that runs: launches, waits and copies have their lines" {
    "$gputrace" run -q --stacks=all -o trace.json "$samples/launches" >/dev/null
    lines >got
    grep -q '^\["launch_brackets (launches.cu:[0-9]*)",[0-9]*,' got
    # A batch of copies is one operation on an H200.
    grep -q '^\["copy_batch (launches.cu:[0-9]*)",[0-9]*,100,[1-6],' got
    "$check_trace" --quiet --strict trace.json
    "$gputrace" run -q --stacks=launch -o trace.json "$samples/launches" >/dev/null
    jq -e '[.traceEvents[] | select(.cat == "cuda_runtime" and (.name | contains("Synchronize"))) | .args.stack?] == [null, null]' trace.json
    jq -e '[.traceEvents[] | select(.cat == "kernel")] | group_by(.name) | length > 3 and all(any(.args.stack))' trace.json
    jq -e '.gputrace.options.stacks == ["launch"] and .gputrace.options.stacks_every == 10' trace.json
}

args() { # ARGUMENT VALUE, of the kernel on stdin
    jq -nc --arg key "$1" --arg value "$2" '",\($key | tojson):\($value | tojson)"' -r
}

kernel_of() { # NAME CORRELATION DURATION STACK ARGUMENT VALUE: STACK 0 is none
    kernel "$1" "$2" "$3" 1 "${4#0}" | sed "s|}},\$|$(args "$5" "$6")}},|"
}

@test "GPU time of the backward pass goes to the line of its forward operator" {
    {
        kernel a 1 3.000 1 5
        kernel_of b 2 4.000 4 "forward at" "forward (model.py:12)" # launched by a thread without Python
        kernel_of b 3 2.000 0 "forward at" "forward (model.py:12)"
        kernel b 4 6.000 1                                         # as the two before it
        kernel_of c 5 1.000 0 "forward at" "work (app.cu:10)"
    } | trace "$frames"
    lines >got
    diff - got <<'END'
["backward of forward (model.py:12)",12000,50,3,null,null,null,null]
["backward of work (app.cu:10)",1000,100,1,null,null,null,null]
["work (app.cu:10)",3000,100,1,null,null,null,null]
END
    "$gputrace" convert -q trace.json trace.folded
    grep 'forward (model.py:12);' trace.folded
}

@test "GPU time of the backward pass goes to the line that called it, and that of the same kernel elsewhere does not" {
    {
        kernel a 1 3.000 1 5
        kernel_of b 2 4.000 0 "backward at" "step (train.py:42)"
        kernel_of b 3 2.000 0 "backward at" "step (train.py:42)"
        kernel b 4 6.000 1 5
        kernel b 5 6.000 1 # as the one before it
    } | trace "$frames"
    lines >got
    diff - got <<'END'
["backward pass of step (train.py:42)",6000,100,2,null,null,null,null]
["work (app.cu:10)",15000,60,3,null,null,null,null]
END
    "$gputrace" convert -q trace.json trace.folded
    grep 'step (train.py:42);' trace.folded
}

library='{"1": {"name": "start_thread", "category": "/lib/libc.so.6", "offset": "0x1"},
    "2": {"name": "void at::native::(anonymous namespace)::run<float, std::array<int, 2ul> >(at::Iterator&, int)", "category": "/lib/libtorch_cuda.so", "offset": "0x2", "parent": 1},
    "3": {"name": "cudaLaunchKernel", "category": "/lib/libcudart.so.13", "offset": "0x3", "parent": 2},
    "4": {"name": "at::apply<int>(int)::{lambda(int)#1}::operator()(int) const", "category": "/lib/libtorch_cuda.so", "offset": "0x4", "parent": 1},
    "5": {"name": "cudaLaunchKernel", "category": "/lib/libcudart.so.13", "offset": "0x3", "parent": 4},
    "6": {"name": "bool at::operator<(int, int)", "category": "/lib/libtorch_cuda.so", "offset": "0x5", "parent": 1},
    "7": {"name": "cudaLaunchKernel", "category": "/lib/libcudart.so.13", "offset": "0x3", "parent": 6},
    "8": {"name": "work", "category": "/bin/app", "file": "/src/app.cu", "line": 10, "parent": 1},
    "9": {"name": "cudaLaunchKernel", "category": "/lib/libcudart.so.13", "offset": "0x3", "parent": 8}}'

@test "launches of a kernel that have an operator alone count as those with a line of the forward pass" {
    {
        kernel_of b 1 4.000 3 "in operator" "aten::mm"
        kernel_of b 2 3.000 0 "forward at" "forward (model.py:12)"
        kernel_of b 3 1.000 0 "forward at" "forward (model.py:20)"
        kernel b 4 4.000 1 9 # of the program itself
        kernel_of c 5 1.000 3 "in operator" "aten::mm" # another kernel
    } | trace "$library"
    lines >got
    diff - got <<'END'
["aten::mm (operator)",1000,100,1,null,null,null,null]
["backward of forward (model.py:12)",6000,50,2,null,null,null,null]
["backward of forward (model.py:20)",2000,50,2,null,null,null,null]
["work (app.cu:10)",4000,100,1,null,null,null,null]
END
}

@test "a stack without a line of the program is of the operator that launched, else of the library's function" {
    {
        kernel_of a 1 1.000 3 "in operator" "aten::mm"
        kernel b 2 2.000 1 5
        kernel c 3 3.000 1 7
        kernel_of d 4 4.000 9 "in operator" "aten::mm" # it has a line
    } | trace "$library"
    lines >got
    diff - got <<'END'
["at::apply (libtorch_cuda.so+0x4)",2000,100,1,null,null,null,null]
["at::operator< (libtorch_cuda.so+0x5)",3000,100,1,null,null,null,null]
["aten::mm (operator)",1000,100,1,null,null,null,null]
["work (app.cu:10)",4000,100,1,null,null,null,null]
END
    {
        kernel_of a 1 1.000 3 "in operator" "aten::mm"
        kernel_of b 2 2.000 3 "in operator" "aten::addmm" # the same stack
    } | trace "$library"
    lines >got
    diff - got <<'END'
["at::native::(anonymous namespace)::run (libtorch_cuda.so+0x2)",3000,100,2,null,null,null,null]
END
}

@test "a stack number that is too large is not a stack: of allocations, waits and kernels" {
    local number
    for number in $((2 ** 30)) $((2 ** 31 - 1)) $((2 ** 31 + 7)) $((2 ** 53)) -1; do
        { allocation 1 "$number"; call cudaDeviceSynchronize 1 2.000 "$number"; kernel a 2 3.000 1 "$number"
            kernel b 3 1.000 1 5; } | trace "$frames"
        lines >got
        diff - got <<'END'
["(no stack recorded)",3000,0,1,null,null,null,null]
["work (app.cu:10)",1000,100,1,null,null,null,null]
END
    done
}

@test "a number that JSON cannot hold exactly is not a size, and sums stay at the largest number" {
    { allocation 9223372036854775807 5; allocation 9223372036854775807 5; allocation 9007199254740991 6; } |
        trace "$frames"
    lines >got
    diff - got <<'END'
["main (app.cu:50)",null,null,null,null,null,9007199254740991,1]
["work (app.cu:10)",null,null,null,null,null,null,2]
END
    for _ in {1..1026}; do allocation 9007199254740991 5; done | trace "$frames"
    "$gputrace" report -r lines -f json trace.json | grep -F '"bytes_bytes": 9223372036854775807, '
}
