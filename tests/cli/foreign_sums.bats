# What small traces of other tools add up to: the report beside tests/tools/foreign_sums, which shares no code with it.

load common

traces() {
    ls "$root"/tests/data/foreign/*.json "$root"/tests/data/kineto/*.json.gz
}

# The same of the report, in the form of foreign_sums. Copies without bytes have no row of sizes.
reported() {
    "$gputrace" report -r kernels,memtime,memsize,overview,overlap,steps -f json --top=0 "$1" | jq -c '
        (.memsize | map({(.name): .total_bytes}) | add // {}) as $bytes |
        {kernels: (.kernels | map([.name, .calls, .total_ns]) | sort),
         copies: (.memtime | map([.name, .count, .total_ns, ($bytes[.name] // 0)]) | sort),
         busy: ([.overview[] | select(.item | test("^GPU .*busy time$")).value] | add // 0),
         communication: ([.overlap[] | select(.kind == "communication").total_ns] | add // 0),
         overlapped: ([.overlap[] | select(.kind == "communication").overlapped_ns] | add // 0),
         steps: (.steps | map(select(.name | test("^(ProfilerStep|Optimizer)"))) |
             if . == [] then null else [.[0].count, (.[0].count * .[0].avg_ns | round)] end)}'
}

@test "kernels, copies, busy time, overlap and steps of traces of other tools are those of an independent program" {
    local trace count=0
    for trace in $(traces); do
        "$root/tests/tools/foreign_sums" "$trace" | jq -c . >expected
        reported "$trace" >got
        diff -u expected got || fail "$trace"
        count=$((count + 1))
    done
    [ "$count" -ge 14 ]
}

@test "csv has the same sums of kernels as json" {
    local trace
    for trace in $(traces); do
        "$gputrace" report -r kernels -f csv --columns=total,calls "$trace" | tr -d '\r' | awk -F, 'NR > 1 && NF == 2 { ns += $1; calls += $2 } END { print ns + 0, calls + 0 }' >got
        "$root/tests/tools/foreign_sums" "$trace" |
            jq -r '[([.kernels[][2]] | add // 0), ([.kernels[][1]] | add // 0)] | join(" ")' >expected
        diff -u expected got || fail "$trace"
    done
}

@test "a trace that was converted to Perfetto's format has the same sums" {
    local trace=$root/tests/data/foreign/streams-of-two-gpus.json
    "$gputrace" convert "$trace" it.pftrace
    "$root/tests/tools/foreign_sums" "$trace" | jq -c . >expected
    reported it.pftrace >got
    diff -u expected got
}
