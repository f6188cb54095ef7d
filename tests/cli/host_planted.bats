# What gputrace run --cpu records is what the report says: planted programs, each with the function that a GPU waits
# for, and their twins.

load findings

# A sanitizer's own functions would stand in the stacks.
before_each() { [ "$build" = "$root/build" ] || skip "done with the plain build"; }

# Among what the host of planted.json did outside CUDA, what took most, over all threads that it waited for, apart from
# waiting for a processor, which a busy machine adds.
activity() {
    "$gputrace" report -r idle --format=json planted.json |
        jq -r '[."idle-where"[] | select(.cause == "outside" and .host and (.host | startswith("waiting for a processor") | not))]
            | group_by(.host | sub("(, held by| for thread|; meanwhile).*"; "")) | max_by(map(.total_ns) | add)
            | max_by(.total_ns).host'
}

# PROGRAM... is recorded, at most three times, until its host's activity is one of REGEXP.
named() { # REGEXP PROGRAM...
    local regexp=$1 try
    shift
    for try in 1 2 3; do
        "$gputrace" run -q --cpu=samples,switches -o planted.json "$@"
        run -0 activity
        [[ ! $output =~ $regexp ]] || return 0
    done
    fail "what the host does is not named in $try recordings; the last: $output"
}

# The same until the host is no finding: a busy machine stops programs where they do not wait on their own.
unnamed() { # PROGRAM...
    local try
    for try in 1 2 3; do
        "$gputrace" run -q --cpu=samples,switches -o fixed.json "$@" >/dev/null
        run -0 ids fixed.json
        grep -qxE 'host-(blocked|work)' <<<"$output" || return 0
    done
    fail "the host is among the findings of $try recordings, of the last: $output"
}

@test "a slow loader is named, with the thread that decodes" {
    named '^pthread_cond_wait\(\) in next_batch\(\) .*thread loader, which ran decode_batch|meanwhile thread loader ran decode_batch' \
        "$samples/planted_host" loader
    unnamed "$samples/planted_host" loader-fixed
}

@test "a lock is named, with the thread that holds it" {
    named '^pthread_mutex_lock\(\) in read_state\(\) .*thread saver,? (which )?ran save_state' "$samples/planted_host" lock
    unnamed "$samples/planted_host" lock-fixed
}

@test "a disk is named" {
    named '^(fsync\(\)|pwrite\(\)|waiting for a disk) in save_batch' "$samples/planted_host" disk
    unnamed "$samples/planted_host" disk-fixed
}

@test "Python's garbage collection is named" {
    named '^garbage collection( in collect_all \(planted_python.py:[0-9]+\))?$' "$samples/planted_python.py" garbage
    unnamed "$samples/planted_python.py" garbage-fixed
}

# Named by their place from CPython 3.11 on.
@test "a function of Python that makes batches is named, with its line" {
    python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || skip "needs CPython 3.11 or newer"
    named '^tokenize \(planted_python.py:[0-9]+\)$' "$samples/planted_python.py" loader
    "$gputrace" report -r findings planted.json | grep -q 'Call stack: tokenize (.*planted_python.py:[0-9]*) < load_batch'
    unnamed "$samples/planted_python.py" loader-fixed
}
