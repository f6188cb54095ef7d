# gputrace report --html: what the page says, against the report in JSON and traces made by hand; that nothing of a trace
# becomes part of the page's HTML; how large it is. report_html_browser.bats looks at it in a browser.

load common

data=$root/tests/data

# x CATEGORY NAME PID TID START DURATION [ARGS]
x() {
    printf '{"ph":"X","cat":"%s","name":"%s","pid":%s,"tid":%s,"ts":%s,"dur":%s,"args":{%s}}\n' "$1" "${2//\"/\\\"}" "$3" "$4" "$5" "$6" "${7-}"
}

# gpu CATEGORY NAME STREAM START DURATION [DEVICE]; launch CORRELATION CALLED NAME START DURATION: with its call
gpu() { x "$1" "$2" "${6-0}" "$3" "$4" "$5" "\"device\": ${6-0}, \"stream\": $3"; }
launch() {
    x cuda_runtime cudaLaunchKernel 1 7 "$2" 2 "\"correlation\": $1"
    x kernel "$3" 0 1 "$4" "$5" "\"device\": 0, \"stream\": 1, \"correlation\": $1"
}

trace() { paste -sd, | sed 's/^/{"traceEvents":[/; s/$/]}/' >"${1-trace.json}"; }

# of FILTER: jq's answer about the page's data, where t(number) is a text, and rows(word) the rows of a table as objects
of() {
    jq -c '. as $page | def t($n): if $n == null then null else $page.strings[$n] end;
        def table($w): first(.tables[] | select(t(.word) == $w));
        def rows($w): table($w) | .columns as $columns | .cells[]
            | [., $columns] | transpose | map({key: .[1][0], value: (if .[1][2] == "text" then t(.[0]) else .[0] end)}) | from_entries;
        '"$1" page.json
}

# --- what it says ---

@test "every section of the report is a table of the page, with the same rows in the same order" {
    page "$data/kineto/kineto-train-h200.json.gz"
    "$gputrace" report -f json --names=pretty -n 200 "$data/kineto/kineto-train-h200.json.gz" >report.json
    diff <(of '[.tables[] | t(.word)]') <(jq -c 'del(.trace) | keys_unsorted' report.json)
    diff <(of '[.tables[] | .cells | length]') <(jq -c '[del(.trace)[] | length]' report.json)
    diff <(of '[rows("kernels") | [.name, .total, .calls, .min, .max]]') \
        <(jq -c '[.kernels[] | [.name, .total_ns, .calls, .min_ns, .max_ns]]' report.json)
    diff <(of '[rows("findings") | [.id, .finding, .time, .advice, .start]]') \
        <(jq -c '[.findings[] | [.id, .finding, .time_ns, .advice, .start_ns]]' report.json)
    [ "$(of '[rows("kernels")] | length')" -gt 10 ]
}

@test "-r chooses the tables of the page, and -n their rows; the sums are those of all rows" {
    { for i in 1 2 3 4; do gpu kernel "k$i" 1 $((i * 100)) $((i * 10)); done } | trace
    page -r kernels -n 2 trace.json
    diff - <(of '[.tables[] | t(.word)], [rows("kernels") | .name], (table("kernels") | .rows, .sums[1])') <<'END'
["kernels"]
["k4","k3"]
4
100000
END
}

@test "use over time: what computes, communicates and copies, counted once where it overlaps, by GPU and stream" {
    {
        gpu kernel compute 1 0 100
        gpu kernel ncclDevKernel_AllReduce 2 50 100
        gpu gpu_memcpy "Memcpy HtoD" 3 100 100
        gpu kernel other 1 200 200 1
    } | trace
    page trace.json
    diff - <(of '.use | .bucket, .count, (.lines[] | [.gpu, .stream, (.busy[] | if . == 0 then 0 else [.[0], .[60], .[110], .[160], .[250]] end)])') <<'END'
1000
400
[0,null,[1000,1000,0,0,0],[1000,1000,1000,0,0],[1000,1000,1000,1000,0]]
[0,1,[1000,1000,0,0,0],[1000,1000,0,0,0],[1000,1000,0,0,0]]
[0,2,0,[0,1000,1000,0,0],[0,1000,1000,0,0]]
[0,3,0,0,[0,0,1000,1000,0]]
[1,null,[0,0,0,0,1000],[0,0,0,0,1000],[0,0,0,0,1000]]
[1,1,[0,0,0,0,1000],[0,0,0,0,1000],[0,0,0,0,1000]]
END
}

@test "use over time: the parts add up to how long each stream was busy" {
    page "$data/kineto/kineto-train-h200.json.gz"
    of '.use as $use | [rows("streams") | [.stream, .busy]] as $streams
        | $use.lines[] | select(.stream != null) | .stream as $s
        | ((.busy[2] | add) * $use.bucket / 1000 / ($streams[] | select(.[0] == $s) | .[1]) | . > 0.99 and . < 1.01)' >right
    [ -s right ]
    ! grep -v true right
}

@test "of many streams the 16 that are busy longest have a line" {
    { for i in $(seq 1 40); do gpu kernel k "$i" $((i * 100)) $((i == 3 ? 90 : i)); done } | trace
    page trace.json
    [ "$(of '[.use.lines[] | .stream // empty]')" = "[3,26,27,28,29,30,31,32,33,34,35,36,37,38,39,40]" ]
}

@test "each finding has the calls and operations around its moment; there are no moments without findings" {
    {
        for i in $(seq 1 400); do launch "$i" $((i * 60)) tiny $((i * 60 + 5)) 2; done
    } | trace
    page trace.json
    [ "$(of '[rows("findings") | .id] | contains(["launch-bound"])')" = true ]
    of '.windows[] | select(. != null) | .rows[] | [(if .thread == null then .stream else t(.thread) end), (.ops | length), t(.ops[0][2]), .ops[0][3]]' >rows
    grep -qE '^\["thread 7",[0-9]+,"cudaLaunchKernel",0\]$' rows
    grep -qE '^\[1,[0-9]+,"tiny",0\]$' rows
    [ "$(of '[.windows[] | select(. != null) | .rows[].ops | length] | max <= 200')" = true ]
    [ "$(of '[.windows[] | select(. != null) | (.to - .from) as $span | .rows[].ops[] | .[0] >= 0 and .[0] + .[1] <= $span] | all')" = true ]

    { launch 1 0 big 5 100000; } | trace
    page trace.json
    [ "$(of '[rows("findings")], .windows')" = $'[]\n[]' ]
}

@test "operations that are too short to be seen are counted in one box" {
    {
        launch 1 0 before 5 10
        launch 2 100 long 900000 2000000
        for i in $(seq 1 5000); do launch $((i + 2)) $((200 + i)) tiny $((2900100 + i * 20)) 19; done
    } | trace
    page trace.json
    of '[.windows[] | select(. != null) | .rows[].ops | length] | max, length' >sizes
    [ "$(head -1 sizes)" -le 200 ]
    [ "$(of '[.windows[] | select(. != null) | .rows[].ops[] | .[4]] | max > 10')" = true ]
}

@test "durations of kernels: each launch is in one bin, from the shortest to the longest" {
    { for i in $(seq 1 5); do gpu kernel k 1 $((i * 2000)) $((i == 5 ? 1000 : 10)); done; gpu kernel same 1 90000 7; } | trace
    page trace.json
    diff - <(of '.kernels[] | [t(.name), .count, .total, .low, .high, (.bins | length, add, .[0], .[39])]') <<'END'
["k",5,1040000,10000,1000000,40,5,4,1]
["same",1,7000,7000,7000,40,1,1,0]
END
}

@test "memory over time: the levels of each memory, with every peak" {
    {
        x cuda_runtime cudaMalloc 1 7 0 1
        for i in $(seq 1 2000); do
            echo "{\"ph\":\"C\",\"name\":\"Memory in use: Device\",\"pid\":0,\"ts\":$((i * 1000)),\"args\":{\"bytes\":$((i == 1234 ? 9999 : i % 7))}}"
        done
    } | trace
    page trace.json
    diff - <(of '.memory[] | [t(.name), .peak, ([.points[][1]] | max), .points[-1][2], (.points | length <= 512), (.points[0][0] <= 1000000)]') <<'END'
["Device, GPU 0",9999,9999,5,true,true]
END
    { gpu kernel k 1 0 10; } | trace
    page trace.json
    [ "$(of .memory)" = "[]" ]
}

@test "with --snapshot the page has what was allocated then, and no memory over time" {
    cp "$data/report/memory.json" trace.json
    page trace.json
    [ "$(of '.memory | length > 0')" = true ]
    page --snapshot=1ms trace.json
    [ "$(of .memory)" = "[]" ]
    [[ "$(of 't(table("memory").title)')" == '"Memory allocated at'* ]]
}

@test "times at the ends of what a trace may have are drawn" {
    {
        gpu kernel first 1 -4000000000000000 10
        gpu kernel last 1 4000000000000000 10
        x cuda_runtime cudaMalloc 1 7 -4000000000000000 8000000000000000
    } | trace
    page trace.json
    [ "$(of '.use.lines[0].busy[2] | length == 400 and all(. >= 0 and . <= 1000)')" = true ]
}

@test "GPU time by what launched it: all of it below its GPU, but for nodes below a thousandth" {
    {
        x user_annotation step 1 7 0 1000
        launch 1 10 big 100 999000
        launch 2 20 small 999200 10
        launch 3 2000 outside 1000000 1000000
    } | trace
    page trace.json
    diff - <(of '.flame[] | [.[0], t(.[1]), t(.[2]), .[3], .[4]]') <<'END'
[-1,"GPU","GPU 0",1999010000,0]
[0,"range","step",999010000,0]
[1,"call","cudaLaunchKernel",999010000,0]
[2,"kernel","big",999000000,1]
[0,"call","cudaLaunchKernel",1000000000,0]
[4,"kernel","outside",1000000000,1]
END
}

@test "several traces are chapters of one page" {
    { gpu kernel first 1 0 10; } | trace a.json
    { gpu kernel second 1 0 10; } | trace b.json
    page a.json b.json
    diff - <(of 't(.trace), (rows("kernels") | .name)') <<'END'
"a.json"
"first"
"b.json"
"second"
END
}

@test "a trace without GPU work, and an empty one, make a page too" {
    { x cuda_runtime cudaMalloc 1 7 0 100; } | trace
    page trace.json
    [ "$(of '.use.lines, .flame, .kernels')" = $'[]\n[]\n[]' ]
    echo '{"traceEvents":[]}' >trace.json
    page trace.json
    [ "$(of '.span, .use.lines')" = $'0\n[]' ]
}

# --- the file ---

@test "the page refers to nothing outside of itself, and forbids it" {
    { gpu kernel k 1 0 10; } | trace
    page trace.json
    grep -v '^<script type="application/json"' page.html >frame
    diff - <(grep -oE '(src|href|action|srcset|data|poster)="[^"]*"' frame | LC_ALL=C sort) <<'END'
href="#main"
href="data:,"
END
    ! grep -nE '@import|url\((["'\'']?)[^#`]|fetch\(|XMLHttpRequest|WebSocket|import\(|sendBeacon|innerHTML|outerHTML|insertAdjacent|document\.write|eval\(' frame
    [ "$(grep -oE 'https?://[^"]*' frame)" = "http://www.w3.org/2000/svg" ]
    grep -qF "content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\"" frame
}

@test "names in a trace stay data: no tag, no end of a script, no comment" {
    script='</script><script>document.title="owned"</script>' image='<img src=x onerror=alert(1)>' comment='<!--<script>'
    {
        gpu kernel "$script" 1 0 1000
        gpu kernel "$image" 1 2000 10
        gpu kernel "$comment" 1 3000 10
        x user_annotation "$script" 1 7 0 10
        echo '{"ph":"M","name":"thread_name","pid":1,"tid":7,"args":{"name":"</SCRIPT ><b>"}}'
    } | trace '<b>&.json'
    page './<b>&.json'
    [ "$(grep -c '<script' page.html)" -eq 2 ]
    [ "$(grep -o '</[sS][cC][rR][iI][pP][tT]' page.html | wc -l)" -eq 2 ]
    ! grep -F -e '<img' -e '<b>' page.html
    [ "$(grep -c '<!--' page.html)" -eq 0 ]
    diff - <(of 'rows("kernels") | .name') <<'END'
"</script><script>document.title=\"owned\"</script>"
"<img src=x onerror=alert(1)>"
"<!--<script>"
END
}

@test "bytes that are not UTF-8 and control characters leave the page well-formed" {
    printf '{"traceEvents":[{"ph":"X","cat":"kernel","name":"a\\u0001b\\u2028c\xff","pid":0,"tid":1,"ts":0,"dur":5,"args":{"device":0,"stream":1}}]}' >trace.json
    page trace.json
    iconv -f UTF-8 -t UTF-8 page.html >/dev/null
    [ "$(of '[rows("kernels")] | length')" = 1 ]
}

@test "a long name without the first byte of any character makes a page" {
    {
        gpu kernel "$(head -c 2000 /dev/zero | tr '\0' '\200')" 1 0 1000
        gpu kernel short 1 2000 10
    } | trace
    page trace.json
    [ "$(of '[rows("kernels")] | length')" = 2 ]
}

@test "a page of very many long names stays below a megabyte, and every table has rows" {
    awk 'BEGIN {
        printf "{\"traceEvents\":["
        for (i = 0; i < 1500; i++) name = name "x"
        for (i = 0; i < 3000; i++) {
            printf "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"call_%d_%s\",\"pid\":1,\"tid\":7,\"ts\":%d,\"dur\":2,\"args\":{\"correlation\":%d}},\n", i % 300, name, i * 100, i + 1
            printf "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"range_%d_%s\",\"pid\":1,\"tid\":7,\"ts\":%d,\"dur\":5},\n", i, name, i * 100
            printf "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"kernel_%d_%s\",\"pid\":0,\"tid\":%d,\"ts\":%d,\"dur\":50,\"args\":{\"device\":0,\"stream\":%d,\"correlation\":%d}}%s\n", i, name, i % 30, i * 100 + 5, i % 30, i + 1, i < 2999 ? "," : "]}"
        }
    }' >trace.json
    page trace.json
    size=$(stat -c %s page.html)
    [ "$size" -lt 1000000 ] || fail "the page has $size bytes"
    [ "$(of '[.tables[] | select(.rows > 0) | (.cells | length) >= ([.rows, 20] | min)] | all')" = true ]
    [ "$(of '[table("nvtx"), table("kernels") | .rows]')" = "[3000,3000]" ]
}

@test "the page is the same for any number of threads" {
    page "$data/kineto/kineto-train-h200.json.gz"
    mv page.json first.json
    taskset -c 0 "$gputrace" report --html page.html "$data/kineto/kineto-train-h200.json.gz"
    sed -n 's|^<script type="application/json" class="chapter">\(.*\)</script>$|\1|p' page.html | cmp - first.json
}

# --- the command ---

@test "the file appears whole or not at all" {
    echo old >page.html
    echo '{"traceEvents":[{]}' >broken.json
    run ! --separate-stderr "$gputrace" report --html page.html broken.json
    [ "$(cat page.html)" = old ]
    { gpu kernel k 1 0 10; } | trace
    run ! --separate-stderr "$gputrace" report --html page.html trace.json broken.json
    [ "$(cat page.html)" = old ]
    "$gputrace" report --html page.html trace.json
    grep -q '^<!doctype html>' page.html
    [ "$(find . -name '*page*' ! -name page.json)" = ./page.html ]
}

@test "a signal that ends the report leaves the page as it was, and nothing beside it" {
    echo old >page.html
    mkfifo trace.fifo
    "$gputrace" report --html page.html trace.fifo 2>said &
    local pid=$!
    exec 7>trace.fifo
    printf '{"traceEvents":[' >&7
    until [ "$(find . -name '*page.html*' | wc -l)" -eq 2 ]; do sleep 0.05; done
    kill -TERM "$pid"
    local status=0
    wait "$pid" || status=$?
    exec 7>&-
    [ "$status" -eq 143 ]
    [ "$(cat page.html)" = old ]
    [ "$(find . -name '*page.html*')" = ./page.html ]
    grep -q "interrupted: 'page.html' was not written" said
}

@test "a name that is not a page's is refused, so that no trace is replaced" {
    { gpu kernel k 1 0 10; } | trace
    cp trace.json copy.json
    run -2 --separate-stderr "$gputrace" report --html trace.json
    [[ $stderr == *"'trace.json' does not end in .html (try --html report.html)"* ]]
    cmp trace.json copy.json
    run -2 --separate-stderr "$gputrace" report --html page.html -f csv trace.json
    [[ $stderr == *"--html writes a page, and --format asks for another format: use one of them"* ]]
    [ ! -e page.html ]
}

@test "--fail-on decides the status with a page, too" {
    { for i in $(seq 1 400); do launch "$i" $((i * 60)) tiny $((i * 60 + 5)) 2; done; } | trace
    run -3 --separate-stderr "$gputrace" report --html page.html --fail-on=any trace.json
    [ -s page.html ]
}
