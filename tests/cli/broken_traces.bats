# Traces that other programs write: report and convert read the same of them, and say what they leave out.

load common

# What report and convert say of FILE on standard error, with their status. They say the same.
said() { # FILE
    run --separate-stderr "$gputrace" report -r overview "$1"
    local reported=$stderr report_status=$status
    run --separate-stderr "$gputrace" convert -q --force "$1" said.json
    assert_equal "$status" "$report_status"
    run --separate-stderr "$gputrace" convert --force "$1" said.json
    [ -z "$reported" ] || [[ $stderr == "$reported"* ]] || fail "report: $reported; convert: $stderr"
    output=$reported
    return "$report_status"
}

# The slices of a trace in JSON: name, start and duration.
slices() { # FILE
    sed -nE 's/.*"ph":"X".*"name":"([^"]*)","pid":([0-9]+),"tid":([0-9]+),"ts":([0-9.]+),"dur":([0-9.]+).*/\1 \2 \3 \4 \5/p' "$1"
}

# A trace as torch.profiler writes it: six operators, launches and kernels.
kineto() { # JQ, which changes the events
    jq -n '[range(6) | . as $i | 1669329643132548 + $i * 100 | (
        {ph: "X", cat: "cpu_op", name: "aten::mm", pid: 100, tid: 100, ts: ., dur: 50, args: {"External id": ($i + 1)}},
        {ph: "X", cat: "cuda_runtime", name: "cudaLaunchKernel", pid: 100, tid: 100, ts: (. + 10), dur: 8, args: {correlation: ($i + 1)}},
        {ph: "X", cat: "kernel", name: "k\($i % 2)", pid: 0, tid: 7, ts: (. + 30), dur: 60,
         args: {correlation: ($i + 1), device: 0, stream: 7}})] | '"${1:-.}"' |
        {schemaVersion: 1, deviceProperties: [{id: 0, name: "GPU"}], traceEvents: .}'
}

kernels() { # FILE
    "$gputrace" report -r kernels -f json "$1" 2>/dev/null | jq -c '[.kernels[] | [.name, .calls, .total_ns]]'
}

@test "numbers in texts are read" {
    cat >strings.json <<'END'
[
{"ph": "M", "name": "process_name", "pid": 3, "tid": 0, "args": {"name": "Accelerator"}},
{"ph": "X", "name": "MatMul", "pid": 3, "tid": 22, "ts": "1742490378358140.950", "dur": 28.19, "args": {}},
{"ph": "X", "name": "Add", "pid": "3", "tid": "22", "ts": "1742490378358200", "dur": "10", "args": {}},
{"ph": "X", "cat": "kernel", "name": "k", "pid": "0", "tid": "7", "ts": "1742490378358200.5", "dur": "1e1", "args": {"stream": "7", "device": "0"}}
]
END
    said strings.json
    assert_output ''
    assert_equal "$(kernels strings.json)" '[["k",1,10000]]'
    assert_equal "$(slices said.json)" 'MatMul 3 22 1742490378358140.950 28.190
Add 3 22 1742490378358200.000 10.000
k 0 7 1742490378358200.500 10.000'
    run -0 "$gputrace" report -r overview strings.json
    assert_line --regexp '^  Time span +69.5 µs'
    assert_line --regexp '^  Processes +1 +Accelerator \(3\)'
    assert_line --regexp '^  Threads +1$'
}

@test "an empty object is neither an event nor an error" {
    printf '{"traceEvents": [\n{},\n{"ph":"X","name":"k1","pid":"6","tid":"0","ts":"100","dur":"20"},\n{}]}' >empty.json
    said empty.json
    assert_output ''
    assert_equal "$(slices said.json)" 'k1 6 0 100.000 20.000'
}

@test "NaN and Infinity among arguments are not read, and the event is" {
    kineto '.[2].args.x = "NaN" | .[5].args.x = "-Infinity" | .[8].args.stream = "NaN"' | sed -E 's/"(NaN|-Infinity)"/\1/' >nan.json
    grep -q '"x": NaN' nan.json
    said nan.json
    assert_output ''
    assert_equal "$(kernels nan.json)" '[["k0",3,180000],["k1",3,180000]]'
    assert_equal "$(kernels said.json)" "$(kernels nan.json)"
    python3 -c 'import json, sys; json.load(open("said.json"), parse_constant=sys.exit)'
}

@test "one broken event is left out with its line, its place and its cause" {
    local how cause
    while IFS='|' read -r how cause; do
        kineto | sed -E "$how" >broken.json
        local line
        line=$(diff <(kineto) broken.json | sed -n '1s/[^0-9].*//p')
        said broken.json
        assert_output --regexp "warning: 'broken.json': 1 event is left out, at line $line \\(byte [0-9]+\\): "
        assert_output --partial "$cause"
        assert_equal "$(kernels broken.json)" '[["k1",3,180000],["k0",2,120000]]'
        assert_equal "$(kernels said.json)" "$(kernels broken.json)"
    done <<'END'
0,/"k0"/s/"k0"/"say "x""/|this is not JSON: found x"", behind the key "name": expected ',' or '}'
0,/"k0"/s/"k0"/"torch\\cuda\\k0"/|this is not JSON: found \cuda\k0", behind the key "name": expected an escape such as \\ or \n
0,/"stream": 7/s/"stream": 7/"stream": inf/|this is not JSON: found inf behind the key "stream": expected a value
0,/"dur": 60/s/"dur": 60/"dur": NaN/|"dur" is NaN: expected a number of microseconds
0,/"dur": 60/s/"dur": 60/"dur": "long"/|"dur" is "long": expected a number of microseconds
0,/"pid": 0/s/"pid": 0/"pid": {"id": 0}/|"pid" is {"id": 0}: expected a number or a text
END
}

@test "a kernel without times is left out, and makes the trace no longer" {
    kineto '.[2].ts = 0 | .[2].dur = 0' >zero.json
    said zero.json
    assert_output --regexp '1 event is left out, at line [0-9]+ \(byte [0-9]+\): "ts" is 0: expected times: "dur" is 0 too, so they are lost'
    run -0 "$gputrace" report -r overview zero.json
    assert_line --regexp '^  Time span +590 µs'
    assert_line --regexp '^  Kernels +5$'
}

@test "halves of surrogate pairs are read as U+FFFD and counted" {
    kineto | sed '0,/"k0"/s/"k0"/"a\\ud800b"/' >lone.json
    said lone.json
    assert_output --partial "warning: 'lone.json': lone surrogates in texts are read as U+FFFD: 1, the first at line "
    assert_equal "$(kernels lone.json)" '[["k1",3,180000],["k0",2,120000],["a�b",1,60000]]'
    assert_equal "$(kernels said.json)" "$(kernels lone.json)"
}

@test "a trace whose events are all left out is an error with the reason of most" {
    printf '[{"ph":"X","name":"a","ts":"x","dur":1},\n7,\n{"ph":"X","name":"b","ts":[],"dur":1},{"ph":"M","name":"process_name","pid":1,"args":{"name":"p"}}]' >none.json
    said none.json && fail 'it is a trace'
    assert_output "gputrace: 'none.json' has no events that can be read: 3 events are left out, 2 of them for one reason, the first at line 1 (byte 27): \"ts\" is \"x\": expected a number of microseconds"
}

@test "a trace that is cut off, packed or not, is read to its end" {
    kineto >whole.json
    gzip -k whole.json
    local file
    head -c $(($(wc -c <whole.json) - 300)) whole.json >cut.json
    head -c $(($(wc -c <whole.json.gz) - 30)) whole.json.gz >cut.json.gz
    for file in cut.json cut.json.gz; do
        said $file
        assert_output --regexp "^gputrace: warning: '$file' is cut off at byte [0-9]+: what follows the last complete event is left out$"
        assert_equal "$(kernels $file)" '[["k0",3,180000],["k1",2,120000]]'
        assert_equal "$(kernels said.json)" "$(kernels $file)"
    done
}
