#!/usr/bin/env bats
# The checker itself: it accepts a good trace, and for each of its rules there is a trace that it rejects for this rule.

bats_require_minimum_version 1.5.0

setup() {
    build=${GPUTRACE_BUILD:-$BATS_TEST_DIRNAME/../../build}
    check=$build/tests/check_trace
    [ -x "$check" ] || skip "there is no $check: make check_trace"
    good=$BATS_TEST_DIRNAME/good.json
    bad=$BATS_TEST_TMPDIR/bad.json
}

# The good trace after a change by jq is rejected, and by the rule $1.
rejects() { # RULE FILTER [OPTION...]
    jq "$2" "$good" >"$bad"
    broken "$1" "${@:3}"
}

broken() { # RULE [OPTION...]
    run -1 "$check" --quiet "${@:2}" "$bad"
    [[ $output == *" broken: $1"* ]] || {
        echo "rule '$1' was not named: $output"
        return 1
    }
}

# The good trace after a change by sed is not JSON.
not_json() { # SED-SCRIPT WORDS
    sed "$1" "$good" >"$bad"
    ! cmp -s "$good" "$bad"
    run -1 "$check" --quiet "$bad"
    [[ $output == *"not valid JSON: "*"$2"* ]] || {
        echo "'$2' was not said: $output"
        return 1
    }
}

states() { # STATUS LINE...
    printf '%s\n' "${@:2}" >"$BATS_TEST_TMPDIR/statement"
    run "-$1" "$check" --quiet --expect "$BATS_TEST_TMPDIR/statement" "$good"
}

# The events below, by where they stand in good.json
call=.traceEvents[4] kernel=.traceEvents[5] flow_start=.traceEvents[6] flow_end=.traceEvents[7]

@test "accepts a good trace" {
    run -0 "$check" --strict "$good"
    [[ $output == *" 0 problems"* ]]
}

@test "accepts a good trace in gzip, also of several members" {
    head -c 100 "$good" | gzip >"$bad.gz"
    tail -c +101 "$good" | gzip >>"$bad.gz"
    run -0 "$check" --strict "$bad.gz"
}

@test "accepts a trace of Kineto's with --kineto" {
    trace=$BATS_TEST_DIRNAME/../data/kineto/kineto-train-h200.json.gz
    [ -e "$trace" ] || trace=$(find "$BATS_TEST_DIRNAME/../data" -name '*kineto*.json.gz' | head -n 1)
    [ -n "$trace" ] || skip "there is no trace of Kineto's in tests/data"
    run -0 "$check" --kineto "$trace"
    run -1 "$check" "$trace"
}

# --- JSON ---

@test "rejects gzip that is cut" {
    gzip -c "$good" | head -c 300 >"$bad"
    run -1 "$check" "$bad"
    [[ $output == *"cannot be read"* ]]
}

@test "rejects a file that is cut" {
    head -c 1000 "$good" >"$bad"
    run -1 "$check" "$bad"
    [[ $output == *"not valid JSON: the file ends"* ]]
}

@test "rejects an empty file" {
    : >"$bad"
    run -1 "$check" "$bad"
    [[ $output == *"not valid JSON"* ]]
}

@test "rejects what is not JSON: text after the end, commas, NaN, numbers, keys that come twice" {
    not_json '$a {}' "something follows the end"
    not_json 's/^\]}/,]}/' "where a value was expected"
    not_json '0,/"dur":10/s//"dur":NaN/' "'NaN' is no value"
    not_json '0,/"dur":10/s//"dur":-Infinity/' "a number lacks a digit"
    not_json '0,/"dur":10/s//"dur":1e999/' "too large for a double"
    not_json '0,/"dur":10/s//"dur":010/' "begins with 0"
    not_json '0,/"dur":10/s//"dur":10./' "lacks a digit"
    not_json '0,/"dur":10/s//"dur":+10/' "where a value was expected"
    not_json 's/"schemaVersion": 1,/&"schemaVersion": 1,/' "twice"
    not_json '0,/"dur":10/s//"dur":10,"dur":10/' "twice"
}

@test "rejects texts that are not UTF-8 or not escaped as JSON has it" {
    not_json 's/train/tr\xffin/' "byte 0xff"
    not_json 's/train/tr\xc3/' "0xc3"
    not_json 's/train/\xc0\xaf/' "byte 0xc0"
    not_json 's/train/\xed\xa0\x80/' "0xed"
    not_json 's/train/\xf4\x90\x80\x80/' "0xf4"
    not_json 's/train/\\ud83d/' "half a surrogate pair"
    not_json 's/train/\\ude00/' "half a surrogate pair"
    not_json 's/train/\\ud83d\\ud83d/' "half a surrogate pair"
    not_json 's/train/\\ud83d\\ude00/' "Perfetto"
    not_json 's/train/\t/' "control character 0x09"
    not_json 's/train/\\x41/' "unknown escape"
}

@test "rejects nesting without end" {
    { printf '{"a":'; printf '[%.0s' {1..100}; printf ']%.0s' {1..100}; printf '}'; } >"$bad"
    run -1 "$check" "$bad"
    [[ $output == *"nested deeper"* ]]
}

# --- what stands before the events ---

@test "rejects a missing key" {
    for key in schemaVersion deviceProperties cupti_version cuda_runtime_version cuda_driver_version \
        displayTimeUnit baseTimeNanoseconds traceName gputrace traceEvents; do
        rejects metadata "del(.$key)"
    done
}

@test "rejects a rank that HTA does not find" {
    sed 's/"rank": /"rank":/' "$good" >"$bad"
    broken metadata
    rejects metadata 'del(.distributedInfo.rank)'
}

@test "rejects losses where nothing may be lost" {
    jq '.gputrace.losses.zero_time = 1' "$good" >"$bad"
    run -0 "$check" "$bad"
    broken losses --strict
    rejects metadata 'del(.gputrace.losses)'
}

@test "a loss that the program states is none, as long as it is as large" {
    jq '.gputrace.losses.unmatched_ranges = 2' "$good" >"$bad"
    broken losses --strict
    echo 'expect loss unmatched_ranges 2' >"$BATS_TEST_TMPDIR/statement"
    run -0 "$check" --quiet --strict --expect "$BATS_TEST_TMPDIR/statement" "$bad"
    echo 'expect loss unmatched_ranges 1' >"$BATS_TEST_TMPDIR/statement"
    broken statement --strict --expect "$BATS_TEST_TMPDIR/statement"
    echo 'expect loss in_flight 0' >"$BATS_TEST_TMPDIR/statement"
    broken losses --strict --expect "$BATS_TEST_TMPDIR/statement"
}

@test "NVTX's resources, failed waits and named CUDA events are counted, and rejected when a member is missing" {
    local resource='{"pid": 1, "type": "mutex", "identifier": "0x1", "name": "a \"b\"", "domain": "d", "created": 1.5}'
    jq --argjson resource "$resource" --argjson row "$(jq '.traceEvents[4] | {pid, tid}' "$good")" '
        .gputrace.nvtx_resources = [$resource, $resource + {"destroyed": 2, "domain": null | tostring}]
        | .gputrace.nvtx_resources[1] |= del(.domain)
        | .traceEvents += [$row + {"ph": "i", "cat": "cuda_event", "name": "CUDA Event Record", "ts": 1, "args":
            {"cuda_event_name": "ready"}}, $row + {"ph": "i", "cat": "user_annotation", "name": "m", "ts": 1, "args":
            {"failed": true, "open at end": true}}]' "$good" >"$bad"
    printf 'expect %s\n' 'resource mutex "a \"b\"" domain "d" 1' 'resource mutex "a \"b\"" 1' \
        'destroyed mutex "a \"b\"" 1' 'cuda-event "ready" 1' 'nvtx mark "m" failed 1' 'open "m" 1' \
        >"$BATS_TEST_TMPDIR/statement"
    run -0 "$check" --quiet --expect "$BATS_TEST_TMPDIR/statement" "$bad"
    local change
    for change in 'del(.pid)' 'del(.type)' 'del(.created)' '.identifier = 1' '.created = "now"'; do
        rejects metadata ".gputrace.nvtx_resources = [$resource | $change]"
    done
    rejects metadata '.gputrace.nvtx_resources = {}'
}

@test "rejects plugins in the metadata that lack a member" {
    local plugin=.gputrace.plugins[0]
    for key in name pid calls time_ns lines; do
        rejects metadata "del($plugin.$key)"
    done
    rejects metadata '.gputrace.plugins = {}'
    rejects metadata "$plugin.time_ns = 0.5"
    rejects metadata "del($plugin.lines[0].text)"
    rejects metadata "$plugin.lines[1].stack = []"
    rejects metadata "del($plugin.lines[1].stack[0].address)"
    rejects metadata "$plugin.lines[1].stack[0].address = 4198964"
    jq 'del(.gputrace.plugins)' "$good" >"$bad"
    run -0 "$check" --strict "$bad"
}

# --- single events ---

@test "rejects a slice without a field" {
    for field in ph cat name ts dur pid tid; do
        rejects fields "del($kernel.$field)"
    done
}

@test "rejects times finer than a nanosecond" {
    sed '0,/"dur":10/s//"dur":10.0001/' "$good" >"$bad"
    broken time
}

@test "rejects arguments that are missing or of the wrong type" {
    for key in device context stream correlation queued grid block "registers per thread" "shared memory" \
        "blocks per SM" "warps per SM" "est. achieved occupancy %"; do
        rejects arguments "del($kernel.args[\"$key\"])"
    done
    rejects arguments "$kernel.args.grid = [1, 2]"
    rejects arguments "$kernel.args.block = [0, 1, 1]"
    rejects arguments "$kernel.args[\"graph id\"] = 1"
    rejects arguments "del($call.args.cbid)"
    rejects arguments '.traceEvents |= map(if .cat == "gpu_memcpy" then del(.args.bytes) else . end)'
    rejects arguments '.traceEvents |= map(if .cat == "cuda_sync" then del(.args.cuda_sync_kind) else . end)'
    rejects arguments '.traceEvents |= map(if .cat == "cuda_sync" then .name = "Sync" else . end)'
    rejects arguments '.traceEvents |= map(if .cat == "cuda_sync" then .name = "Event Sync" else . end)'
}

@test "rejects slices of compilation that do not say what they are" {
    local phase='.traceEvents |= map(if .name == "PTX compilation" then' jit='.traceEvents |= map(if .name == "JIT compile" then'
    for key in trigger function phase thread; do
        rejects arguments "$phase del(.args.$key) else . end)"
    done
    rejects arguments "$phase .args.trigger = \"Linking\" else . end)"
    rejects arguments "$phase .args.phase = 0 else . end)"
    rejects arguments "$phase .name = \"Compilation\" else . end)"
    rejects arguments "$jit .args[\"cache hit\"] = true else . end)"
    rejects arguments "$jit .args[\"cache hit\"] = 0 else . end)"
    rejects arguments "$jit del(.args[\"cache hit\"]) else . end)"
    rejects arguments "$jit .name = \"JIT cache store\" else . end)"
    rejects nesting "$jit .dur = 5.5 else . end)"
}

# --- several events ---

# Each line is a rule and a change that breaks it; what the change is stands above.
@test "rejects a trace that breaks a rule" {
    local line
    while IFS= read -r line; do
        [[ $line = ' '* ]] || continue
        line=${line#"${line%%[! ]*}"}
        echo "$line"
        rejects "${line%%: *}" "${line#*: }"
    done <<END
a key of the wrong type
    metadata: .baseTimeNanoseconds |= tostring
a device without its properties
    metadata: del(.deviceProperties[0].numSms)
    metadata: del(.deviceProperties[0].name)
keys after the events
    metadata: {traceEvents} + del(.traceEvents)
an unknown phase, and an event that is no object
    fields: $kernel.ph = "Q"
    fields: .traceEvents += [1]
a duration below 0
    time: $kernel.dur = -1
pids and tids beyond 31 bits, and tid 0
    rows: $kernel.pid = -1
    rows: $kernel.pid = 2147483648
    rows: $kernel.tid = 0
    rows: $call.tid = 4294967296
    fields: $call.tid = "main"
    fields: $call.tid = 1.5
what plugins added when it lacks its thread
    arguments: .traceEvents |= map(if .cat == "plugin" and .ph == "X" then del(.args.thread) else . end)
    arguments: .traceEvents |= map(if .cat == "plugin" and .ph == "i" then .args.thread = "main" else . end)
an API call with a stream, which HTA takes for GPU work
    arguments: $call.args.stream = 7
API names with versions and suffixes
    api names: $call.name = "cudaLaunchKernel_v7000"
    api names: $call.name = "cudaLaunchKernel_ptsz"
slices that overlap by one nanosecond
    nesting: .traceEvents += [$kernel | .ts += 9.999]
two streams on one row
    rows: .traceEvents += [$kernel | .ts += 50 | .args.stream = 8]
a flow without its other end
    flows: del($flow_start)
    flows: del($flow_end)
    flows: .traceEvents += [$flow_end]
a flow that ends before it starts
    flows: $flow_start.ts = 24
a flow's end that lies on no slice
    flows: $flow_start.ts = 1
    flows: $flow_end.ts = 99
    flows: $flow_end.tid = 99
a flow between operators where none begins
    flows: $flow_start.cat = "fwdbwd" | $flow_end.cat = "fwdbwd"
a flow between different correlations
    flows: $kernel.args.correlation = 99
a flow without bp, and ids beyond 32 bits
    flows: del($flow_end.bp)
    flows: $flow_start.id = 4294967296 | $flow_end.id = 4294967296
    flows: $flow_start.id = "1" | $flow_end.id = "1"
flows that are members of slices
    flows: $call.bind_id = 1
    flows: $call.flow_out = true
    flows: $kernel.flow_in = true
asynchronous ranges without both ends
    ranges: .traceEvents |= map(select(.ph != "e"))
    ranges: .traceEvents |= map(select(.ph != "b"))
    ranges: .traceEvents |= map(if .ph == "e" then .ts = 0 else . end)
    ranges: .traceEvents |= map(if .ph == "e" then .id = 77 else . end)
counters without numbers
    counters: .traceEvents |= map(if .ph == "C" then .args.bytes = "1" else . end)
    counters: .traceEvents |= map(if .ph == "C" then .args = {} else . end)
rows and processes without a name
    names: .traceEvents |= map(select(.name != "process_name"))
    names: .traceEvents |= map(select(.name != "thread_name"))
    names: .traceEvents |= map(if .name == "thread_name" then .args = {} else . end)
    names: .traceEvents |= map(if .name == "thread_name" then .name = "row_name" else . end)
END
}

@test "rejects slices of one row that overlap without nesting" {
    rejects nesting ".traceEvents += [$kernel | .ts += 5]"
    jq ".traceEvents += [$kernel | .ts += 10, .cat = \"other\"]" "$good" >"$bad"
    run "$check" --quiet "$bad"
    [[ $output != *"broken: nesting"* ]]
}

@test "rejects a flow that binds to a slice of another kind" {
    rejects flows ".traceEvents += [{ph: \"X\", cat: \"user_annotation\", name: \"in\", ts: 11, dur: 2, pid: 100, tid: 100}]
        | $flow_start.ts = 12"
}

@test "rejects a GPU operation without a flow, with --strict" {
    jq "del($flow_start, $flow_end)" "$good" >"$bad"
    run -0 "$check" "$bad"
    broken flows --strict
}

@test "rejects a GPU operation that starts before its call" {
    rejects causality "$kernel.ts = 9.999 | $flow_end.ts = 10"
    jq "del($flow_start, $flow_end) | $kernel.ts = 9.999" "$good" >"$bad"
    broken causality
}

# --- statements ---

@test "a query is expected where all API calls were recorded, and nowhere else" {
    states 0 "expect query cudaFree 3"
    states 1 "expect query cudaLaunchKernel 1"
    jq '.gputrace.options.trace += ["api-all"]' "$good" >"$bad"
    good=$bad
    states 0 "expect query cudaLaunchKernel 1"
    states 1 "expect query cudaFree 3"
}

@test "a statement that is right" {
    states 0 "some other line" "expect kernel add 1" "expect kernels 1" "expect memcpy HtoD 1 bytes 4096" \
        "expect memcpys 1" "expect memset 0" "expect api cudaLaunchKernel 1" "expect api cudaFree 0" \
        'expect sync "Stream Sync" 1..' 'expect nvtx push "train \"it\"" domain "d" payload 0.5 1' \
        'expect nvtx start "range" 1' 'expect nvtx mark "mark" 1' "expect pushes 1..2" "expect failure cudaMalloc 1" \
        'expect compilation "PTX compilation" 1' 'expect compilation "JIT compile" 1..' 'expect compilation "Linking" 0' \
        'expect plugin slice "alive" 1' 'expect plugin instant "leak \"it\"" 1' 'expect plugin slice "leak" 0' \
        'expect row "main" 1' "expect streams 1" "expect devices 1" "expect threads 1" "expect processes 1" \
        "expect flows 2" "expect memory Device allocations 2 bytes 1500 releases 1 peak 1500 end 1000"
}

@test "a statement that is wrong, in each of its lines" {
    for line in "kernel add 2" "kernel other 1" "kernels 0" "kernels 2.." "kernels 2..3" "memcpy HtoD 1 bytes 1" \
        "memset 1" "api cudaLaunchKernel 0" 'sync "Stream Sync" 2..' 'nvtx push "train \"it\"" 1' \
        'compilation "PTX compilation" 2' 'plugin slice "alive" 0' 'plugin instant "alive" 1' \
        'row "nobody" 1' "streams 2" "flows 1" \
        "memory Device allocations 1 bytes 1500 releases 1 peak 1500 end 1000" \
        "memory Device allocations 2 bytes 1400 releases 1 peak 1500 end 1000" \
        "memory Device allocations 2 bytes 1500 releases 2 peak 1500 end 1000" \
        "memory Device allocations 2 bytes 1500 releases 1 peak 1000 end 1000" \
        "memory Device allocations 2 bytes 1500 releases 1 peak 1500 end 0"; do
        states 1 "expect $line"
        [[ $output == *"1 broken: statement"* ]] || { echo "$line: $output"; return 1; }
    done
}

@test "values in payloads, calls of NVTX's memory extension, and counters" {
    jq --argjson row "$(jq '.traceEvents[4] | {pid, tid}' "$good")" '.traceEvents += [
        $row + {"ph": "i", "cat": "user_annotation", "name": "m \"x\"", "ts": 1, "args": {"schema": "s", "payload":
            {"n": 0.5, "list": [1, {"t": "a b"}], "no": null, "yes": true}, "end payload": -3}},
        $row + {"ph": "i", "cat": "nvtx_memory", "name": "Region resized", "ts": 1, "args": {"bytes": 12, "heap": "h"}},
        ($row | del(.tid)) + {"ph": "C", "name": "d: \"c\"", "ts": 2, "args": {"value": 2}},
        ($row | del(.tid)) + {"ph": "C", "name": "d: \"c\"", "ts": 1, "args": {"value": 1, "other": -0.25}}]' "$good" >"$bad"
    good=$bad
    states 0 'expect nvtx mark "m \"x\"" 1' 'expect nvtx mark "m \"x\"" arg "payload.n" 0.5 1' \
        'expect nvtx mark "m \"x\"" arg "payload.list[0]" 1 1' 'expect nvtx mark "m \"x\"" arg "payload.list[1].t" "a b" 1' \
        'expect nvtx mark "m \"x\"" arg "payload.no" null 1' 'expect nvtx mark "m \"x\"" arg "payload.yes" true 1' \
        'expect nvtx mark "m \"x\"" arg "end payload" -3 1' 'expect nvtx mark "m \"x\"" arg "schema" "s" 1' \
        'expect nvtx memory "Region resized" 1 bytes 12' 'expect nvtx memory "Region resized" arg "heap" "h" 1' \
        'expect counter "d: \"c\"" samples 2 last 2' 'expect counter "d: \"c\"" "other" samples 1 last -0.25'
    local line
    for line in 'nvtx mark "m \"x\"" arg "payload.n" 0.25 1' 'nvtx mark "m \"x\"" arg "payload.list[1].t" "a" 1' \
        'nvtx memory "Region resized" 1 bytes 13' 'counter "d: \"c\"" samples 1 last 2' \
        'counter "d: \"c\"" samples 2 last 1' 'counter "d: \"c\"" "none" samples 1 last 0' 'counter d samples 1 last 1' \
        'counter "d: \"c\"" samples 2'; do
        states 1 "expect $line"
        [[ $output == *"1 broken: statement"* ]] || { echo "$line: $output"; return 1; }
    done
}

@test "device ranges and NVTX ranges are distinguished" {
    local kernel_row='{pid: .traceEvents[5].pid, tid: .traceEvents[5].tid, ts: .traceEvents[5].ts, dur: .traceEvents[5].dur}'
    jq ".traceEvents += [({ph: \"X\", cat: \"gpu_user_annotation\", name: \"step\", args: {}} + $kernel_row),
        ({ph: \"X\", cat: \"gpu_user_annotation\", name: \"step\", args: {range: 1, from: \"gputrace_device_range\"}} + $kernel_row)]" \
        "$good" >"$bad"
    good=$bad
    states 0 'expect nvtx gpu "step" 1' 'expect device-range "step" 1' 'expect device-ranges 1'
    states 1 'expect device-ranges 2'
}

@test "a statement that cannot be understood, is empty or is missing" {
    for line in "kernel add" "kernel add many" "kernels 1.2" "memory Device 1" "kernels 1 bytes"; do
        states 1 "expect $line"
        [[ $output == *"cannot be understood"* ]] || { echo "$line: $output"; return 1; }
    done
    states 1 "no line that counts"
    [[ $output == *"has no line"* ]]
    run -1 "$check" --expect "$BATS_TEST_TMPDIR/missing" "$good"
}

@test "usage" {
    run -2 "$check"
    run -2 "$check" --unknown "$good"
    run -1 "$check" "$BATS_TEST_TMPDIR/missing.json"
    run -0 "$check" --help
    for words in 'device-range "MESSAGE"' 'compilation "NAME"' 'plugin slice "NAME"' 'plugin instant "NAME"'; do
        [[ $output == *"$words"* ]]
    done
}

# --- memory ---

@test "memory: leaks, wrong frees and failures are counted" {
    states 0 "expect leak Device 1 bytes 1000" "expect double-free 1" "expect unknown-free 1" \
        "expect failed-allocation Device 1 bytes 4096"
    for line in "leak Device 2" "leak Device 1 bytes 500" "leak Pinned 1" "double-free 0" "unknown-free 2" \
        "failed-allocation Device 1 bytes 1"; do
        states 1 "expect $line"
    done
}

@test "rejects an allocation without address or kind, and a failed one without the bytes in use" {
    rejects arguments '(.traceEvents[] | select(.name == "Allocate Device") | .args) |= del(.address)'
    rejects arguments '(.traceEvents[] | select(.name == "Allocate Device") | .args) |= del(.kind)'
    rejects arguments '(.traceEvents[] | select(.name == "Allocate Device failed") | .args) |= del(.held)'
}

@test "rejects call stacks that are missing, incomplete or there twice" {
    rejects stacks '(.traceEvents[] | select(.args.stack == 5) | .args.stack) = 2'
    rejects stacks '(.traceEvents[] | select(.args.stack == 5)) |= (.args.stack = 2 | .sf = 2)'
    rejects stacks 'del(.traceEvents[] | select(.args.stack == 5) | .sf)'
    rejects stacks '.stackFrames["5"].parent = 5'
    rejects stacks '.stackFrames["x"] = {name: "f"}'
    rejects stacks 'del(.stackFrames["1"].name)'
    rejects stacks 'del(.stackFrames)'
    rejects metadata '.stackFrames = []'
}
