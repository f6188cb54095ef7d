# CPU samples and states of threads in gputrace report: functions, times off the processor, and what the host did while a
# GPU was idle. Traces are made by hand, in microseconds: tests/cli/host_trace.

load common

# Writes trace.json of these lines.
trace() { # LINE...
    printf '%s\n' "$@" | "$BATS_TEST_DIRNAME/host_trace" >trace.json
}

report() { # SECTION TRACE [OPTION...]: the section's rows as JSON
    local section=$1 trace=$2
    shift 2
    "$gputrace" report -r "$(section_of "$section")" --format=json "$@" "$trace" | jq --arg section "$section" '.[$section]'
}

# What the host did outside CUDA: "Host ns" of each row.
doing() {
    report idle-where trace.json | jq -r '.[] | select(.cause == "outside") | "\(.host) \(.total_ns)"'
}

# The GPU is idle from 1010 to 21000, and the host outside CUDA until the launch at 20990: 19980 us.
gap=('work 0 1000' 'work 20990 1000')

@test "a system call, with the line of the program that made it" {
    trace "${gap[@]}" 'off 1 1010 20990 read,load,main'
    run doing
    assert_output 'read() in load_batch (train.c:41) 19980000'
}

@test "a lock is held by the thread that ends the wait, and what that ran is named" {
    trace 'thread 1 train' 'thread 3 saver' "${gap[@]}" 'off 1 1010 20990 lll,mutex,load44,main Sleeping 3' \
        'on 3 1100 20900 1000 update,start'
    run doing
    assert_output 'pthread_mutex_lock() in load_batch (train.c:44), held by thread saver, which ran update (saver.c:30) 19980000'
}

@test "a thread that waits for one that waits for a third: the third is named" {
    trace 'thread 1 train' 'thread 2 collector' 'thread 3 worker' "${gap[@]}" \
        'off 1 1010 20990 cond,load,main Sleeping 2' 'off 2 1010 20980 poll,start Sleeping 3' \
        'on 3 1100 20900 1000 decode,start'
    run doing
    assert_output 'pthread_cond_wait() in load_batch (train.c:41) for thread worker, which ran decode (loader.c:7) 19980000'
}

@test "a worker that reads is named with what it reads" {
    trace 'thread 1 train' "${gap[@]}" 'off 1 1010 20990 poll,py_next,py_step Sleeping 50' \
        'process 50' 'thread 50 worker' 'off 50 1010 20980 read,decode'
    run doing
    assert_output 'poll() in step (train.py:12) for thread worker, which was in read() in decode (loader.c:7) 19980000'
}

@test "threads of the same name are told apart by their numbers" {
    trace 'thread 1 train' 'thread 2 train' "${gap[@]}" 'off 1 1010 20990 cond,load Sleeping 2' 'on 2 1100 20900 1000 decode'
    run doing
    assert_output 'pthread_cond_wait() in load_batch (train.c:41) for thread 2, which ran decode (loader.c:7) 19980000'
}

@test "where the waker is not known, the thread that ran for half of the wait is named, and none that ran for less" {
    local threads=('thread 1 train' 'thread 2 loader') wait='off 1 1010 20990 cond,load'
    trace "${threads[@]}" "${gap[@]}" "$wait" 'on 2 1500 14500 1000 decode'
    run doing
    assert_output 'pthread_cond_wait() in load_batch (train.c:41); meanwhile thread loader ran decode (loader.c:7) 19980000'
    trace "${threads[@]}" "${gap[@]}" "$wait" 'on 2 1500 8500 1000 decode'
    run doing
    assert_output 'pthread_cond_wait() in load_batch (train.c:41) 19980000'
    # A sample in a wait that is shorter than two periods says little.
    trace "${threads[@]}" "${gap[@]}" 'off 1 5000 6500 cond,load' 'on 2 0 30000 1000 decode'
    run doing
    assert_line 'pthread_cond_wait() in load_batch (train.c:41) 1500000'
    # A thread of another process that launches itself is another rank.
    trace "${gap[@]}" "$wait" 'process 2' 'on 2 1500 20500 1000 decode'
    run doing
    assert_output 'pthread_cond_wait() in load_batch (train.c:41); meanwhile thread 2 ran decode (loader.c:7) 19980000'
    trace "${gap[@]}" "$wait" 'process 2' 'on 2 1500 20500 1000 decode' 'work 1200 10 2 1'
    run doing
    assert_output 'pthread_cond_wait() in load_batch (train.c:41) 19980000'
}

@test "sleeps, waits for a disk and for a processor blame no other thread" {
    local busy='on 2 1500 20500 1000 decode'
    trace "${gap[@]}" "$busy" 'off 1 1010 20990 nanosleep,load'
    run doing
    assert_output 'sleep in load_batch (train.c:41) 19980000'
    trace "${gap[@]}" "$busy" 'off 1 1010 20990 unnamed,load Disk_wait'
    run doing
    assert_output 'waiting for a disk in load_batch (train.c:41) 19980000'
    trace "${gap[@]}" "$busy" 'off 1 1010 20990 load Runnable 2'
    run doing
    assert_output 'waiting for a processor in load_batch (train.c:41) 19980000'
}

@test "a wait in a function without a name" {
    trace "${gap[@]}" 'off 1 1010 20990 unnamed,load'
    run doing
    assert_output 'off the processor in load_batch (train.c:41) 19980000'
}

@test "Python: garbage collection, the interpreter lock, imports, and lines outside of packages" {
    trace "${gap[@]}" 'on 1 1500 20500 1000 visit,gc,py_step'
    run doing
    assert_output 'garbage collection in step (train.py:12) 19980000'
    trace "${gap[@]}" 'off 1 1010 20990 cond,gil,eval,py_step'
    run doing
    assert_output "waiting for Python's interpreter lock (GIL) in step (train.py:12) 19980000"
    trace "${gap[@]}" 'on 1 1500 20500 1000 read,py_torch,py_import,py_step'
    run doing
    assert_output 'import of Python modules in step (train.py:12) 19980000'
    trace "${gap[@]}" 'on 1 1500 20500 1000 eval,py_next,py_step'
    run doing
    assert_output 'step (train.py:12) 19980000'
    # Two lines of a function are one activity, under the line that took longer.
    trace "${gap[@]}" 'on 1 1500 5500 1000 py_step' 'on 1 5500 20500 1000 py_step13'
    run doing
    assert_output 'step (train.py:13) 19980000'
}

@test "functions of the program that are called like those of the C library are the program's" {
    trace "${gap[@]}" 'on 1 1500 20500 1000 own_read,main'
    run doing
    assert_output 'read (own.c:3) 19980000'
}

@test "parts of a gap: running by the nearest sample, waits exactly; the rest is not known" {
    # Samples at 1500, 2500, 3500 (decode) and 4500 (malloc); off from 5000; nothing after 12000 but one sample at 20000.
    trace "${gap[@]}" 'on 1 1500 4500 1000 decode' 'on 1 4500 5000 1000 malloc,load' 'off 1 5000 12000 read,load' \
        'on 1 20000 20001 1000 update'
    run doing
    assert_line 'read() in load_batch (train.c:41) 7000000'
    # To the middle between 3500 and 4500; the time up to a sample's is the earlier one's.
    assert_line 'decode (loader.c:7) 2990001'
    assert_line 'memory allocation in load_batch (train.c:41) 999999'
    sum=$(doing | awk '{sum += $NF} END {print sum}')
    [ "$sum" -eq 19980000 ]
    report idle trace.json | jq -e '.[] | select(.cause == "outside") | .total_ns == 19980000 and .count == 1'
}

@test "causes add up to the idle time, with and without samples" {
    local lines=() i
    for ((i = 0; i < 40; i++)); do
        lines+=("work $((i * 5000)) 1000")
        case $((i % 4)) in
        0) lines+=("off 1 $((i * 5000 + 900)) $((i * 5000 + 4000)) read,load") ;;
        1) lines+=("on 1 $((i * 5000 + 7)) $((i * 5000 + 4900)) 997 decode") ;;
        2) lines+=("off 1 $((i * 5000 + 2000)) $((i * 5000 + 6000)) cond,load Sleeping 2") ;;
        esac
    done
    trace "${lines[@]}" 'on 2 0 200000 1003 update'
    jq 'del(.traceEvents[] | select(.cat == "cpu_sample" or .cat == "thread_state"))' trace.json >without.json
    for file in trace without; do
        "$gputrace" report -r idle --format=json $file.json >report.json
        jq -e '([.idle[].total_ns] | add) == ([."idle-where"[].total_ns] | add)' report.json
        jq -c '[.idle[] | [.cause, .total_ns, .count, .max_ns]] | sort | map(select(.[0] != "before" and .[0] != "after"))' \
            report.json >$file.causes
    done
    diff trace.causes without.causes
}

@test "samples alone: a thread without samples is off the processor" {
    trace 'thread 1 train' 'thread 2 loader' "${gap[@]}" 'on 1 0 1100 1000 load' 'on 1 21000 25000 1000 load' \
        'on 2 1500 20500 1000 decode'
    run doing
    assert_line --partial 'off the processor; meanwhile thread loader ran decode (loader.c:7) '
    # Such a wait may be several: a fifth of it is enough.
    trace 'thread 1 train' 'thread 2 loader' "${gap[@]}" 'on 1 0 1100 1000 load' 'on 1 21000 25000 1000 load' \
        'on 2 1500 7500 1000 decode'
    run doing
    assert_line --partial 'off the processor; meanwhile thread loader ran decode (loader.c:7) '
    trace 'thread 1 train' 'thread 2 loader' "${gap[@]}" 'on 1 0 1100 1000 load' 'on 1 21000 25000 1000 load' \
        'on 2 1500 4500 1000 decode'
    run doing
    refute_output --partial loader
}

# --- sections ---

@test "host: samples of functions, themselves and with what they call, while the GPU was idle and in all" {
    # 10 of 20 samples of thread 1 are in the gap from 1010 to 21000, and all 5 of thread 2.
    trace 'thread 1 train' 'thread 2 loader' 'work 0 1000' 'work 20990 20000' 'on 1 2000 12000 1000 memmove,load,load44,main' \
        'on 1 22000 32000 1000 load,main' 'on 2 3000 8000 1000 decode,start'
    report host trace.json | jq -r '.[] | "\(.thread) \(.function) \(.idle_self_percent * 100 | round) \(.idle_total_percent * 100 | round) \(.self_percent) \(.total_percent) \(.idle_samples) \(.samples)"' >got
    cat >expected <<END
train __memmove_avx_unaligned_erms 6667 6667 40 40 10 10
loader decode 3333 3333 20 20 5 5
train load_batch 0 6667 40 80 0 10
train main 0 6667 0 80 0 0
loader start_thread 0 3333 0 20 0 0
END
    diff expected got
    run "$gputrace" report -r host trace.json
    assert_output --regexp 'Idle self %.*Function +File'
    assert_output --regexp 'decode +loader.c'
    assert_output --regexp 'memmove_avx_unaligned_erms +libc.so.6'
}

@test "host: each process is compared with its own GPUs, and a worker with all" {
    # GPU 0 is busy from 10 to 10010, GPU 1 from 10010 to 20010, each idle in the middle of the other's time.
    trace 'work 0 10000' 'work 20000 10' 'on 1 5000 6000 1000 load' 'on 1 15000 16000 1000 load' \
        'process 2' 'work 10000 10000 2 1' 'work 0 10 2 1' 'on 2 5000 6000 1000 decode' 'on 2 15000 16000 1000 decode' \
        'process 3' 'on 3 5000 6000 1000 update' 'on 3 15000 16000 1000 update'
    report host trace.json | jq -r '.[] | "\(.function) \(.idle_samples) \(.samples)"' | sort >got
    printf '%s\n' 'decode 1 2' 'load_batch 1 2' 'update 0 2' >expected
    diff expected got
}

@test "host-waits: where threads left the processor, for how long, who woke them, and how much of it GPUs were idle" {
    trace 'thread 1 train' 'thread 2 loader' 'work 0 1000' 'work 20990 1000' 'off 1 510 1510 read,load' \
        'off 1 2000 5000 read,load44' 'off 1 6000 7000 cond,load Sleeping 2' 'off 2 6000 6500 - Runnable'
    report host-waits trace.json | jq -r '.[] | "\(.thread) \(.state) \(.where) \(.woken_by) \(.idle_ns) \(.total_ns) \(.count) \(.max_ns)"' >got
    cat >expected <<END
train sleeping read() in load_batch (train.c:44) null 3500000 4000000 2 3000000
train sleeping pthread_cond_wait() in load_batch (train.c:41) loader 1000000 1000000 1 1000000
loader runnable waiting for a processor null 500000 500000 1 500000
END
    diff expected got
}

@test "a trace without samples says how to get them; by itself the report leaves the sections out" {
    trace "${gap[@]}"
    jq '.gputrace = {version: "1"}' trace.json >own.json
    run "$gputrace" report -r host,host-waits,idle,gaps own.json
    assert_success
    assert_output --partial 'no CPU samples were recorded: gputrace run --cpu=samples records them'
    assert_output --partial 'times off the processor were not recorded: gputrace run --cpu=switches records them'
    refute_output --regexp ' Host( |$)'
    run "$gputrace" report -r all trace.json
    refute_output --partial 'CPU samples'
    refute_output --partial '(host)'
    trace "${gap[@]}" 'on 1 1500 20500 1000 decode,main'
    run "$gputrace" report -r all trace.json
    assert_output --partial 'Functions of the host while GPUs were idle (host)'
    assert_output --partial 'outside CUDA'
}

@test "gaps and idle name what took most of them" {
    trace "${gap[@]}" 'on 1 1500 4500 1000 decode' 'off 1 5000 20000 read,load'
    report gaps trace.json | jq -e '.[0].host == "read() in load_batch (train.c:41)"'
    run "$gputrace" report -r idle trace.json
    assert_output --regexp 'host outside CUDA +read\(\) in load_batch \(train.c:41\)'
}

@test "a Perfetto trace and a database keep samples, states and wakers" {
    trace 'thread 1 train' 'thread 3 saver' "${gap[@]}" 'off 1 1010 20990 lll,mutex,load44,main Sleeping 3' \
        'on 3 1100 20900 1000 update,start'
    "$gputrace" report -r idle,host,host-waits --format=json trace.json >expected
    "$gputrace" convert -q trace.json trace.pftrace
    "$gputrace" report -r idle,host,host-waits --format=json trace.pftrace >got
    jq -e '.host | length > 1' expected
    diff <(jq 'del(.trace)' expected) <(jq 'del(.trace)' got)
    "$gputrace" convert -q trace.json trace.sqlite
}

@test "--thread and --from choose samples as other events" {
    trace "${gap[@]}" 'on 1 1500 5500 1000 load' 'on 2 1500 5500 1000 decode' 'on 1 15500 16500 1000 update'
    report host trace.json --thread=1 | jq -e '[.[] | .function] | sort == ["load_batch", "update"]'
    report host trace.json --from=10ms | jq -e '[.[] | .function] == ["update"]'
}

@test "stacks that the trace does not have, wakers and threads that are not known, states that overlap" {
    trace "${gap[@]}" 'off 1 1010 9000 read,load Sleeping 4711' 'off 1 5000 20990 cond,load Sleeping 1'
    jq 'del(.gputrace.stacks[1])' trace.json >broken.json && mv broken.json trace.json
    run doing
    assert_line 'read() in load_batch (train.c:41) 7990000'
    assert_line 'off the processor 11990000'
    jq '.gputrace = {stacks: [{stack: 1, frames: [7, -1, "a"]}], frames: [1, null]}' trace.json >broken.json && mv broken.json trace.json
    run -0 doing
    run -0 "$gputrace" report -r host,host-waits,findings trace.json
}

# --- the page ---

@test "the page has the sections as tables" {
    trace "${gap[@]}" 'on 1 1500 4500 1000 decode,main' 'off 1 5000 20000 read,load'
    "$gputrace" report --html page.html trace.json
    grep -q 'Functions of the host while GPUs were idle' page.html
    grep -q 'Time off the processor' page.html
    grep -qF 'read() in load_batch (train.c:41)' page.html
}
