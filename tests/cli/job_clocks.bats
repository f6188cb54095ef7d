# Clocks of a job's hosts: what report and merge say of them is the truth of a made job.

load common

make_job() { # OPTION...
    run -0 "$build/make_job" "$@" job
}

# Clocks by the lines of stdin: host, offset in ns, uncertainty in ns. Lines for people have three decimals of a ms.
clocks() {
    sed -nE "s/.*clock of (node[0-9]+): ([0-9.]+) (ms|us) (ahead|behind).* ± ([0-9.]+) (ms|us) .*/\\1 \\2 \\3 \\4 \\5 \\6/p" |
        awk '{ print $1, $2 * ($3 == "ms" ? 1e6 : 1e3) * ($4 == "ahead" ? 1 : -1), $5 * ($6 == "ms" ? 1e6 : 1e3) }' | sort
}

# Whether all of them are there and right within 20 us, and within what they say themselves. The drift until the first
# operation is part of the 20 us: 50 ppm of some 10 ms.
right() { # FILE
    jq -r '.hosts[1:][] | "\(.host) \(.offset_ns)"' job/truth.json | sort | join - "$1" | awk '
        { wrong = $2 > $3 ? $2 - $3 : $3 - $2; if (wrong > 20000 || wrong > $4 + 1000) { print "wrong:", $0; bad = 1 } }
        END { exit bad || NR != '"$(jq '.hosts | length - 1' job/truth.json)"' }'
}

@test "clocks that are wrong by 50 ms and 50 ppm are found to 20 us, by report and by merge" {
    make_job -n 32 -H 8 -t 2 -p 2 -s 40 -c
    "$gputrace" report --format json -r overview job/rank*.pftrace | clocks >reported
    right reported
    "$gputrace" merge -o merged.pftrace job/rank*.pftrace 2>&1 | clocks >merged
    right merged
}

@test "of many clocks the report says how far they were off at most" {
    make_job -n 10 -H 10 -s 40 -c
    run -0 "$gputrace" report -r overview --width=1000 job/rank*.pftrace
    assert_line --regexp '^  Clocks +9 corrected by at most [0-9.]+ (ms|µs), drift [0-9.]+ ppm at most, ± [0-9.]+ µs at most \(gputrace merge prints each\)$'
    refute_line --regexp '^  Clock '
}

@test "a host whose ranks are always late is not taken for one whose clock is ahead" {
    make_job -n 8 -H 4 -s 40 -c -l 4:5 -l 5:5
    "$gputrace" report --format json -r overview job/rank*.pftrace | clocks >reported
    right reported
    make_job -n 8 -H 4 -s 40 -c
    "$gputrace" report --format json -r overview job/rank*.pftrace | clocks >usual
    right usual
}

@test "times of a merged trace are those of the first host's clock" {
    make_job -n 4 -H 2 -s 10 -c
    "$gputrace" merge -q -o merged.json job/rank*.pftrace
    make_job -n 4 -H 2 -s 10
    "$gputrace" merge -q -o right.json job/rank*.pftrace
    local kernels='[.traceEvents[] | select(.cat == "kernel" and .args["Collective name"]) | [.pid, .tid, .ts, .args.Seq]] | sort'
    jq -c "$kernels" merged.json >merged
    jq -c "$kernels" right.json >right
    jq -se '(.[0] | length) > 200 and ([.[0], .[1]] | transpose | all(.[0][0] == .[1][0] and .[0][3] == .[1][3] and
        (.[0][2] - .[1][2] | fabs) < 20))' merged right
}

@test "a job of one host has no clocks to correct" {
    make_job -n 4 -H 1 -s 3
    "$gputrace" report --format json -r overview job/rank*.pftrace >report
    jq -e '.overview | map(.name) | index("Clock") == null' report
}
