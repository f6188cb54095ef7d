# What the tests of findings share.
# shellcheck shell=bash

load common

ids() { # TRACE
    "$gputrace" report -r findings --format=json "$1" | jq -r '.findings[].id'
}

# Records PROGRAM into planted.json: one of the first COUNT findings has the id ID.
with_id() { # COUNT ID [OPTION...] PROGRAM...
    local count=$1 id=$2
    shift 2
    "$gputrace" run -q -o planted.json "$@" || true
    run -0 ids planted.json
    head -n "$count" <<<"$output" | grep -qx "$id" || fail "$id is not among the first $count findings: $output"
}

# Records PROGRAM into fixed.json: no finding's id matches REGEXP.
without_id() { # REGEXP [OPTION...] PROGRAM...
    local regexp=$1
    shift
    "$gputrace" run -q -o fixed.json "$@" >/dev/null
    run -0 ids fixed.json
    ! grep -xE "$regexp" <<<"$output" || fail "'$*' has these findings: $output"
}

# The trace of what tests/data/planted holds.
recorded() { # NAME TRACE
    rm -rf spool && mkdir spool
    tar -C spool -xzf "$root/tests/data/planted/$1.tar.gz"
    "$gputrace" convert --force spool "$2"
}

# As recorded on an H100, CASE of PROGRAM has the finding ID first, and CASE-fixed none but those of the regexp OTHERS.
planted() { # PROGRAM CASE ID [OTHERS]
    recorded "$1-$2" planted.json
    run -0 ids planted.json
    assert_line --index 0 "$3"
    recorded "$1-$2-fixed" fixed.json
    run -0 ids fixed.json
    ! grep -vxE "(${4-})?" <<<"$output" || fail "the twin has these findings: $output"
}

# As recorded on a GPU, with stacks: NAME has the finding ID, its twin has not.
recorded_trace() { # NAME ID
    gzip -dc "$root/tests/data/planted/$1.json.gz" >planted.json
    run -0 ids planted.json
    assert_line "$2"
    gzip -dc "$root/tests/data/planted/$1-fixed.json.gz" >fixed.json
    run -0 ids fixed.json
    ! grep -qx "$2" <<<"$output" || fail "the twin has it: $output"
}

# shellcheck disable=SC2016 # the dollars are jq's
words='
    def call($name; $ts; $dur; $id):
        {ph: "X", cat: "cuda_runtime", name: $name, pid: 1, tid: 1, ts: $ts, dur: $dur, args: {correlation: $id}};
    def op($cat; $name; $stream; $ts; $dur; $id):
        {ph: "X", cat: $cat, name: $name, pid: 0, tid: $stream, ts: $ts, dur: $dur,
         args: {device: 0, context: 1, stream: $stream, correlation: $id}};
    def kernel($stream; $ts; $dur; $id): op("kernel"; "k"; $stream; $ts; $dur; $id);
    def copy($name; $stream; $ts; $dur; $id; $bytes): op("gpu_memcpy"; $name; $stream; $ts; $dur; $id) | .args.bytes = $bytes;
    def shaped($name; $blocks; $threads; $registers; $stream; $ts; $dur; $id):
        op("kernel"; $name; $stream; $ts; $dur; $id)
        | .args += {grid: [$blocks, 1, 1], block: [$threads, 1, 1], "registers per thread": $registers, "shared memory": 0};
    def range($name; $ts; $dur): {ph: "X", cat: "user_annotation", name: $name, pid: 1, tid: 1, ts: $ts, dur: $dur};
    def launched($stream; $at; $ts; $dur; $id): call("cudaLaunchKernel"; $at; 5; $id), kernel($stream; $ts; $dur; $id);
'

h200='{"id": 0, "name": "NVIDIA H200", "computeMajor": 9, "computeMinor": 0, "maxThreadsPerMultiprocessor": 2048,
    "warpSize": 32, "numSms": 132, "regsPerMultiprocessor": 65536, "sharedMemPerMultiprocessor": 233472}'

# What the findings of these events on an H200 are: id, time, gain and count, times in ns.
found() { # EVENTS
    jq -n "$words {deviceProperties: [$h200], traceEvents: [$1]}" >small.json
    "$gputrace" report -r findings --format=json small.json |
        jq -r '.findings[] | "\(.id) \(.time_ns) \(.gain_ns) \(.count)"'
}
