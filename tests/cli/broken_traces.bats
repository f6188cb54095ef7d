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
0,/"dur": 60/s/"dur": 60/"dur": 1742490378000000000/|"dur" is 1742490378000000000: expected microseconds of this age (are these nanoseconds?)
0,/"pid": 0/s/"pid": 0/"pid": {"id": 0}/|"pid" is {"id": 0}: expected a number or a text
END
}

@test "what is not JSON between events and in the metadata is passed over and counted" {
    local how cause
    kineto >whole.json
    while IFS='|' read -r how cause; do
        perl -0pe "$how" whole.json >stray.json
        said stray.json
        assert_equal "$(grep -c . <<<"$output")" 1
        assert_output --regexp "warning: 'stray.json': places that are not JSON are passed over: [12], the first at line "
        assert_output --partial "$cause"
        assert_equal "$(kernels stray.json)" "$(kernels whole.json)"
        assert_equal "$(kernels said.json)" "$(kernels whole.json)"
    done <<'END'
s/"schemaVersion": 1/"user": "C:\\Users\\me", "schemaVersion": 1/|found \Users\me": expected an escape such as \\ or \n, within a value of the trace's metadata
s/"schemaVersion": 1/"user": "C:\\me\\", "schemaVersion": 1/|found \me\", ": expected an escape such as \\ or \n, within a value of the trace's metadata
s/"schemaVersion": 1/"say": "a "b" c"/|found 'b': expected ',' or '}'
s/"schemaVersion": 1/"x": inf/|found inf: expected a value, within a value of the trace's metadata
s/"schemaVersion": 1/"x": /|found ',': expected a value of the trace's metadata
s/"schemaVersion": 1,/"schemaVersion": 1/|found '"': expected ',' or '}'
s/"schemaVersion": 1,/"schemaVersion"; 1,/|found ';': expected ':' after a key
s/\}\s*\Z/, "user": "C:\\Users\\me"}/|found \Users\me": expected an escape
s/\}\s*\Z/, "say": "a "b" c"}/|found 'b': expected ',' or '}'
s/\}\s*\Z/}} rest/|found '}': expected nothing after the trace
s/"dur": 60,([^}]*\}\s*\}),/"dur": 60,$1,,/|found ',': expected an event or ']'
s/"dur": 60,([^}]*\}\s*\}),/"dur": 60,$1}, /|found '}': expected ',' or ']' after an event
s/"dur": 60,([^}]*\}\s*\}),/"dur": 60,$1 /|found '{': expected ',' or ']' after an event
s/"dur": 60,([^}]*\}\s*\}),/"dur": 60,$1], /|found '{': expected no event behind the ']' after the events
s/"dur": 60,([^}]*\}\s*\}),/"dur": 60,$1, \x00\x02{"\xff,/|found byte 0x00: expected an event or ']'
END
    jq -c .traceEvents whole.json | sed '0,/}},/s//}},,/' >bare.json
    said bare.json
    assert_output --partial "passed over: 1, the first at line 1 (byte "
    assert_equal "$(kernels bare.json)" "$(kernels whole.json)"
    echo '{"x": inf, "y": [1, 2]}' >none.json
    said none.json && fail 'it is a trace'
    assert_output "gputrace: 'none.json', line 1 (byte 6): this is not JSON: found inf: expected a value, within a value of the trace's metadata"
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

@test "slices in two events are slices, and what they lack is said" {
    cat >halves.json <<'END'
[
{"ph": "B", "name": "outer", "cat": "c", "pid": 1, "tid": 1, "ts": 0, "args": {"a": 1}},
{"ph": "B", "name": "inner", "cat": "c", "pid": 1, "tid": 1, "ts": 10},
{"ph": "E", "pid": 1, "tid": 1, "ts": 20},
{"ph": "E", "pid": 1, "tid": 1, "ts": 30, "args": {"b": 2}},
{"ph": "E", "pid": 1, "tid": 2, "ts": 6},
{"ph": "B", "name": "k", "cat": "kernel", "pid": 0, "tid": 7, "ts": 40, "args": {"device": 0}},
{"ph": "E", "pid": 0, "tid": 7, "ts": 55, "args": {"stream": 7}},
{"ph": "B", "name": "late", "pid": 1, "tid": 3, "ts": 50},
{"ph": "E", "pid": 1, "tid": 3, "ts": 60},
{"ph": "B", "name": "unended", "pid": 1, "tid": 4, "ts": 20},
{"ph": "X", "name": "open", "pid": 1, "tid": 5, "ts": 30}
]
END
    said halves.json
    assert_output "gputrace: warning: 'halves.json': 1 end of a slice or range is left out, as it has no begin
gputrace: warning: 'halves.json': 2 slices or ranges have no end, and last to the end of the trace"
    assert_equal "$(slices said.json | sort)" 'inner 1 1 10.000 10.000
k 0 7 40.000 15.000
late 1 3 50.000 10.000
open 1 5 30.000 30.000
outer 1 1 0.000 30.000
unended 1 4 20.000 40.000'
    assert_equal "$(jq -c '.traceEvents[] | select(.name == "outer") | .args' said.json)" '{"a":1,"b":2}'
    local file
    for file in halves.json said.json; do
        assert_equal "$(kernels $file)" '[["k",1,15000]]'
        assert_equal "$("$gputrace" report -r streams -f json $file 2>/dev/null | jq -c '[.streams[] | [.device, .stream]]')" '[[0,7]]'
    done
    jq -c 'reverse[]' halves.json | paste -sd, | sed 's/.*/[&]/' >reversed.json
    "$gputrace" convert -q reversed.json other.json
    assert_equal "$(slices other.json | sort)" "$(slices said.json | sort)"
}

@test "a kernel without a duration is left out, another slice lasts to the end of the trace" {
    kineto 'del(.[2].dur)' >kernel.json
    said kernel.json
    assert_output --regexp '1 event is left out, at line [0-9]+ \(byte [0-9]+\): there is no "dur": expected a number of microseconds'
    assert_equal "$(kernels kernel.json)" '[["k1",3,180000],["k0",2,120000]]'
    kineto 'del(.[0].dur)' >operator.json
    said operator.json
    assert_output --partial '1 slice or range has no end, and lasts to the end of the trace'
    assert_equal "$(slices said.json | grep -c 'aten::mm 100 100 1669329643132548.000 590.000')" 1
}

@test "ranges of one id nest, and none is left out" {
    cat >nested.json <<'END'
[
{"ph": "b", "name": "request", "cat": "c", "id": 1, "pid": 1, "tid": 1, "ts": 0},
{"ph": "b", "name": "prefill", "cat": "c", "id": 1, "pid": 1, "tid": 1, "ts": 10},
{"ph": "n", "name": "token", "cat": "c", "id": 1, "pid": 1, "tid": 1, "ts": 15},
{"ph": "e", "name": "prefill", "cat": "c", "id": "1", "pid": 1, "tid": 1, "ts": 20},
{"ph": "e", "name": "request", "cat": "c", "id": 1, "pid": 1, "tid": 1, "ts": 30}
]
END
    local events='[.traceEvents[] | [.ph, .name, .ts + 0, .id]] | sort | .[]'
    said nested.json
    assert_output ''
    diff <(jq -c 'map(.id = 1) | {traceEvents: .} | '"$events" nested.json) <(jq -c "$events" said.json)
    run -0 "$gputrace" convert nested.json nested.pftrace
    assert_output --partial '3 events in'
    refute_output --partial 'left out'
    assert_equal "$("$gputrace" report -r nvtx -f json said.json | jq -c '[.nvtx[] | [.name, .total_ns]] | sort')" '[["prefill",10000],["request",30000]]'
}

# Ranges that report and convert make of lines "PHASE NAME TS" with other members: names, durations in us.
ranges() { # FILE
    "$gputrace" report -r nvtx -f json "$1" | jq -c '[.nvtx[] | [.name, .total_ns / 1000]] | sort'
    "$gputrace" convert --force -q "$1" ranges.json
    jq -c '[.traceEvents[] | select(.ph == "b" or .ph == "e")] | [group_by(.id, .cat, .name)[] | [.[0].name, .[1].ts - .[0].ts]] | sort' ranges.json
    "$gputrace" report -r nvtx -f json ranges.json | jq -c '[.nvtx[] | [.name, .total_ns / 1000]] | sort'
}

@test "ids of ranges are told apart by category, scope, process and form, and ends by their names" {
    local first second
    while IFS='|' read -r first second; do
        jq -n "[{ph: \"b\", name: \"r\", ts: 0} + $first, {ph: \"b\", name: \"s\", ts: 1} + $second,
                {ph: \"e\", name: \"r\", ts: 4} + $first, {ph: \"e\", name: \"s\", ts: 15} + $second] |
               map({cat: \"c\", pid: 1, tid: 1} + .)" >named.json
        assert_equal "$(ranges named.json | uniq)" '[["r",4],["s",14]]'
        jq 'map(if .ph == "e" then del(.name) else . end)' named.json >nameless.json
        [[ $first == '{id: 7}' && $second == "$first" ]] || assert_equal "$("$gputrace" report -r nvtx -f json nameless.json |
            jq -c '[.nvtx[] | [.name, .total_ns / 1000]] | sort')" '[["r",4],["s",14]]'
    done <<'END'
{id: 7}|{id: 7}
{id: 7}|{id: 7, cat: "d"}
{id: 7, scope: "x"}|{id: 7, scope: "y"}
{id: 7}|{id: 7, scope: "y"}
{id2: {local: "0x5"}}|{id2: {local: "0x6"}}
{id2: {local: "0x5"}}|{id2: {local: "0x5"}, pid: 2}
{id2: {global: "0x5"}}|{id2: {global: "0x6"}}
{id2: {global: "0x5"}, scope: "x"}|{id2: {global: "0x5"}, scope: "y"}
END
    echo '[{"ph":"C","name":"q","id2":{"local":"0x1"},"pid":1,"ts":0,"args":{"v":1}},{"ph":"C","name":"q","id2":{"global":"2"},"pid":1,"ts":1,"args":{"v":2}}]' >counter.json
    "$gputrace" convert -q counter.json made.json
    assert_equal "$(jq -c '[.traceEvents[] | .id]' made.json)" '["0x1",2]'
}

@test "ranges that old programs write, or do not end, and moments in ranges are kept" {
    local file
    cat >old.json <<'END'
[
{"ph": "S", "name": "a", "cat": "c", "id": 1, "pid": 1, "tid": 1, "ts": 0},
{"ph": "n", "name": "moment", "cat": "c", "id": 1, "pid": 1, "tid": 1, "ts": 3},
{"ph": "S", "name": "b", "cat": "c", "id": 2, "pid": 1, "tid": 1, "ts": 1},
{"ph": "F", "name": "b", "cat": "c", "id": 2, "pid": 1, "tid": 1, "ts": 11},
{"ph": "n", "name": "moment", "cat": "c", "id": 1, "pid": 1, "tid": 1, "ts": 30}
]
END
    run -0 "$gputrace" convert old.json old.pftrace
    assert_output --partial '1 slice or range has no end, and lasts to the end of the trace'
    refute_output --partial 'left out'
    "$gputrace" convert -q old.pftrace back.json
    assert_equal "$(jq -c '[.traceEvents[] | [.ph, .name, .ts + 0]] | sort' back.json)" \
        '[["b","a",0],["b","b",1],["e","a",30],["e","b",11],["n","moment",3],["n","moment",30]]'
    assert_equal "$("$gputrace" report -r nvtx -f json old.json | jq -c '[.nvtx[] | [.name, .total_ns, .open]] | sort')" '[["a",0,1],["b",10000,null]]'
    assert_equal "$("$gputrace" report -r nvtx -f json old.pftrace | jq -c '[.nvtx[] | [.name, .total_ns]] | sort')" '[["a",30000],["b",10000]]'
}

@test "rows of GPUs as TensorFlow named them at first, and what makes streams of Ascend wait" {
    jq -n '[{ph: "M", name: "process_name", pid: 1, args: {name: "/gpu:0/stream:all Compute"}},
        {ph: "X", name: "MatMul", pid: 1, tid: 1, ts: 0, dur: 5}]' >old.json
    assert_equal "$(kernels old.json)" '[["MatMul",1,5000]]'
    jq -n '[{ph: "M", name: "process_name", pid: 1, args: {name: "Ascend Hardware"}}] +
        ["MatMulV2", "STREAM_WAIT_EVENT", "CAPTURE_WAIT", "CAPTURE_RECORD", "MEM_WAIT_VALUE", "EVENT_WAIT", "Notify_Wait"
         | {ph: "X", name: ., pid: 1, tid: 1, ts: 0, dur: 5}]' >ascend.json
    assert_equal "$(kernels ascend.json)" '[["MatMulV2",1,5000]]'
}

@test "a trace that begins before 0 is moved, by all who write it" {
    kineto 'map(.ts -= 1669329643133048)' >early.json
    kineto >usual.json
    said early.json
    assert_output ''
    run -0 "$gputrace" convert --force early.json said.json
    assert_output --partial "warning: 'early.json' begins before 0: times are written 500.000 µs later"
    diff <(slices said.json) <(jq '.traceEvents |= map(.ts -= 1669329643132548)' usual.json >at0.json &&
        "$gputrace" convert --force -q at0.json at0.out.json && slices at0.out.json)
    "$gputrace" convert -q early.json early.pftrace
    local file
    for file in early.json early.pftrace said.json; do
        diff <("$gputrace" report -r overview,kernels,streams usual.json) <("$gputrace" report -r overview,kernels,streams $file)
    done
    "$gputrace" cut -q early.json -o part.json --to=150us
    "$gputrace" cut -q usual.json -o usual_part.json --to=150us
    assert_equal "$(slices part.json | wc -l)" "$(slices usual_part.json | wc -l)"
}

@test "counters of one name and several ids are several counters" {
    cat >counters.json <<'END'
[
{"ph": "C", "name": "queue", "id": 1, "pid": 1, "ts": 0, "args": {"n": 1}},
{"ph": "C", "name": "queue", "id": "0x\"2", "pid": 1, "ts": 5, "args": {"n": "50"}},
{"ph": "C", "name": "queue", "id": 1, "pid": 1, "ts": 10, "args": {"n": 2}},
{"ph": "C", "name": "queue", "id": "01", "pid": 1, "ts": 11, "args": {"value": 3}},
{"ph": "C", "name": "queue", "pid": 1, "ts": 12, "args": {"n": 2}}
]
END
    said counters.json
    assert_output ''
    assert_equal "$(jq -c '.traceEvents[] | [.name, .id, .args]' said.json)" '["queue",1,{"n":1}]
["queue","0x\"2",{"n":50}]
["queue",1,{"n":2}]
["queue","01",{"value":3}]
["queue",null,{"n":2}]'
    "$gputrace" convert -q counters.json counters.pftrace
    "$gputrace" convert -q counters.pftrace back.json
    assert_equal "$(jq -r '.traceEvents[] | .name' back.json | sort | uniq -c | awk '{ $1 = $1 } 1')" '1 queue
1 queue id: 01
1 queue id: 0x"2
2 queue id: 1'
    "$gputrace" cut -q counters.json -o part.json --from=6us
    assert_equal "$(jq -c '[.traceEvents[] | .id] | unique' part.json)" '[null,1,"01","0x\"2"]'
}

@test "files of other kinds are named for what they are, with the way out" {
    kineto >a.json
    "$gputrace" convert -q a.json own.sqlite
    python3 - <<'END'
import sqlite3, zipfile
for name, table in ('nsys.sqlite', 'CUPTI_ACTIVITY_KIND_KERNEL'), ('rocpd.db', 'rocpd_kernel_dispatch_1'):
    base = sqlite3.connect(name)
    base.execute('CREATE TABLE %s (id)' % table)
    base.commit()
zipfile.ZipFile('traces.zip', 'w').write('a.json')
END
    tar cf traces.tar a.json
    gzip -k traces.tar
    printf '\n\005abc' | tee host.xplane.pb >overview_page.pb
    echo other | tee a.nsys-rep a.qdrep >a.ncu-rep
    "$gputrace" report --html=a.html a.json >/dev/null
    printf 'version https://git-lfs.github.com/spec/v1\noid sha256:abc\nsize 12345\n' >lfs.json
    iconv -f UTF-8 -t UTF-16 a.json >utf16.json
    (printf '\376\377' && iconv -f UTF-8 -t UTF-16BE a.json) >utf16be.json
    local file what command
    while IFS='|' read -r file what; do
        for command in report convert diff merge view cut; do
            case $command in
            report | view) set -- ;;
            convert) set -- out.json ;;
            diff) set -- a.json ;;
            merge) set -- a.json -o out.json ;;
            cut) set -- -o out.json --to=50% ;;
            esac
            run -1 timeout 20 "$gputrace" $command $file "$@"
            assert_output --partial "gputrace: '$file' is $what"
        done
    done <<'END'
own.sqlite|a database for SQL: traces are .json and .pftrace, plain or gzip; query it with sqlite3
nsys.sqlite|a database of Nsight Systems: traces are
rocpd.db|a database of rocprofv3: traces are .json and .pftrace, plain or gzip; let rocprofv3 write a trace
traces.zip|an archive: traces are .json and .pftrace, plain or gzip; unpack it with unzip
traces.tar|an archive: traces are .json and .pftrace, plain or gzip; unpack it with tar
traces.tar.gz|an archive: traces are
host.xplane.pb|a profile of TensorFlow or JAX: traces are .json and .pftrace, plain or gzip; read the .trace.json.gz
overview_page.pb|a profile of TensorFlow: traces are
a.nsys-rep|a report of Nsight Systems: traces are .json and .pftrace, plain or gzip; open it with nsys-ui
a.qdrep|a report of Nsight Systems: traces are
a.ncu-rep|a report of Nsight Compute: traces are
lfs.json|a pointer of Git LFS: traces are .json and .pftrace, plain or gzip; fetch the file with git lfs pull
utf16.json|a text in UTF-16: traces are .json and .pftrace, plain or gzip; make UTF-8 of it with iconv -f UTF-16 -t UTF-8
utf16be.json|a text in UTF-16: traces are
a.html|a page: traces are .json and .pftrace, plain or gzip; open it in a browser
END
    cp a.json a.pb
    run -0 "$gputrace" report -r overview a.pb
}

@test "a directory of traces is a job for report, and of one trace that trace for other commands" {
    local rank
    mkdir job empty
    for rank in 0 1 2; do
        kineto | jq ".distributedInfo = {backend: \"nccl\", rank: $rank, world_size: 3}" >job/rank$rank.json
    done
    echo '{"no": "trace"}' >job/notes.json
    echo words >job/notes.txt
    run -0 "$gputrace" report -r overview job
    assert_line --regexp '^  Ranks +3$'
    assert_equal "$("$gputrace" report -f json job/ | jq -S 'del(.trace)')" "$("$gputrace" report -f json job/rank*.json | jq -S 'del(.trace)')"
    "$gputrace" report --partial -o job/rank0.gpr job/rank0.json
    rm job/rank0.json
    run -0 "$gputrace" report -r overview job
    assert_line --regexp '^  Ranks +3$'
    local command
    for command in 'convert job out.json' 'cut job -o out.json --to=50%' 'view job'; do
        run -1 "$gputrace" $command
        assert_output "gputrace: 'job' is a directory with several traces: expected one trace; 'gputrace report' and 'gputrace merge' read all traces in a directory"
    done
    # a directory with one trace is that trace
    mkdir one
    cp job/rank1.json one/
    "$gputrace" convert -q job/rank1.json file.json
    run -0 "$gputrace" convert -q one folder.json
    cmp file.json folder.json
    run -0 "$gputrace" cut -q one -o part.json --to=50%
    run -1 "$gputrace" report empty
    assert_output "gputrace: 'empty' has no traces and no spools"
}

@test "a rank's file in a directory is read behind a long head, and one that cannot be read is named" {
    local rank
    mkdir job
    for rank in 0 1 2; do
        kineto | jq -c ".distributedInfo = {backend: \"nccl\", rank: $rank, world_size: 3}" >job/rank$rank.json
    done
    { printf '{"otherData":"%0200000d",' 0; tail -c +2 job/rank1.json; } >long
    { printf '%100000s' ' '; cat job/rank1.json; } >blank
    for file in long blank; do
        cp $file job/rank1.json
        run -0 "$gputrace" report -r overview job
        assert_line --regexp '^  Ranks +3$'
    done
    run -0 "$gputrace" merge -o all.json job/rank0.json job/rank1.json
    assert_line --partial ' of 2 traces, 2 ranks'
    : >job/rank1.json
    run -0 "$gputrace" report -r overview job
    assert_line "gputrace: warning: 'job/rank1.json' is left out: it is empty"
    run -0 "$gputrace" merge -o job/all.json job
    assert_equal "$(grep -c 'left out' <<<"$output")" 1
    rm job/all.json
    for text in words '{"dev' '\xff\xfe{' '\x1f\x8b\x08' '\xfd7zXZ'; do
        printf "$text" >job/rank1.json
        run -0 "$gputrace" report -r overview job
        assert_line "gputrace: warning: 'job/rank1.json' is left out: it is not a trace"
    done
    head -c 90 job/rank0.json >job/rank1.json
    run -0 "$gputrace" report -r overview job
    assert_line "gputrace: warning: 'job/rank1.json' is left out: it cannot be read"
    assert_line --regexp '^  Ranks +2 of 3'
    run -0 "$gputrace" report -r overview --rank=2 job
    assert_line "gputrace: warning: 'job/rank1.json' is left out: it cannot be read"
    echo '{"no": "trace"}' >job/rank1.json
    run -0 "$gputrace" report -r overview job
    refute_output --partial 'left out'
    ln -sf gone job/rank1.json
    run -0 "$gputrace" report -r overview job
    assert_line "gputrace: warning: 'job/rank1.json' is left out: it cannot be read: No such file or directory"
    rm job/rank1.json
    cp job/rank0.json job/rank0.again.json
    run -0 "$gputrace" report -r overview job
    assert_line --regexp "gputrace: each trace has its own report: 'job/rank0.*json' is not of the job of 'job/rank0.*json': it has no ranks, or a rank that is there already"
}

@test "a file of a directory that is cut off before its first event is left out of what report, diff and merge read" {
    mkdir all good bad
    kineto >good/a.json
    kineto 'map(if .cat == "kernel" then .dur *= 2 else . end)' >good/c.json
    head -c 300 good/a.json >bad/b.json
    gzip -c good/a.json | head -c 100 >bad/d.json.gz
    cp good/* bad/* all/
    local file left=
    for file in b.json d.json.gz; do
        run -1 "$gputrace" report -r kernels bad/$file
        left+="$output"$'\n'"gputrace: warning: 'bad/$file' is left out: it cannot be read"$'\n'
    done
    run -0 --separate-stderr "$gputrace" report -r kernels -f json all
    assert_equal "$stderr"$'\n' "${left//bad/all}"
    assert_equal "${output//\"all/\"good}" "$("$gputrace" report -r kernels -f json good)"
    run -0 --separate-stderr "$gputrace" diff -f json good all
    assert_equal "$stderr"$'\n' "${left//bad/all}"
    assert_equal "${output//\"all/\"good}" "$("$gputrace" diff -f json good good)"
    run -0 --separate-stderr "$gputrace" merge -q -o all.json all
    for file in 'report bad' 'diff good bad' 'merge -o none.json bad'; do
        run -1 --separate-stderr "$gputrace" $file
        assert_equal "$stderr" "${left}gputrace: 'bad' has no traces and no spools"
    done
}

@test "kernels of one stream that overlap get a row each, with their flows" {
    kineto 'map(if .cat == "kernel" then .dur = 130 else . end) |
        . + [{ph: "M", name: "thread_name", pid: 0, tid: 7, args: {name: "stream 7"}}] +
        [to_entries[] | .value as $e | select($e.cat == "kernel" or $e.cat == "cuda_runtime") |
         {ph: (if $e.cat == "kernel" then "f" else "s" end), bp: "e", cat: "ac2g", name: "ac2g", id: $e.args.correlation,
          pid: $e.pid, tid: $e.tid, ts: $e.ts}]' >overlap.json
    said overlap.json
    assert_output ''
    assert_equal "$(slices said.json | grep '^k' | cut -d' ' -f1-4)" 'k0 0 7 1669329643132578.000
k1 0 1342177280 1669329643132678.000
k0 0 7 1669329643132778.000
k1 0 1342177280 1669329643132878.000
k0 0 7 1669329643132978.000
k1 0 1342177280 1669329643133078.000'
    assert_equal "$(jq -c '[.traceEvents[] | select(.ph == "f") | .tid]' said.json)" '[7,1342177280,7,1342177280,7,1342177280]'
    assert_equal "$(jq -r '.traceEvents[] | select(.name == "thread_name") | .args.name' said.json)" 'stream 7
stream 7 (2)'
    assert_equal "$(kernels said.json)" "$(kernels overlap.json)"
    "$gputrace" convert -q said.json again.json
    diff <(slices said.json) <(slices again.json)
}
