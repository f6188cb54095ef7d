# What gputrace run --cpu records is what the report says: planted programs, each with the function that a GPU waits
# for, and their twins, as recorded on an H100 (tests/data/planted).

load findings

# What the host did outside CUDA in TRACE: what took most, over all threads that it waited for.
activity() { # TRACE
    "$gputrace" report -r idle --format=json "$1" |
        jq -r '[."idle-where"[] | select(.cause == "outside" and .host)]
            | group_by(.host | sub("(, held by| for thread|; meanwhile).*"; "")) | max_by(map(.total_ns) | add)
            | max_by(.total_ns).host'
}

# CASE has the finding ID alone, and what its host does is HOST; its twin has no finding.
named() { # CASE ID HOST
    local trace=$root/tests/data/planted/$1-cpu.json.gz
    run -0 ids "$trace"
    assert_output "$2"
    run -0 activity "$trace"
    assert_output "$3"
    run -0 ids "${trace%-cpu*}-fixed-cpu.json.gz"
    assert_output ''
}

@test "a slow loader is named, with the thread that decodes" {
    named host-loader host-blocked 'pthread_cond_wait() in next_batch() (planted_host.cu:88); meanwhile thread loader ran decode_batch() (planted_host.cu:62)'
}

@test "a lock is named, with the thread that holds it" {
    named host-lock host-blocked 'pthread_mutex_lock() in read_state() (planted_host.cu:128); meanwhile thread saver ran save_state() (planted_host.cu:111)'
}

@test "a disk is named" {
    named host-disk host-blocked 'fsync() in save_batch(int) (planted_host.cu:155)'
}

@test "Python's garbage collection is named" {
    named python-garbage host-work 'garbage collection in collect_all (planted_python.py:39)'
}

@test "a function of Python that makes batches is named, with its line" {
    named python-loader host-work 'tokenize (planted_python.py:58)'
    "$gputrace" report -r findings "$root/tests/data/planted/python-loader-cpu.json.gz" |
        grep -q 'Call stack: tokenize (.*planted_python.py:58) < load_batch'
}

@test "a recording has samples and states of the thread that computes" {
    "$gputrace" run --cpu=samples,switches -o trace.json "$samples/planted_host" loader 2>said
    if grep -q 'no CPU samples' said; then skip "perf events are refused here: $(cat said)"; fi
    jq -e '.traceEvents as $events | ($events[] | select(.name == "thread_name" and (.args.name | test("^thread [0-9]+ .loader.$"))) | .tid)
        as $loader | ["cpu_sample", "thread_state"] - ($events | map(select((.args.thread // .tid) == $loader) | .cat)) == []' trace.json
}
