#!/usr/bin/env bats
# A trace as a database: the same rows from a spool, JSON and .pftrace, the figures of the report by the queries of
# gputrace-convert(1), and the call of each GPU operation.

load common

data=$root/tests/data
kineto=$data/kineto/kineto-train-h200.json.gz

take_spool() { # NAME
    mkdir spool
    gzip -dc "$data/h200/$1.spool.gz" >spool/1-0.spool
    cp "$data/h200/$1.session.json" spool/session.json
}

ask() { # DATABASE SQL
    sqlite3 "$1" "$2"
}

# All rows but for their numbers, which follow the order of events in the file. A call is named by its correlation id.
rows_of() { # DATABASE
    local table columns
    for table in $(ask "$1" "SELECT name FROM sqlite_schema WHERE type = 'view' ORDER BY name") processes threads \
        streams devices; do
        columns=$(ask "$1" "SELECT group_concat(iif(name = 'call',
            '(SELECT correlation FROM raw_api_calls WHERE id = call)', '\"' || name || '\"'), ', ')
            FROM pragma_table_info('$table') WHERE name <> 'id'")
        ask "$1" "SELECT '$table', $columns FROM $table" | LC_ALL=C sort
    done
    ask "$1" "SELECT key, value FROM metadata WHERE key <> 'traceName'"
}

# Query NUMBER of the man page.
query() { # NUMBER
    awk -v wanted="$1" '/^\.Bd -literal/ { on = 1; text = ""; next }
        /^\.Ed/ { if (on && text ~ /^(SELECT|WITH)/ && ++count == wanted) printf "%s", text; on = 0 }
        on { text = text $0 "\n" }' "$root/man/gputrace-convert.1"
}

answer() { # DATABASE NUMBER JQ
    query "$2" | sqlite3 -json "$1" | jq -c "map($3) | sort"
}

figures() { # TRACE SECTION JQ
    "$gputrace" report -r "$2" --top=0 --format=json "$1" | jq -c "[.[\"$2\"][] | $3] | sort"
}

same_from_all_sources() { # NAME
    local ending
    take_spool "$1"
    "$gputrace" convert -q spool expected.sqlite
    rows_of expected.sqlite >expected
    [ "$(wc -l <expected)" -gt 50 ]
    for ending in json json.gz pftrace; do
        "$gputrace" convert -q spool trace.$ending
        "$gputrace" convert -q --force trace.$ending made.db
        diff expected <(rows_of made.db)
    done
}

@test "vector_add from a spool, JSON and .pftrace" { same_from_all_sources vector_add; }
@test "graphs from a spool, JSON and .pftrace" { same_from_all_sources graphs; }
@test "memory from a spool, JSON and .pftrace" { same_from_all_sources memory; }
@test "streams_events from a spool, JSON and .pftrace" { same_from_all_sources streams_events; }
@test "two training steps from a spool, JSON and .pftrace" { same_from_all_sources train; }

# The five queries of the man page against the report.
queries_agree() { # TRACE
    "$gputrace" convert -q "$1" made.sqlite
    assert_equal "$(answer made.sqlite 1 '[.name, .calls, .total_ns]')" \
        "$(figures "$1" kernels '[.name, .calls, .total_ns]')"
    assert_equal "$(answer made.sqlite 2 '[.name, .calls, .total_ns, .max_ns, .failures]')" \
        "$(figures "$1" api '[.name, .calls, .total_ns, .max_ns, .failures]')"
    assert_equal "$(answer made.sqlite 3 '[.name, .copies, .total_bytes, (.gb_per_second * 1000 | round)]')" \
        "$(figures "$1" memsize 'select(.name | startswith("Memcpy"))
            | [.name, .count, .total_bytes, (.bandwidth_gb_s * 1000 | round)]')"
    local kernel='select(.name | startswith("Mem") | not)'
    assert_equal "$(answer made.sqlite 4 '[.name, .launches, (.call_ns | round), (.queue_ns | round)]')" \
        "$(figures "$1" latency "$kernel | [.name, .calls, (.api_avg_ns | round), (.queue_avg_ns | round)]")"
    assert_equal "$(answer made.sqlite 5 '[.name, .kernels, .total_ns]')" \
        "$("$gputrace" report -r nvtx --top=0 --format=json "$1" |
            jq -c '[.["nvtx-kernels"][] | (.range / "/" | unique[]) as $name | {$name, calls, total_ns}]
                | group_by(.name) | map([.[0].name, (map(.calls) | add), (map(.total_ns) | add)])
                | map(select(.[0] != "(outside ranges)")) | sort')"
    [ "$(answer made.sqlite 1 .name)" != '[]' ]
    [ "$(answer made.sqlite 5 .name)" != '[]' ]
}

@test "the queries of the man page give the report's figures: vector_add" {
    take_spool vector_add
    queries_agree spool
}

@test "the queries of the man page give the report's figures: PyTorch" {
    take_spool train
    queries_agree spool
}

@test "the man page has seven queries, and names every view and its columns" {
    assert_equal "$(query 5 | head -c 6)" SELECT
    assert_equal "$(query 7 | head -c 4)" WITH
    assert_equal "$(query 8)" ''
    echo '[]' >none.json
    "$gputrace" convert -q none.json none.sqlite
    local table column
    mandoc -T ascii "$root/man/gputrace-convert.1" | sed 's/.\x08//g' >manual
    for table in $(ask none.sqlite "SELECT name FROM sqlite_schema WHERE name NOT LIKE 'raw_%' AND name NOT LIKE 'sqlite_%'
            AND type IN ('table', 'view')"); do
        grep -qw "$table" manual || fail "no table '$table' in the manual"
        for column in $(ask none.sqlite "SELECT name FROM pragma_table_info('$table')"); do
            grep -qw "$column" manual || fail "no column '$column' of '$table' in the manual"
        done
    done
}

# Events with a stack: the function, file and line of each frame, innermost first.
json_stacks() { # TRACE
    jq -r 'def chain($frames): $frames[.] | [.name, .file, .line, .category, .parent];
        .stackFrames as $frames | def walk: tostring | chain($frames)
            | .[0:4], (.[4] // empty | walk);
        .traceEvents[] | select(.args.stack) | [.cat, .name, .args["called at"], [.args.stack | walk]] | tojson' "$1" | sort
}

database_stacks() { # DATABASE
    local table
    for table in kernels memcpy memset api_calls memory_events cpu_samples thread_states; do
        ask "$1" "WITH RECURSIVE walk(stack, depth, frame) AS (
                SELECT DISTINCT stack, 0, stack FROM $table WHERE stack NOT NULL
                UNION ALL SELECT stack, depth + 1, parent FROM walk JOIN frames ON id = frame WHERE parent NOT NULL),
            chains AS (SELECT stack, json_group_array(json_array(function, file, line, module)) AS chain
                FROM (SELECT * FROM walk JOIN frames ON id = frame ORDER BY stack, depth) GROUP BY stack)
            SELECT json_array(name, called_at, json(chain)) FROM $table JOIN chains USING (stack)"
    done | sort
}

@test "stacks of calls, GPU operations and allocations are those of the trace" {
    "$gputrace" run -q --stacks=all:1 -o trace.json "$samples/launches" >/dev/null
    json_stacks trace.json | jq -c '.[1:]' | sort >expected
    [ "$(wc -l <expected)" -gt 15 ]
    "$gputrace" convert -q trace.json trace.pftrace
    for trace in trace.json trace.pftrace; do
        "$gputrace" convert -q --force "$trace" made.sqlite
        database_stacks made.sqlite | jq -c . | sort | diff expected -
    done
    assert_equal "$(ask made.sqlite "SELECT count(*) FROM kernels WHERE args LIKE '%stack%' OR args LIKE '%called at%'")" 0
}

@test "kernel time by line is the report's, and with the functions that a line calls" {
    "$gputrace" run -q --stacks=launch:1 -o trace.json "$samples/vector_add" >/dev/null
    "$gputrace" convert -q trace.json made.sqlite
    jq '.traceEvents |= map(select(.cat | IN("gpu_memcpy", "gpu_memset") | not))' trace.json >kernels.json
    assert_equal "$(answer made.sqlite 6 '[.called_at, .kernels, .total_ns]')" \
        "$(figures kernels.json lines 'select(.gpu_ns) | [.name, .operations, .gpu_ns]')"
    [ "$(query 6 | sqlite3 made.sqlite | wc -l)" -gt 0 ]
    local all
    all=$(ask made.sqlite 'SELECT sum(duration) FROM kernels')
    query 7 | sqlite3 -json made.sqlite >inclusive
    jq -e --argjson all "$all" '[.[] | select(.function == "main") | .total_ns] | add == $all' inclusive
    [ "$all" -gt 0 ]
}

@test "CPU samples and thread states have tables, with stacks and wakers" {
    cat >trace.json <<'END'
{"stackFrames": {"1": {"name": "main", "category": "/bin/app", "file": "/src/app.c", "line": 5},
    "2": {"name": "work", "category": "/bin/app", "file": "/src/app.c", "line": 9, "parent": 1},
    "x": {"name": "of another tool"}, "3": {"name": "text", "parent": "1"}},
"traceEvents": [
{"ph":"i","cat":"cpu_sample","name":"work","pid":9,"tid":10,"ts":1.5,"s":"t","args":{"stack":2,"called at":"work (app.c:9)"}},
{"ph":"i","cat":"cpu_sample","name":"?","pid":9,"tid":10,"ts":2,"s":"t"},
{"ph":"X","cat":"thread_state","name":"Sleeping","pid":9,"tid":536870917,"ts":3,"dur":4,"args":{"stack":1,"waker":11,"thread":10}}]}
END
    "$gputrace" convert -q trace.json trace.sqlite
    assert_equal "$(ask trace.sqlite 'SELECT name, time, pid, tid, stack, called_at, args FROM cpu_samples')" \
        $'work|1500|9|10|2|work (app.c:9)|\n?|2000|9|10|||'
    assert_equal "$(ask trace.sqlite 'SELECT name, start, duration, pid, tid, waker, stack FROM thread_states')" 'Sleeping|3000|4000|9|10|11|1'
    assert_equal "$(ask trace.sqlite 'SELECT * FROM frames')" \
        $'1||main|/src/app.c|5|/bin/app\n2|1|work|/src/app.c|9|/bin/app\n3|1|text|||'
    assert_equal "$(ask trace.sqlite 'SELECT count(*) FROM other_events')" 0
}

@test "a trace without stacks has no frames" {
    take_spool vector_add
    "$gputrace" convert -q spool made.sqlite
    assert_equal "$(ask made.sqlite 'SELECT (SELECT count(*) FROM frames), count(stack), count(called_at) FROM kernels')" '0|0|0'
}

@test "a trace of PyTorch's profiler: operators, kernels with the operator's thread, flows left out" {
    run -0 "$gputrace" convert "$kineto" made.sqlite
    assert_equal "$(ask made.sqlite 'SELECT count(*), sum(duration) FROM kernels')" \
        "$(gzip -dc "$kineto" | jq -r '[.traceEvents[] | select(.cat == "kernel") | .dur * 1000 | round] | "\(length)|\(add)"')"
    assert_equal "$(ask made.sqlite 'SELECT count(*) FROM kernels WHERE call IS NULL OR pid IS NULL')" 0
    assert_equal "$(ask made.sqlite 'SELECT kind, count(*) FROM operators GROUP BY kind')" \
        "cpu_op|$(gzip -dc "$kineto" | jq '[.traceEvents[] | select(.cat == "cpu_op")] | length')"
    assert_equal "$(ask made.sqlite 'SELECT name FROM devices WHERE device = 0')" 'NVIDIA H200'
    # The operator around the call of a kernel, as the stacks have it.
    "$gputrace" convert -q "$kineto" made.folded
    assert_equal "$(ask made.sqlite "SELECT sum(k.duration) FROM kernels AS k JOIN api_calls AS c ON c.id = k.call
            JOIN operators AS o ON o.pid = c.pid AND o.tid = c.tid AND c.start BETWEEN o.start AND o.end
            WHERE o.name = 'aten::gelu'")" \
        "$(awk -F'[ ]' '/;aten::gelu;/ { sum += $NF } END { print sum }' made.folded)"
}

@test "names with quotes, line ends, NUL and bytes that are not UTF-8" {
    printf '[{"ph":"X","cat":"user_annotation","name":"a \\"b\\" \\n%s \\u00e9 %s","pid":1,"tid":2,"ts":1,"dur":2,"args":{"domain":"d;%s","odd key\\t":"v\\u0000w"}},' \
        "';--" 'é' "'" >odd.json
    printf '{"ph":"X","cat":"kernel","name":"x\xff\\u0000y","pid":0,"tid":7,"ts":1,"dur":2,"args":{"stream":"0x10","device":0}}]' >>odd.json
    "$gputrace" convert -q odd.json odd.sqlite
    assert_equal "$(ask odd.sqlite 'SELECT name, domain, args FROM ranges')" \
        "$(printf 'a "b" \n%s é é|d;%s|{"odd key\\t":"v\\u0000w"}' "';--" "'")"
    assert_equal "$(ask odd.sqlite 'SELECT name, stream, duration FROM kernels')" $'x\xef\xbf\xbd|16|2000'
}

@test "the call is the outermost of its correlation id, and of the process that called last" {
    cat >trace.json <<'END'
[{"ph":"X","cat":"cuda_driver","name":"inner","pid":1,"tid":1,"ts":11,"dur":2,"args":{"correlation":5}},
{"ph":"X","cat":"cuda_runtime","name":"outer","pid":1,"tid":1,"ts":10,"dur":9,"args":{"correlation":5}},
{"ph":"X","cat":"cuda_runtime","name":"second","pid":2,"tid":2,"ts":50,"dur":9,"args":{"correlation":5}},
{"ph":"X","cat":"cuda_runtime","name":"same start","pid":2,"tid":2,"ts":70,"dur":9,"args":{"correlation":6}},
{"ph":"X","cat":"cuda_driver","name":"within","pid":2,"tid":2,"ts":70,"dur":8,"args":{"correlation":6}},
{"ph":"X","cat":"kernel","name":"k1","pid":0,"tid":7,"ts":20,"dur":1,"args":{"correlation":5,"stream":7}},
{"ph":"X","cat":"kernel","name":"k2","pid":0,"tid":7,"ts":60,"dur":1,"args":{"correlation":5,"stream":7}},
{"ph":"X","cat":"gpu_memset","name":"m3","pid":0,"tid":7,"ts":80,"dur":1,"args":{"correlation":6,"stream":7}},
{"ph":"X","cat":"kernel","name":"k4","pid":0,"tid":7,"ts":90,"dur":1,"args":{"correlation":7,"stream":7}},
{"ph":"X","cat":"kernel","name":"k5","pid":0,"tid":7,"ts":95,"dur":1,"args":{"stream":7}}]
END
    "$gputrace" convert -q trace.json trace.sqlite
    diff - <(ask trace.sqlite "SELECT k.name, c.name, k.pid FROM kernels AS k LEFT JOIN api_calls AS c ON c.id = k.call
        UNION ALL SELECT m.name, c.name, m.pid FROM memset AS m LEFT JOIN api_calls AS c ON c.id = m.call") <<'END'
k1|outer|1
k2|second|2
k4||
k5||
m3|same start|2
END
}

@test "values of counters keep their type, and arguments of an unusual type stay in args" {
    cat >trace.json <<'END'
[{"ph":"C","name":"one","pid":1,"tid":0,"ts":1,"args":{"bytes":9007199254740993}},
{"ph":"C","name":"two","pid":1,"tid":0,"ts":2,"args":{"a":-5,"b":0.25}},
{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1,"dur":1,"args":{"grid":[1,2],"block":[4,5,6],"stream":[7],"registers per thread":"many"}}]
END
    "$gputrace" convert -q trace.json trace.sqlite
    assert_equal "$(ask trace.sqlite 'SELECT name, time, series, value, typeof(value) FROM counters')" \
        $'one|1000|bytes|9007199254740993|integer\ntwo|2000|a|-5|integer\ntwo|2000|b|0.25|real'
    assert_equal "$(ask trace.sqlite 'SELECT grid_x, grid_y, block_x, block_y, block_z, stream, args FROM kernels')" \
        '||4|5|6||{"grid":[1,2],"stream":[7],"registers per thread":"many"}'
}

@test "run -o NAME.sqlite writes a database" {
    run -0 "$gputrace" run -o trace.sqlite "$samples/vector_add"
    assert_output --partial "events in 'trace.sqlite'"
    assert_output --partial "run 'sqlite3 trace.sqlite'"
    assert_equal "$(ask trace.sqlite 'PRAGMA integrity_check; PRAGMA user_version; SELECT count(*) FROM kernels')" $'ok\n2\n16'
    assert_equal "$(find . -name '*.tmp*' -o -name '*-journal')" ''
}

plan_uses() { # INDEX QUERY
    ask many.sqlite "EXPLAIN QUERY PLAN $2" >plan
    grep "INDEX $1 " plan || fail "$(<plan)"
}

@test "queries for a name, a time, a call and the calls in a range use an index" {
    jq -nc '[range(2000) | {ph: "X", cat: "user_annotation", name: "r\(. % 50)", pid: 1, tid: 1, ts: (. * 10), dur: 9},
        {ph: "X", cat: "cuda_runtime", name: "c", pid: 1, tid: 1, ts: (. * 10 + 1), dur: 1, args: {correlation: .}},
        {ph: "X", cat: "kernel", name: "k\(. % 50)", pid: 0, tid: 7, ts: (. * 10 + 2), dur: 1, args: {correlation: .}}]' >many.json
    "$gputrace" convert -q many.json many.sqlite
    plan_uses kernels_name "SELECT sum(duration) FROM kernels WHERE name = 'k7'"
    plan_uses ranges_name "SELECT sum(duration) FROM ranges WHERE name = 'r7'"
    plan_uses kernels_start 'SELECT id FROM kernels WHERE start BETWEEN 1 AND 2'
    plan_uses launches_call 'SELECT id FROM kernels WHERE call = 5'
    plan_uses api_calls_thread "$(query 5)"
}

@test "a trace without events has all tables; one that is incomplete gives no database" {
    echo '[]' >none.json
    "$gputrace" convert -q none.json none.db
    assert_equal "$(ask none.db 'SELECT (SELECT count(*) FROM kernels) + (SELECT count(*) FROM api_calls) + (SELECT count(*) FROM other_events)')" 0
    gzip -dc "$kineto" | head -c 200 >incomplete.json
    run -1 "$gputrace" convert incomplete.json out.sqlite
    assert_output --partial 'the file is incomplete'
    echo old >out.db
    run -1 "$gputrace" convert --force incomplete.json out.db
    assert_equal "$(cat out.db)" old
    assert_equal "$(find . -name 'out*')" ./out.db
    printf '[{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1,"dur":1},{"ph"' >cut.json
    run -0 "$gputrace" convert cut.json cut.sqlite
    assert_output --partial 'is cut off at byte'
    assert_equal "$(ask cut.sqlite 'SELECT name, duration FROM kernels')" 'k|1000'
}

@test "a database that cannot be written is an error and leaves no file" {
    take_spool train
    run -1 bash -c "trap '' XFSZ; ulimit -f 100; '$gputrace' convert spool out.sqlite"
    assert_output --partial "cannot write 'out.sqlite"
    assert_equal "$(find . -name 'out*')" ''
}
