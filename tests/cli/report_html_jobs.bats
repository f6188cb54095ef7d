# gputrace report --html of jobs: the map of ranks and steps, against figures worked out by hand, and the job's tables.
# report_html_browser.bats looks at it in a browser.

load common

made() { # [OPTION=VALUE...] FILE
    "$root/tests/cli/ranks_trace" "$@"
}

# of FILTER: jq's answer about the page's data, where t(number) is a text and rows(figure) the map's rows in microseconds
of() {
    jq -c '. as $page | def t($n): $page.strings[$n]; def figure($name): first(.heat.figures[] | select(t(.name) == $name));
        def rows($name): .heat.columns as $columns | figure($name) | .unit as $unit | .cells
            | [range(0; length; $columns) as $i | .[$i:$i + $columns] | map(if . < 0 then null else . * $unit / 1000 | round end)];
        '"$1" page.json
}

@test "the map has step time, computing, communication and waiting of each rank and step, and marks the straggler" {
    made noise=0 slow=1:1000000 rank%r.json
    page rank?.json
    diff - <(of '.heat | [.ranks, .per_row, .steps, .columns, .per_column]') <<'END'
[[0,1,2,3],1,10,10,1]
END
    # A step has a copy of 50 us and a kernel of 0.5 ms, on rank 1 of 1.5 ms; three ranks wait for it for 1 ms.
    diff - <(of 'rows("Computing and copying"), rows("Communication"), rows("Waiting for other ranks") | map(unique)') <<'END'
[[550],[1550],[550],[550]]
[[1100],[100],[1100],[1100]]
[[1000],[0],[1000],[1000]]
END
    of 'rows("Step time") | map(length == 10 and all(. > 1650 and . < 1760))' | jq -e 'all'
    diff - <(of '.heat.late | map([.row, .rank])') <<<'[[1,1]]'
    of '.heat.late[0] | t(.text)' | grep -q '^"Rank 1 makes the others wait '
}

@test "a job without a straggler has none marked" {
    made noise=0 rank%r.json
    page rank?.json
    [ "$(of '.heat.late, (.heat.figures | map(t(.name)))')" = \
        $'[]\n["Step time","Computing and copying","Communication","Idle","Idle: host outside CUDA","Idle: waiting for launches","Idle: other causes"]' ]
}

@test "the map has the idle time of each rank and step by cause; causes of next to nothing are left out" {
    made noise=0 slow=1:1000000 rank%r.json
    page rank?.json
    # 10 us before each of three kernels, and 30 us until a step has launched something; that of the first comes before all work.
    diff - <(of 'rows("Idle") | map(unique)') <<'END'
[[60],[60],[60],[60]]
END
    of 'rows("Idle: host outside CUDA"), rows("Idle: waiting for launches"), rows("Idle: other causes") | .[0]' >of-rank-0
    jq -se 'transpose | all(.[]; add == 60)' of-rank-0
    jq -se 'map(.[1:-1] | unique) == [[20], [40], [0]]' of-rank-0
    made noise=0 sleep=2:10000000 rank%r.json
    page rank?.json
    of 'rows("Idle: host outside CUDA") | map(max)' | jq -e '.[2] > 10000 and all(.[0, 1, 3]; . < 100)'
    [ "$(of '.heat.figures | map(t(.name)) | index("Idle: waiting for launches")')" = null ] # 40 us of steps of 10.7 ms
    [ "$(of '.heat.figures | map(t(.name)) | index("Idle: work was queued")')" = null ]
}

@test "a job is one chapter, with the tables and findings of the report" {
    made noise=0 slow=1:1000000 rank%r.json
    page rank?.json
    [ "$(wc -l <page.json)" -eq 1 ]
    "$gputrace" report -f json -n 200 rank?.json >report.json
    diff <(of '[.tables[] | t(.word)]') <(jq -c 'del(.trace) | keys_unsorted' report.json)
    diff <(of '[.tables[] | .cells | length]') <(jq -c '[del(.trace)[] | length]' report.json)
    [ "$(of '[.tables[] | select(t(.word) == "ranks") | .cells | length]')" = "[4]" ]
    [ "$(of '.use, .flame')" = $'null\nnull' ]
}

@test "the moment of a late rank is when others waited longest, in its own trace and clock; a finding of a trace has its place" {
    made noise=0 slow=3:1000000 per_host=2 offset=50000000 rank%r.json
    page rank?.json
    # Steps take 1.72 ms. The kernel begins 90 us after the step and ends 1.5 ms later, when the others have waited for 1 ms;
    # waiting counts from the second step on. 250 us around that are shown.
    of '.windows[0] | (.rows[] | select(.stream == 20) | .ops[0] | [t(.[2])[0:8], .[0]]), [.until - .from, .until - .at]' >rows
    jq -se '.[0] == ["ncclDevK", .[1][0]] and .[1][1] == 1000000' rows
    diff - <(of '[.windows[0].rows[] | .gpu] | unique') <<<'[3]'
    diff - <(of '.windows[0] | .until, (.rows[] | select(.stream == 7) | [t(.ops[0][2]), .ops[0][1]])') \
        <<<$'3310000\n["gemm",1250000]'
    diff - <(of '.windows[1].rows | map(select(.thread != null) | [t(.thread), t(.ops[0][2])])[]') <<<'["thread 1000","cudaLaunchKernel"]'
    "$gputrace" report --partial -o rank3.gpr rank3.json
    rm rank3.json
    page rank?.json rank3.gpr
    [ "$(of '.windows | map(. != null)[0:2]')" = "[false,true]" ]
}

@test "the moment of a hang is the time that ranks wait" {
    "$build/make_job" -n 4 -H 2 -s 6 -x 3:4 job >/dev/null
    page job/rank*
    of '.windows[0] | .until - .at, .to - .from, (.rows | length)' | jq -se '.[0] > 4.9e9 and .[1] < 5.2e9 and .[2] == 2'
}

@test "the moment of a late DataLoader is as long as the GPU waits for it" {
    "$build/make_job" -n 4 -s 6 -d 1:6 job >/dev/null
    page job/rank*
    of '.windows[0] | .until - .at' | jq -e '. > 5.5e6 and . < 7e6'
}

@test "the parts of a job give the page that its traces give" {
    made slow=1:1000000 rank%r.json
    page rank?.json
    mv page.html traces.html
    for rank in 0 1 2 3; do "$gputrace" report --partial -o "rank$rank.gpr" "rank$rank.json"; done
    page rank?.gpr
    cmp page.html traces.html
}

@test "a trace of several ranks has the map beside its own charts; a trace of one rank, and one of none, have no map" {
    made noise=0 slow=1:1000000 job.json
    page job.json
    diff - <(of '(rows("Waiting for other ranks") | map(unique)), (.heat.late | map(.rank)), (.use.lines | length > 0)') <<'END'
[[1000],[0],[1000],[1000]]
[1]
true
END
    page -r kernels job.json
    [ "$(of .heat)" = null ]
    made noise=0 rank%r.json
    page rank0.json
    [ "$(of .heat)" = null ]
    page "$root/tests/data/report/small.json"
    [ "$(of .heat)" = null ]
}

@test "clocks of hosts that differ change neither the steps nor the waiting in them" {
    made noise=0 slow=1:1000000 per_host=2 offset=50000000 rank%r.json
    page rank?.json
    of 'rows("Communication")' >communication
    jq -e 'map(unique) == [[1100],[100],[1100],[1100]]' communication
    # The offset is known to within some microseconds.
    of 'rows("Waiting for other ranks")' >waiting
    jq -e 'map(length == 10 and (max - min) < 60) | all' waiting
    jq -e '(.[0] + .[2] + .[3] | all(. > 880 and . < 1110)) and (.[1] | all(. < 110))' waiting
}

@test "of many ranks and steps several share a box: the rank with most, the mean of the steps" {
    made noise=0 ranks=120 steps=110 slow=77:1000000 rank%r.json
    page rank*.json
    diff - <(of '.heat | [.ranks[0], .ranks[1], .ranks[59], (.ranks | length), .per_row, .steps, .columns, .per_column]') <<'END'
[0,2,118,60,2,110,55,2]
END
    diff - <(of 'rows("Computing and copying") | map(unique) | .[37], .[38], .[39]') <<'END'
[550]
[1550]
[550]
END
    diff - <(of '.heat.late | map([.row, .rank])') <<<'[[38,77]]'
}

@test "the page of a thousand ranks stays below two megabytes" {
    made ranks=1000 steps=3 rank%r.json
    page rank*.json
    size=$(stat -c %s page.html)
    [ "$size" -lt 2000000 ] || fail "the page has $size bytes"
    [ "$(of '.heat | (.ranks | length), .per_row')" = $'100\n10' ]
    [ "$(of '[.tables[] | select(t(.word) == "ranks")][0].rows')" = 1000 ]
}

@test "a trace of another job makes chapters, and a part of another job is an error that leaves the page" {
    made rank%r.json
    cp rank0.json other.json
    page rank0.json other.json
    [ "$(wc -l <page.json)" -eq 2 ]
    "$gputrace" report --partial -o one.gpr rank0.json
    echo old >page.html
    run ! --separate-stderr "$gputrace" report --html page.html one.gpr other.json
    [ "$(cat page.html)" = old ]
}
