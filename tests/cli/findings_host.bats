# The findings of gputrace report about a host that is blocked or busy while the GPU waits, from CPU samples and states of
# threads. Traces are made by hand, in microseconds: tests/cli/host_trace.

load findings

# 20 rounds of 5 ms: the GPU works for 1 ms, then waits until the next round. LINE is of each round, whose times it gives
# as @BEGIN (the kernel's end) and @END (the next launch).
rounds() { # LINE...
    local i line lines=('thread 1 train' 'thread 2 loader')
    for ((i = 0; i < 20; i++)); do
        lines+=("work $((i * 5000)) 1000")
        for line in "$@"; do
            line=${line//@BEGIN/$((i * 5000 + 1010))}
            lines+=("${line//@END/$((i * 5000 + 5000))}")
        done
    done
    printf '%s\n' "${lines[@]}" | "$BATS_TEST_DIRNAME/host_trace" >trace.json
}

found() {
    "$gputrace" report -r findings --format=json trace.json | jq -r '.findings[] | "\(.id) \(.time_ns) \(.gain_ns) \(.count)"'
}

text() { # ID
    "$gputrace" report -r findings --format=json trace.json | jq -r --arg id "$1" '.findings[] | select(.id == $id) | .finding'
}

advice() { # ID
    "$gputrace" report -r findings --format=json trace.json | jq -r --arg id "$1" '.findings[] | select(.id == $id) | .advice'
}

@test "host-blocked: the GPU waits for a system call" {
    # 19 gaps of 3990 us, as the last round has no next launch.
    rounds 'off 1 @BEGIN @END read,load,main'
    run found
    assert_output 'host-blocked 75810000 75810000 19'
    run text host-blocked
    assert_output --partial 'The GPU waits for a blocked thread, 19 times: read() in load_batch (train.c:41) (75.8 ms, 76 % of the run'
    run advice host-blocked
    assert_output --partial 'Read and write while the GPU is busy'
    "$gputrace" report -r findings --format=json trace.json | jq -e '.findings[0]
        | .thread == "thread 1 (train)" and .section == "host-waits" and (.stack | startswith("load_batch (/app/train.c:41)"))'
    run -3 "$gputrace" report --fail-on=host-blocked trace.json
}

@test "host-blocked: a lock, and a queue that another thread fills" {
    rounds 'off 1 @BEGIN @END lll,mutex,load44,main Sleeping 2' 'on 2 @BEGIN @END 1000 update,start'
    run text host-blocked
    assert_output --partial ': pthread_mutex_lock() in load_batch (train.c:44), held by thread loader, which ran update (saver.c:30) ('
    run advice host-blocked
    assert_output --partial 'Hold the lock'
    rounds 'off 1 @BEGIN @END read,load,main Sleeping 2' 'on 2 @BEGIN @END 1000 decode,start'
    run text host-blocked
    assert_output --partial ': read() in load_batch (train.c:41) for thread loader, which ran decode (loader.c:7) ('
    run advice host-blocked
    assert_output --partial 'more workers'
    "$gputrace" report -r findings --format=json trace.json | jq -e '.findings[0].stack | startswith("decode")'
}

@test "a call stack has the program's own functions, and a few of libraries where it has none" {
    rounds 'off 1 @BEGIN @END read,eval,py_next,eval,py_step,eval,py_torch,eval,main'
    run jq -r '.findings[0].stack' <("$gputrace" report -r findings --format=json trace.json)
    assert_output 'step (/app/train.py:12) < main (/app/train.c:90)'
    rounds 'off 1 @BEGIN @END read,eval,py_next,eval,py_torch,eval,start'
    run jq -r '.findings[0].stack' <("$gputrace" report -r findings --format=json trace.json)
    assert_output --regexp '^__next__ .*:630\) < _PyEval_EvalFrameDefault [^<]* < <module> [^<]*$'
}

@test "host-blocked: several reasons are one finding, with the share of the largest" {
    rounds 'off 1 @BEGIN @END read,load,main'
    jq '.traceEvents |= map(if .cat == "thread_state" and (.ts / 5000 | floor) % 3 == 0 then .args.stack = 2 else . end)
        | .gputrace.frames += [{function: "nanosleep", module: "/lib/libc.so.6"}]
        | .gputrace.stacks += [{stack: 2, frames: [3, 1, 2]}]' trace.json >both.json && mv both.json trace.json
    run found
    assert_line --regexp '^host-blocked 75810000 75810000 19'
    run text host-blocked
    assert_output --regexp 'read\(\) in load_batch \(train.c:41\) \(63 % of it\)'
}

@test "host-blocked: nothing is found of brief waits, of few, or while the GPU works" {
    # 190 us of each 5 ms; 4 % of the run.
    rounds 'off 1 @BEGIN @END read,load,main'
    jq '.traceEvents |= map(if .cat == "thread_state" then .dur = 190 else . end)' trace.json >brief.json
    mv brief.json trace.json
    run found
    refute_output --partial host-blocked
    # A thread that launches ahead may block: the GPU has work.
    printf '%s\n' 'work 0 50000' 'work 20 50000' 'work 40 50000' 'off 1 100 90000 read,load' |
        "$BATS_TEST_DIRNAME/host_trace" >trace.json
    run found
    assert_output ''
    # Another thread may.
    rounds 'on 1 @BEGIN @END 500 load,main' 'off 2 @BEGIN @END read,decode'
    run found
    assert_output --regexp '^host-work [^[:space:]]* [^[:space:]]* 19$'
}

@test "host-work: the function, or what it is for" {
    rounds 'on 1 @BEGIN @END 500 load,main'
    run text host-work
    assert_output --partial '19 times while the host works outside CUDA, 3.99 ms on average and 3.99 ms at most: load_batch (train.c:41) ('
    rounds 'on 1 @BEGIN @END 500 visit,gc,py_step'
    run text host-work
    assert_output --partial ': garbage collection in step (train.py:12) ('
    run advice host-work
    assert_output --partial 'gc.freeze()'
    rounds
    run text host-work
    assert_output --partial '3.99 ms at most ('
    run advice host-work
    refute_output --partial -- '--cpu=samples' # of another profiler
    jq '.gputrace = {version: "1"}' trace.json >own.json
    mv own.json trace.json
    run advice host-work
    assert_output --partial -- '--cpu=samples'
}

@test "host-work is what host-blocked leaves" {
    # Half of each gap is a read, half is computed: 19 times 1990 and 2000 us.
    rounds 'on 1 @BEGIN @END 500 load,main' 'off 1 @BEGIN @END cond,load'
    jq '.traceEvents |= map(if .cat == "thread_state" then .dur = 1990 else . end)' trace.json >half.json
    mv half.json trace.json
    run found
    assert_line 'host-blocked 37810000 37810000 19'
    assert_line 'host-work 38000000 38000000 19'
    # Where it is too little to be found, it is host-work's.
    jq '.traceEvents |= map(if .cat == "thread_state" then .dur = 210 else . end)' trace.json >less.json
    mv less.json trace.json
    run found
    assert_output 'host-work 75810000 75810000 19'
}

@test "samples without states: a thread without samples is blocked" {
    rounds 'on 2 @BEGIN @END 500 decode,start'
    jq '.traceEvents += [range(100) | {ph: "i", s: "t", cat: "cpu_sample", name: "f", pid: 1, tid: 1, ts: (. * 5000 + 100), args: {}}]' \
        trace.json >sparse.json && mv sparse.json trace.json
    run found
    assert_line --partial 'host-blocked '
    run text host-blocked
    assert_output --partial ': off the processor; meanwhile thread loader ran decode (loader.c:7) ('
}

@test "the DataLoader's rule names what its workers do, and host-blocked leaves that to it" {
    rounds 'off 1 @BEGIN @END poll,py_next,py_step Sleeping 2' 'on 2 @BEGIN @END 500 decode,start' \
        'range enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__ @BEGIN @END'
    run found
    assert_output 'data-loading 75810000 75810000 20' # of 19 steps: the first is loaded before them
    run text data-loading
    assert_output --partial 'which takes 79.8 ms for 20 batches: poll() in step (train.py:12) for thread loader, which ran decode (loader.c:7) ('
}

@test "gpu-gaps, low-use and launch-bound name the host" {
    printf '%s\n' 'work 0 100000' 'work 700000 100000' 'on 1 110000 250000 1000 load,main' \
        'on 1 250000 690000 1000 decode,main' | "$BATS_TEST_DIRNAME/host_trace" >trace.json
    run text gpu-gaps
    assert_output --partial 'host outside CUDA: decode (loader.c:7) ('
    local i lines=()
    for ((i = 0; i < 400; i++)); do
        lines+=("work $((i * 100)) 20" "on 1 $((i * 100 + 50)) $((i * 100 + 51)) 1 decode,main")
    done
    printf '%s\n' "${lines[@]}" | "$BATS_TEST_DIRNAME/host_trace" >trace.json
    run text launch-bound
    assert_output --partial '; between launches it is in decode (loader.c:7) ('
    lines=()
    for ((i = 0; i < 9; i++)); do
        lines+=("work $((i * 100000)) 1000")
    done
    printf '%s\n' "${lines[@]}" 'on 1 1100 790000 1000 decode,main' | "$BATS_TEST_DIRNAME/host_trace" >trace.json
    run text low-use
    assert_output --partial 'host outside CUDA: decode (loader.c:7) ('
}

# --- planted programs ---

@test "a GPU that waits for a loader, a lock, a disk, Python's collector; and twins in which it does not" {
    planted host loader host-work
    planted host lock host-work
    planted host disk host-work
    planted python garbage host-work
    planted python loader host-work
}

# Ten steps of 5 ms, the sixth of 25 ms; the thread runs update() for 2 ms of each. LINE is of the sixth, whose last
# 20 ms are @BEGIN to @END.
steps() { # LINE...
    local i at=0 line lines=('thread 1 train')
    for ((i = 0; i < 10; i++)); do
        lines+=("range step$i $at $((at + (i == 5 ? 25000 : 5000) - 10))" "work $((at + 5)) 1000")
        lines+=("on 1 $((at + 1000)) $((at + 3000)) 500 update,main")
        for line in "$@"; do
            line=${line//@BEGIN/$((at + 4500))}
            [ "$i" -ne 5 ] || lines+=("${line//@END/$((at + 24500))}")
        done
        at=$((at + (i == 5 ? 25000 : 5000)))
    done
    printf '%s\n' "${lines[@]}" | "$BATS_TEST_DIRNAME/host_trace" >trace.json
}

@test "slow-step: what the host did in the slowest step, and not in others" {
    steps 'off 1 @BEGIN @END read,load,main'
    run text slow-step
    assert_output --partial 'most of the difference: the host outside CUDA, 20 ms more: read() in load_batch (train.c:41) ('
    run advice slow-step
    assert_output --partial 'Read and write while the GPU is busy'
    "$gputrace" report -r findings --format=json trace.json |
        jq -e '.findings[] | select(.id == "slow-step") | .stack | startswith("load_batch (/app/train.c:41)")'
    steps 'on 1 @BEGIN @END 500 decode,main'
    run text slow-step
    assert_output --partial '20 ms more: decode (loader.c:7) ('
    # of a thread that waits, whom it waits for
    steps 'thread 2 pt_data_worker' 'off 1 @BEGIN @END cond,load Sleeping 2' 'on 2 @BEGIN @END 500 decode,start'
    run text slow-step
    assert_output --partial ' in load_batch (train.c:41) for thread pt_data_worker, which ran decode (loader.c:7) ('
}

@test "slow-step: nothing is named without samples, of calls, or where much is done" {
    local plain='most of the difference: the host outside CUDA, 20 ms more ('
    steps 'off 1 @BEGIN @END read,load,main'
    jq 'del(.traceEvents[] | select(.cat == "cpu_sample" or .cat == "thread_state"))' trace.json >without.json
    mv without.json trace.json
    run text slow-step
    assert_output --partial "$plain"
    run advice slow-step
    assert_output --partial 'Compare the slowest step'
    # A call that blocks, and a little else.
    steps 'call cudaMalloc @BEGIN @END' 'off 1 @BEGIN @END read,load,main'
    run text slow-step
    assert_output --partial 'call cudaMalloc, 20 ms more ('
    # Of three things none takes half of it.
    steps 'off 1 @BEGIN @END read,load,main'
    jq '.traceEvents |= map(if .cat == "thread_state" then .dur = 7000 else . end)' trace.json >three.json
    mv three.json trace.json
    run text slow-step
    assert_output --partial "$plain"
}

@test "slow-step: what the thread does in calls is not what it does outside of them" {
    # The longest is a wait in a call, which takes 9 of 20 ms more; of the other 11 decode() takes 6.
    steps 'call cudaDeviceSynchronize 29500 38500' 'off 1 29510 38490 read,load,main' \
        'on 1 38500 44600 500 decode,main' 'on 1 44600 49500 500 visit,py_step'
    run text slow-step
    assert_output --partial 'the host outside CUDA, 11 ms more: decode (loader.c:7) ('
}

# 30 rounds of 1 ms: a wait of 300 us for 250 us of work, then LINE (@BEGIN to @END) until the next launch.
waits() { # CALL LINE...
    local i at call=$1 line lines=('thread 1 train')
    shift
    for ((i = 0; i < 30; i++)); do
        at=$((i * 1000))
        lines+=("work $at 250" "call $call $((at + 6)) $((at + 300))")
        for line in "$@"; do
            line=${line//@BEGIN/$((at + 305))}
            lines+=("${line//@END/$((at + 995))}")
        done
    done
    printf '%s\n' "${lines[@]}" | "$BATS_TEST_DIRNAME/host_trace" >trace.json
}

@test "device-waits and repeated-waits: what the host does between a wait and the next launch" {
    waits cudaDeviceSynchronize 'off 1 @BEGIN @END read,load,main'
    run text device-waits
    assert_output --partial 'as no work is queued; what the host does then: read() in load_batch (train.c:41) ('
    waits cudaStreamSynchronize 'on 1 @BEGIN @END 100 py_step,eval'
    run text repeated-waits
    assert_output --partial 'as no work is queued; what the host does then: step (train.py:12) ('
}

@test "device-waits and repeated-waits: nothing is named without samples, of the wait itself, or of too little time" {
    waits cudaStreamSynchronize
    run text repeated-waits
    assert_output --partial 'as no work is queued ('
    # While it waits the host is off the processor.
    waits cudaStreamSynchronize
    jq '.traceEvents += [.traceEvents[] | select(.name == "cudaStreamSynchronize")
        | .cat = "thread_state" | .name = "Sleeping" | .tid = 536870913 | .args = {thread: 1}]' trace.json >states.json
    mv states.json trace.json
    run text repeated-waits
    assert_output --partial 'as no work is queued ('
    waits cudaStreamSynchronize 'off 1 @BEGIN @END read,load,main'
    jq '.traceEvents |= map(if .cat == "thread_state" then .dur = 200 else . end)' trace.json >brief.json
    mv brief.json trace.json
    run text repeated-waits
    assert_output --partial 'as no work is queued ('
}

@test "host-work after a warm-up: how often, how long, where and what are all of the time after it" {
    # Steps of 10 ms, of which the GPU works 5; the first takes a second, most of which is one gap.
    {
        echo 'thread 1 train'
        echo 'work 0 5000'
        echo 'range step 0 999000'
        echo 'on 1 6000 1000000 1000 decode,main'
        local i begin
        for ((i = 0; i < 30; i++)); do
            begin=$((1000000 + i * 10000))
            echo "work $begin 5000"
            echo "range step $begin $((begin + 9900))"
            [ "$i" -eq 29 ] || echo "on 1 $((begin + 5010)) $((begin + 10000)) 500 load,main"
        done
    } | "$BATS_TEST_DIRNAME/host_trace" >trace.json
    run found
    assert_line --partial 'warm-up '
    run text host-work
    assert_output --regexp '^The GPU waits 29 times while the host works outside CUDA, 4[.]99 ms on average and 4[.]99 ms at most: load_batch \(train[.]c:41\)'
    "$gputrace" report -r findings --format=json trace.json | jq -e '.findings[] | select(.id == "host-work")
        | .start_ns >= 1000000000 and (.stack | startswith("load_batch (/app/train.c:41)"))'
}

# Thirty steps of 10 ms, in which the host is outside CUDA for 6 ms before it copies the batch. One line of the program,
# train.py:30, calls all of it, as with Lightning. FRAME: what launches the copy.
steps_of_a_library() { # FRAME FILE
    jq -n --arg frame "$1" --arg file "$2" "$words"'
        def frame($name; $file; $line; $parent): {name: $name, file: $file, line: $line, category: "python", parent: $parent};
        "/v/lib/python3.12/site-packages" as $site | {
            stackFrames: {"1": frame("train"; "/w/train.py"; 30; null), "2": frame("Trainer.fit"; $site + "/lightning/trainer.py"; 500; 1),
                "3": frame("SGD.step"; $site + "/torch/optim/sgd.py"; 80; 2), "4": frame($frame; $site + $file; 270; 2),
                "5": frame("to"; $site + "/lightning/apply_func.py"; 76; 4)},
            traceEvents: [range(30) | . as $i | (10000 * $i) as $t
                | call("cudaMemcpyAsync"; $t; 10; 2 * $i), (copy("Memcpy HtoD (Pinned -> Device)"; 7; $t + 10; 100; 2 * $i; 100000) | .args.stack = 5),
                  (launched(7; $t + 20; $t + 110; 3890; 2 * $i + 1) | if .cat == "kernel" then .args.stack = 3 else . end)]}' >trace.json
}

@test "where one line of the program calls a library, its functions around the gap are named, and who gets a batch" {
    steps_of_a_library Strategy.batch_to_device /lightning/strategy.py
    run found
    assert_output 'data-loading 174000000 174000000 29'
    run text data-loading
    assert_output --partial 'the longest between SGD.step (sgd.py:80) and to (apply_func.py:76), where it gets the next batch ('
    run advice data-loading
    assert_output --partial 'DataLoader(num_workers=4'
    "$gputrace" report -r findings --format=json trace.json | jq -e '.findings[0].where | startswith("train (train.py:30)")'
    # Copies before the steps, which something else launched, are more.
    jq '.stackFrames["6"] = {name: "Module.to", file: "/v/lib/python3.12/site-packages/torch/nn/module.py", line: 1, category: "python", parent: 1}
        | .traceEvents |= map(.ts += 100000)
        | .traceEvents += [range(30) | {ph: "X", cat: "user_annotation", name: "ProfilerStep#\(.)", pid: 1, tid: 1,
              ts: (100000 + 10000 * .), dur: 9990}]
        | .traceEvents += [range(90) | . as $i | {ph: "X", cat: "cuda_runtime", name: "cudaMemcpyAsync", pid: 1, tid: 1,
              ts: (1000 * $i), dur: 5, args: {correlation: (1000 + $i), stack: 6}},
          {ph: "X", cat: "gpu_memcpy", name: "Memcpy HtoD (Pinned -> Device)", pid: 0, tid: 7, ts: (1000 * $i + 10), dur: 5,
              args: {device: 0, context: 1, stream: 7, correlation: (1000 + $i), stack: 6, bytes: 1000}}]' trace.json >before.json
    "$gputrace" report -r findings --format=json before.json | jq -e '.findings[0] | .id == "data-loading"
        and (.finding | test("and to .apply_func.py:76., where it gets the next batch"))'
    for frame in _BaseDataLoaderIter.__next__ __next__; do
        steps_of_a_library $frame /torch/utils/data/dataloader.py
        run found
        assert_output 'data-loading 174000000 174000000 29'
    done
    steps_of_a_library Writer.save /writer.py
    run text host-work
    assert_output --partial 'the longest between SGD.step (sgd.py:80) and to (apply_func.py:76) ('
}
