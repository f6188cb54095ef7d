# gputrace report: figures against what jq counts in the same traces, formats against other programs' parsers.

load common

data=$root/tests/data
kineto=$data/kineto/kineto-train-h200.json.gz
small=$data/report/small.json

report() { # SECTION TRACE [OPTION...]: the section's rows as JSON
    local section=$1 trace=$2
    shift 2
    "$gputrace" report -r "$section" --format=json "$@" "$trace" | jq --arg section "$section" '.[$section]'
}

# jq's words for nanoseconds, and for the figures of a row; independent of how the report finds them.
# shellcheck disable=SC2016 # the dollars are jq's
words='
    def ns: . * 1000 | round;
    def median: sort | if length % 2 == 1 then .[length / 2 | floor] else (.[length / 2 - 1] + .[length / 2]) / 2 end;
    def figures($calls): {total_ns: add, ($calls): length, avg_ns: (add / length), med_ns: median, min_ns: min, max_ns: max};
    def stddev: (add / length) as $mean | if length == 1 then 0 else (map(. - $mean | . * .) | add) / (length - 1) | sqrt end;
    def by_name($calls): group_by(.name) | map({name: .[0].name} + (map(.dur | ns) | figures($calls)));
    def close($a; $b): ($a - $b) | fabs < 1e-6 * ([($a | fabs), 1] | max);
'

@test "kernels of a Kineto trace: counts and sums are as told with it" {
    report kernels "$kineto" | jq -S 'map({key: .name, value: [.calls, .total_ns]}) | from_entries' >got
    jq -S '.by_name | map_values([.[0], (.[1] * 1000 | round)])' "$data/kineto/kineto-train-h200.expect.json" >expected
    diff expected got
    [ "$(report kernels "$kineto" | jq 'map(.calls) | add')" -eq 72 ]
    [ "$(report kernels "$kineto" | jq 'map(.total_ns) | add')" -eq 1667793 ]
}

@test "figures of kernels and API calls are those that jq finds" {
    for trace in "$kineto" "$small"; do
        gzip -dcf "$trace" >trace.json
        for pair in "kernels kernel" "api cuda_runtime cuda_driver"; do
            read -r section categories <<<"$pair"
            jq -S --arg cats "$categories" "$words"'
                ($cats | split(" ")) as $cats
                | [.traceEvents[] | select(.ph == "X" and (.cat as $c | $cats | index($c)))] | by_name("calls")' \
                trace.json >expected
            report "$section" trace.json |
                jq -S 'map({name, total_ns, calls, avg_ns, med_ns, min_ns, max_ns}) | sort_by(.name)' >got
            diff expected got
        done
    done
}

@test "the standard deviation is that of a sample" {
    gzip -dc "$kineto" | jq "$words"'
        [.traceEvents[] | select(.cat == "kernel")] | group_by(.name) | map({key: .[0].name, value: (map(.dur | ns) | stddev)})
        | from_entries' >expected
    report kernels "$kineto" | jq -e --slurpfile expected expected "$words"'
        length == 19 and all(.[]; close(.stddev_ns; $expected[0][.name]))'
}

@test "shares of time add up to a hundred" {
    for section in kernels api memtime; do
        report $section "$kineto" | jq -e '(map(.time_percent) | add) as $sum | $sum > 99.999999 and $sum < 100.000001'
    done
}

@test "memory operations: bytes, times and bandwidth are those that jq finds" {
    gzip -dc "$kineto" | jq -S "$words"'
        [.traceEvents[] | select(.cat == "gpu_memcpy" or .cat == "gpu_memset")] | group_by(.name)
        | map({name: .[0].name, bytes: (map(.args.bytes) | add), ns: (map(.dur | ns) | add), count: length})' >expected
    report memtime "$kineto" | jq -S 'map({name, total_ns, count, bandwidth_gb_s}) | sort_by(.name)' >by-time
    report memsize "$kineto" | jq -S 'map({name, total_bytes, count, bandwidth_gb_s}) | sort_by(.name)' >by-size
    jq '[.[] | .ns]' expected | diff - <(jq '[.[] | .total_ns]' by-time)
    jq '[.[] | .bytes]' expected | diff - <(jq '[.[] | .total_bytes]' by-size)
    jq '[.[] | .count]' expected | diff - <(jq '[.[] | .count]' by-size)
    jq -e --slurpfile got by-size "$words"'
        [., $got[0]] | transpose | all(close(.[0].bytes / .[0].ns; .[1].bandwidth_gb_s))' expected
    jq '[.[] | .bandwidth_gb_s]' by-time | diff - <(jq '[.[] | .bandwidth_gb_s]' by-size)
}

@test "launch latency is that of jq's join by correlation" {
    gzip -dc "$kineto" | jq -S "$words"'
        [.traceEvents[] | select(.cat == "cuda_runtime" or .cat == "cuda_driver")
            | {key: "\(.args.correlation)", value: {end: ((.ts + .dur) | ns), dur: (.dur | ns)}}] as $calls
        | ($calls | from_entries) as $calls
        | [.traceEvents[] | select(.cat == "kernel" or .cat == "gpu_memcpy" or .cat == "gpu_memset")
            | $calls["\(.args.correlation)"] as $call
            | {name, gpu: (.dur | ns), api: $call.dur, queue: ([(.ts | ns) - $call.end, 0] | max)}]
        | group_by(.name)
        | map({name: .[0].name, calls: length, api_med_ns: (map(.api) | median), gpu_max_ns: (map(.gpu) | max),
               queue_med_ns: (map(.queue) | median), queue_max_ns: (map(.queue) | max)})' >expected
    report latency "$kineto" |
        jq -S 'map({name, calls, api_med_ns, gpu_max_ns, queue_med_ns, queue_max_ns}) | sort_by(.name)' >got
    # jq adds ts and dur as doubles, which may be a nanosecond off at these times
    jq -e --slurpfile got got '[., $got[0]] | transpose | all(.[0].name == .[1].name and .[0].calls == .[1].calls
        and .[0].api_med_ns == .[1].api_med_ns and .[0].gpu_max_ns == .[1].gpu_max_ns
        and (.[0].queue_med_ns - .[1].queue_med_ns | fabs) <= 1 and (.[0].queue_max_ns - .[1].queue_max_ns | fabs) <= 1)' expected
}

@test "latency: the outer call counts, what has no call is told, waits are never negative" {
    report latency "$small" >got
    jq -e '.[] | select(.name == "void add<float>(int, float*)")
        | .calls == 2 and .api_max_ns == 10000 and .queue_max_ns == 5000 and .queue_avg_ns == 2500' got
    jq -e '.[] | select(.name == "scan") | .calls == 0 and .unmatched == 1 and .api_avg_ns == null' got
}

value_of() { # ITEM TRACE
    report overview "$2" | jq -r --arg item "$1" '.[] | select(.item == $item) | .value'
}

@test "the overview's counts are those that jq finds" {
    gzip -dc "$kineto" >trace.json
    [ "$(value_of Kernels "$kineto")" -eq "$(count kernel)" ]
    [ "$(value_of "Memory copies" "$kineto")" -eq "$(count gpu_memcpy)" ]
    [ "$(value_of "Memory sets" "$kineto")" -eq "$(count gpu_memset)" ]
    [ "$(value_of "API calls" "$kineto")" -eq $(($(count cuda_runtime) + $(count cuda_driver))) ]
    [ "$(value_of "NVTX ranges" "$kineto")" -eq "$(count user_annotation)" ]
    [ "$(value_of Processes "$kineto")" -eq 1 ]
    [ "$(value_of Threads "$kineto")" -eq 2 ]
}

@test "busy is the union of intervals, of a device and of each of its streams" {
    [ "$(value_of "GPU 0 busy time" "$small")" -eq 66500 ]
    [ "$(value_of "GPU 1 busy time" "$small")" -eq 1001 ]
    report streams "$small" >got
    jq -e 'map(select(.device == 0 and .stream == 7)) | length == 1 and .[0].busy_ns == 56000 and .[0].kernels == 2
        and .[0].first_ns == 115000 and .[0].last_ns == 441000' got
    jq -e '.[] | select(.device == 0 and .stream == 13) | .busy_ns == 10500 and .name == "stream 13 (copies)"' got
    jq -e '.[] | select(.device == 1) | .busy_ns == 1001' got
}

@test "the overview tells the program, its end and what was lost" {
    [ "$(value_of Program "$small")" = "./app --size 3" ]
    [ "$(value_of "Ended with" "$small")" = "exit 0" ]
    [ "$(value_of "Time span" "$small")" -eq 900000 ]
    [ "$(value_of "Lost or doubtful: cupti dropped" "$small")" -eq 2 ]
    [ "$(value_of "Lost or doubtful: in flight" "$small")" -eq 1 ]
    [ -z "$(value_of "Lost or doubtful: spool dropped" "$small")" ]
    report overview "$small" | jq -e '.[] | select(.item == "GPU 1 busy") | .detail == "Test GPU B"'
}

@test "API calls that failed are counted" {
    report api "$small" | jq -e 'map({key: .name, value: .failures}) | from_entries
        | .cudaMalloc == 1 and .cudaLaunchKernel == 0 and (add == 1)'
}

@test "synchronisation: who waited for what" {
    report sync "$small" | jq -c '.[] | [.kind, .waiter, .target, .count, .total_ns]' >got
    cat >expected <<'END'
["cudaStreamSynchronize","thread 101 (worker)",null,1,100000]
["Stream Sync","thread 101 (worker)","GPU 0 stream 7",1,80000]
["cudaDeviceSynchronize","thread 100",null,1,50000]
["Context Sync","thread 100","GPU 0",1,40000]
["cudaMemcpy","thread 100",null,1,25000]
["Stream Wait Event","GPU 0 stream 13","event on GPU 0 stream 7",1,100]
END
    diff expected got
}

@test "NVTX: nested ranges, started ranges, marks and the GPU's time on them" {
    report nvtx "$small" | jq -c '.[] | [.kind, .domain, .name, .count, .total_ns, .gpu_total_ns, .open]' >got
    cat >expected <<'END'
["range",null,"step",2,300000,40000,null]
["start/end",null,"epoch",2,40000,null,null]
["range","other","step",1,10000,null,null]
["start/end",null,"never ended",0,0,null,1]
["mark",null,"checkpoint",1,null,null,null]
END
    diff expected got
}

@test "memory: peak, when, what is left, allocations, failures and unknown releases" {
    report memory "$small" |
        jq -c '.[] | [.kind, .device, .peak_bytes, .peak_at_ns, .end_bytes, .allocations, .releases, .failures, .unknown]' >got
    cat >expected <<'END'
["Device",0,1052672,70000,4096,2,2,1,1]
["Pinned",null,8192,80000,8192,1,0,0,null]
["PyTorch's allocator",0,1536,86000,1024,2,1,0,null]
END
    diff expected got
}

@test "--by-grid has a row for each grid" {
    report kernels "$small" --by-grid | jq -c '.[] | [.name, .grid, .block, .calls]' >got
    cat >expected <<'END'
["void add<float>(int, float*)","8x1x1","128x1x1",1]
["void add<float>(int, float*)","4x1x1","128x1x1",1]
["void add<double>(int, double*)","8x1x1","128x1x1",1]
["scan","1x1x1","32x1x1",1]
END
    diff expected got
}

@test "--names: short ones are put together, mangled ones where the trace has them" {
    report kernels "$small" --names=short | jq -c 'map([.name, .calls])' >got
    echo '[["add",3],["scan",1]]' | diff - got
    report kernels "$small" --names=mangled | jq -c 'map([.name, .calls])' >got
    echo '[["_Z3addIfEviPT_",2],["void add<double>(int, double*)",1],["scan",1]]' | diff - got
}

@test "plain, gzip, several members and standard input give the same report" {
    gzip -dc "$kineto" >plain.json
    size=$(stat -c %s plain.json)
    { head -c $((size / 3)) plain.json | gzip; tail -c +$((size / 3 + 1)) plain.json | gzip; } >members.json
    cp "$kineto" no-suffix
    "$gputrace" report plain.json >expected
    for trace in "$kineto" members.json no-suffix; do
        "$gputrace" report "$trace" | diff expected -
    done
    "$gputrace" report - <"$kineto" | diff expected -
    # shellcheck disable=SC2002 # a pipe cannot be read twice
    cat plain.json | "$gputrace" report - | diff expected -
}

@test "a bare array gives the same rows, also without its end" {
    gzip -dc "$kineto" | jq -c '.traceEvents' >array.json
    report kernels "$kineto" >expected
    report kernels array.json | diff expected -
    jq -c '.[]' array.json | sed '1s/^/[/; $!s/$/,/' >open.json
    run --separate-stderr -0 "$gputrace" report -r kernels --format=json open.json
    jq .kernels <<<"$output" | diff expected -
    # shellcheck disable=SC2154 # bats sets stderr
    [[ $stderr == *"cut off"* ]]
}

hostile=$'a,"b"\r\n| pipe |\t<i>*_`\x1b[31m\\ \xe2\x82\xac\x7f'

hostile_trace() { # a kernel of that name, and one whose bytes are not UTF-8
    jq -n --arg name "$hostile" '[{ph: "X", cat: "kernel", name: $name, pid: 0, tid: 7, ts: 1, dur: 2, args: {}}]' >hostile.json
    printf '[{"ph":"X","cat":"kernel","name":"bad \xff\xc0\x80 bytes","pid":0,"tid":7,"ts":1,"dur":2}]' >bytes.json
}

@test "names of any content come back from JSON and CSV as they were" {
    hostile_trace
    [ "$(report kernels hostile.json | jq -j '.[0].name')" = "$hostile" ]
    "$gputrace" report -r kernels --format=csv hostile.json >hostile.csv
    HOSTILE=$hostile python3 - <<'END'
import csv, os
rows = list(csv.DictReader(open("hostile.csv", newline="")))
assert len(rows) == 1 and rows[0]["name"] == os.environ["HOSTILE"], rows
END
    report kernels bytes.json | jq -e '.[0].name == "bad \ufffd\ufffd\ufffd bytes"'
}

@test "names of any content keep to their line in tables and Markdown" {
    hostile_trace
    for format in table markdown; do
        "$gputrace" report -r kernels --format=$format hostile.json >hostile.txt
        [ "$(grep -c 'pipe' hostile.txt)" -eq 1 ]
        grep -F 'a,"b"' hostile.txt | grep -F '[31m'
        run ! grep -P '[\x00-\x09\x0b-\x1f\x7f]' hostile.txt
        "$gputrace" report -r kernels --format=$format bytes.json | iconv -f UTF-8 -t UTF-8 >/dev/null
    done
    grep -F '\| pipe \|' hostile.txt
}

@test "csv: every record of a table has the columns of its head" {
    for section in overview kernels api memtime memsize sync latency nvtx memory streams; do
        "$gputrace" report -r $section --format=csv "$small" >table.csv
        python3 - <<'END'
import csv
rows = list(csv.reader(open("table.csv", newline="")))
assert len(rows) > 1 and len({len(row) for row in rows}) == 1, rows
END
    done
}

@test "several traces: each has its heading, and json is an array" {
    run -0 "$gputrace" report -r kernels "$small" "$kineto"
    assert_line "=== $small ==="
    assert_line "=== $kineto ==="
    run -0 "$gputrace" report -r kernels --format=markdown "$small" "$kineto"
    assert_line --partial "# "
    "$gputrace" report --format=json -r kernels "$small" "$kineto" | jq -e 'length == 2 and (.[1].kernels | length) == 19'
    "$gputrace" report --format=csv -r kernels,api "$small" "$kineto" >several.csv
    [ "$(grep -c $'^kernels\r$' several.csv)" -eq 2 ]
}

@test "--top cuts, and says so; all rows are there for programs" {
    run -0 "$gputrace" report -r kernels --top=2 "$kineto"
    assert_line "  … and 17 more rows (--top=0 shows all)"
    assert_line --regexp "100\.0 +1667\.793 +72 +total"
    [ "$(report kernels "$kineto" | jq length)" -eq 19 ]
    [ "$(report kernels "$kineto" --top=4 | jq length)" -eq 4 ]
    report latency "$kineto" | jq -e 'length == 22'
    run -0 "$gputrace" report -r latency "$kineto"
    assert_line "  … and 2 more rows (--top=0 shows all)"
    run -0 "$gputrace" report -r latency --top=0 "$kineto"
    refute_line --partial "more row"
}

@test "--sort takes any column, by its name or its key" {
    for column in total total_ns calls avg med min max stddev time name; do
        "$gputrace" report -r kernels --sort=$column "$kineto" >/dev/null
    done
    report kernels "$kineto" --sort=calls | jq -e 'map(.calls) | . == (sort | reverse)'
    report kernels "$kineto" --sort=name | jq -e 'map(.name) | . == sort'
    report kernels "$kineto" --sort=max | jq -e 'map(.max_ns) | . == (sort | reverse)'
}

@test "--time-unit is used in tables and csv" {
    run -0 "$gputrace" report -r kernels --time-unit=ms "$small"
    assert_line --regexp 'Total \(ms\) +Calls +Avg \(ms\)'
    run -0 "$gputrace" report -r kernels --format=csv --time-unit=us "$small"
    assert_line --regexp '^time_percent,total_us,calls,avg_us'
    assert_line --regexp '^97\.085,50\.000,2,25\.000,'
}

@test "sections are chosen with -r, in the report's own order" {
    run -0 "$gputrace" report -r streams,kernels "$small"
    assert_output --regexp $'^Kernels\n.*\nStreams\n'
    refute_output --partial "API calls"
    "$gputrace" report --format=json "$small" | jq -e 'keys_unsorted
        == ["trace", "overview", "kernels", "api", "memtime", "memsize", "sync", "latency", "nvtx", "memory", "streams"]'
}

@test "an empty section is left out unless it was asked for" {
    echo '[]' >empty.json
    run -0 "$gputrace" report empty.json
    assert_line "Not in this trace: kernels, api, memtime, memsize, sync, latency, nvtx, memory, streams"
    run -0 "$gputrace" report -r kernels empty.json
    assert_output $'Kernels\n  none in this trace'
    for format in csv json markdown; do
        "$gputrace" report --format=$format empty.json >/dev/null
    done
}

@test "wrong options are told with what is valid" {
    run -2 "$gputrace" report -r kernels,nonsense "$small"
    assert_output "gputrace: --report knows no 'nonsense': it takes overview, kernels, api, memtime, memsize, sync, latency, nvtx, memory, streams"
    run -2 "$gputrace" report --format=xml "$small"
    assert_output --partial "it takes table, csv, json, markdown"
    run -2 "$gputrace" report --names=x "$small"
    assert_output --partial "it takes full, short, mangled"
    run -2 "$gputrace" report --time-unit=h "$small"
    assert_output --partial "it takes auto, ns, us, ms, s"
    for top in x -1 1x '' 99999999999999999999999; do
        run -2 "$gputrace" report --top="$top" "$small"
        assert_output --partial "--top needs a number of rows"
    done
    run -1 "$gputrace" report -r kernels --sort=size "$small"
    assert_output "gputrace: no column 'size' to sort by: these sections have time, total, calls, avg, med, min, max, stddev, grid, block, name"
    run -2 "$gputrace" report
    assert_output --partial "no trace to report on"
}

@test "what is no trace is refused with the file, the place and what was expected" {
    echo 'hello' >text
    run -1 "$gputrace" report text
    assert_output "gputrace: 'text', line 1 (byte 0): found 'h': expected a trace in the trace-event format, {\"traceEvents\": [...]} or [...]"
    echo '{"a": 1}' >other.json
    run -1 "$gputrace" report other.json
    assert_output "gputrace: 'other.json' is JSON but not a trace: expected the key \"traceEvents\""
    gzip -dc "$kineto" | head -c 5000 >cut.json
    run -1 "$gputrace" report cut.json
    assert_output --partial "'cut.json', line $(($(wc -l <cut.json) + 1)) (byte 5000): the file ends here: expected the rest of the events"
    head -c 5000 "$kineto" >cut.json.gz
    run -1 "$gputrace" report cut.json.gz
    assert_output --partial "'cut.json.gz' is damaged or cut off"
    run -1 "$gputrace" report missing.json
    assert_output --partial "cannot open 'missing.json': No such file or directory"
    run -1 "$gputrace" report - <text
    assert_output --partial "'standard input', line 1 (byte 0)"
}

@test "a report that cannot be written is an error" {
    [ -e /dev/full ] || skip "needs /dev/full"
    run -1 bash -c '"$1" report "$2" >/dev/full' _ "$gputrace" "$small"
    assert_output --partial "cannot write the report: No space left on device"
}
