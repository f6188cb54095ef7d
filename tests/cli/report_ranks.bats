# gputrace report on traces of several ranks: communication and ranks, against figures worked out by hand.

load common

made() { # [OPTION=VALUE...] FILE
    "$root/tests/cli/ranks_trace" "$@"
}

section() { # SECTION TRACE: its rows as JSON
    "$gputrace" report -r "$1" --format=json "$2" | jq --arg section "$1" '.[$section]'
}

@test "comm: rank 1 begins a millisecond later, so three ranks wait for it ten times" {
    made noise=0 slow=1:1000000 job.json
    section comm job.json >rows
    jq -e 'length == 1 and .[0].operation == "allreduce" and .[0].communicator == "0xc0ffee" and .[0].type == "Float"' rows
    jq -e '.[0].size_bytes == 1048576 and .[0].ranks == 4 and .[0].count == 10' rows
    # Kernels take 1.1 ms on three ranks and 0.1 ms on one; a kernel of 25 us runs beside each.
    jq -e '.[0].total_ns == 34000000 and .[0].wait_ns == 30000000 and .[0].transfer_ns == 4000000' rows
    jq -e '.[0].exposed_ns == 33000000 and (.[0].overlapped_percent * 340 | round) == 1000' rows
    # 1 MiB in 0.1 ms, and 2 (n - 1) / n of that.
    jq -e '(.[0].algorithm_gb_s * 100000 | round) == 1048576 and (.[0].bus_gb_s * 100000 | round) == 1572864' rows
}

@test "comm: of one rank nobody knows what it waited for" {
    made noise=0 slow=1:1000000 format=torch sequence=0 rank%r.json
    section comm rank0.json | jq -e '.[0].wait_ns == null and .[0].transfer_ns == null and .[0].total_ns == 11000000'
    section comm rank1.json | jq -e '.[0].total_ns == 1000000 and (.[0].bus_gb_s * 100000 | round) == 1572864'
    section comm "$root/tests/data/report/small.json" | jq -e 'length == 0'
}

@test "ranks: what each rank did, and who waited for whom" {
    made noise=0 slow=1:1000000 job.json
    section ranks job.json >rows
    jq -e 'map(.rank) == [0, 1, 2, 3] and all(.[]; .host == "node0" and .steps == 10)' rows
    # Each step: 0.5 ms of gemm, on rank 1 a millisecond more, and 25 us beside communication.
    jq -e 'map(.compute_ns) == [5250000, 15250000, 5250000, 5250000]' rows
    jq -e 'map(.communication_ns) == [11000000, 1000000, 11000000, 11000000]' rows
    jq -e 'map(.exposed_ns) == [10750000, 750000, 10750000, 10750000] and all(.[]; .copies_ns == 500000)' rows
    jq -e 'map(.waited_ns) == [10000000, 0, 10000000, 10000000] and map(.delayed_ns) == [0, 30000000, 0, 0]' rows
    # The first operation waits for ranks that start late: it does not count as late.
    jq -e 'map(.late_ns) == [0, 9000000, 0, 0] and map(.late_operations) == [0, 9, 0, 0]' rows
    # 10 us before each kernel of a step, and 30 + 20 + 10 us between two steps.
    jq -e 'all(.[]; .idle_ns == 640000 and .idle_cause == "launch")' rows
}

@test "ranks: a trace whose processes are no ranks has none" {
    "$gputrace" report -r ranks --format=json "$root/tests/data/report/small.json" | jq -e '.ranks == []'
}

# The finding straggler of RANK in job.json has a text that matches REGEXP; of OTHERS ranks more there is one.
straggler() { # RANK REGEXP [OTHERS]
    "$gputrace" report -r findings --format=json job.json >findings.json
    jq -e --arg rank "$1" --arg regexp "$2" 'any(.findings[]; .id == "straggler" and (.finding |
        startswith("Rank \($rank) ") and test($regexp)))' findings.json
    jq -e --argjson count "$((1 + ${3:-0}))" '[.findings[] | select(.id == "straggler")] | length == $count' findings.json
}

@test "a rank that sleeps and one with a slower kernel are named with their reasons, in 20 of 20 runs" {
    for seed in {1..20}; do
        made seed="$seed" slow=1:1000000 sleep=2:5000000 job.json
        straggler 1 'kernels take longer.* mostly gemm: 1.5[0-9]* ms on average, 5[01][0-9] µs on other ranks' 1
        straggler 2 'host launches late.* host outside CUDA' 1
    done
}

@test "a rank whose data loading or copies take longer is named with that reason" {
    made load=3:1000000 job.json
    straggler 3 'its DataLoader is late, the GPU waits for it 918 µs of a step in place of 18 µs'
    made link=0:400000 job.json
    straggler 0 'copies take longer.* mostly Memcpy HtoD .*: 450 µs on average, 50 µs on other ranks'
}

@test "ranks that are late by chance are no stragglers" {
    for seed in {1..5}; do
        made seed="$seed" job.json
        "$gputrace" report -r findings --format=json job.json | jq -e 'all(.findings[]; .id != "straggler")'
    done
}

@test "operations that cannot be the same, as one ended before the other began, are not compared" {
    made noise=0 slow=1:1000000 job.json
    # As if the capture of rank 1 had begun one operation earlier, and each rank had counted its own.
    jq '.traceEvents |= map(if .args.Rank == 1 and .args.Seq then .args.Seq += 1 else . end)' job.json >shifted.json
    section comm shifted.json | jq -e '.[0].count == 11 and .[0].wait_ns == 0' # of the first, without rank 1
    # Rank 1 is compared with nobody, so that its times are not known.
    section ranks shifted.json | jq -e 'all(.[]; [.waited_ns, .late_ns, .delayed_ns] == if .rank == 1 then [null, null, null] else [0, 0, 0] end)'
    section findings shifted.json | jq -e 'all(.[]; .id != "straggler")'
}

@test "of ranks that share a GPU that is said to be why one is late, unless there is another reason" {
    made noise=0 sleep=2:1000000 job.json
    jq '.traceEvents |= map(if .args.device then .args.device = 0 else . end)' job.json >shared.json
    section findings shared.json | jq -e 'any(.[]; .id == "straggler" and (.finding | test("^Rank 2 .*: it shares its GPU with another rank")))'
    made noise=0 slow=2:1000000 job.json
    jq '.traceEvents |= map(if .args.device then .args.device = 0 else . end)' job.json >shared.json
    section findings shared.json | jq -e 'any(.[]; .id == "straggler" and (.finding | test("^Rank 2 .*: its kernels take longer")))'
}

# --- the report of a job ---

@test "job: traces of its ranks, and their parts, give the same bytes in all formats" {
    made per_host=2 offset=3000000 slow=1:1000000 rank%r.json
    for rank in 0 1 2 3; do
        "$gputrace" report --partial -o rank$rank.gpr rank$rank.json
    done
    for format in table csv json markdown; do
        "$gputrace" report -f $format rank?.json >direct
        "$gputrace" report -f $format rank?.gpr | diff direct -
        "$gputrace" report -f $format rank0.json rank1.gpr rank2.json rank3.gpr | diff direct -
        [ -s direct ]
    done
    "$gputrace" report -r all rank?.json >direct
    "$gputrace" report -r all rank?.gpr | diff direct -
}

@test "job: ranks and communication are those of the same job in one trace" {
    made noise=0 slow=1:1000000 job.json
    made noise=0 slow=1:1000000 rank%r.json
    "$gputrace" report -r ranks,comm -f json rank?.json >of-ranks
    jq -S '{ranks, comm}' of-ranks >got
    "$gputrace" report -r ranks,comm -f json job.json | jq -S '{ranks, comm}' | diff - got
    jq -e '.ranks | map(.rank) == [0, 1, 2, 3]' of-ranks
}

@test "job: rows of sections have sums, means, and the ranks with the least and the most" {
    made noise=0 slow=1:1000000 rank%r.json
    "$gputrace" report -r kernels -f json rank?.json >rows
    jq -e '.kernels[] | select(.name == "gemm") | .total_ns == 30000000 and .count == 40 and .ranks == 4 and
        .mean_ns == 7500000 and .least_ns == 5000000 and .least_rank == 0 and .most_ns == 15000000 and .most_rank == 1' rows
}

@test "job: the clock of another host is corrected before anybody is said to wait" {
    made noise=0 per_host=2 offset=3000000 slow=1:1000000 rank%r.json
    "$gputrace" report -r ranks,overview -f json rank?.json >rows
    jq -e '.ranks | map(.host) == ["node0", "node0", "node1", "node1"]' rows
    # Wrong by 3 ms, ranks 2 and 3 would begin last.
    jq -e '.ranks | all(.[]; if .rank == 1 then .delayed_ns > 25000000 else .delayed_ns < 1000000 end)' rows
    "$gputrace" report -r overview rank?.json >words
    grep -F 'clock of node1: 3.000 ms ahead' words
}

@test "job: findings are there once, with their ranks, and stragglers have their reasons" {
    made slow=1:1000000 rank%r.json
    "$gputrace" report -r findings -f json rank?.json >rows
    jq -e '[.findings[] | select(.id == "exposed-communication")] | length == 1 and .[0].ranks == 3 and
        (.[0].finding | test("found on 3 of 4 ranks"))' rows # rank 1 never waits
    jq -e '[.findings[] | select(.id == "straggler")] | length == 1 and .[0].rank == 1 and
        (.[0].finding | test("kernels take longer.*gemm"))' rows
    run -3 "$gputrace" report --fail-on=straggler rank?.json
    made noise=0 rank%r.json
    "$gputrace" report --fail-on=straggler rank?.json
}

@test "job: traces of torch.profiler are a job, too" {
    made noise=0 slow=2:1000000 format=torch sequence=0 rank%r.json
    "$gputrace" report -r ranks -f json rank?.json | jq -e '.ranks | map(.delayed_ns) == [0, 0, 30000000, 0]'
}

@test "job: files that are no ranks of one job are reported one by one" {
    made rank%r.json
    cp rank0.json again.json
    "$gputrace" report -r kernels rank0.json again.json >both
    grep -Fx '=== rank0.json ===' both
    grep -Fx '=== again.json ===' both
    "$gputrace" report -r kernels "$root/tests/data/report/small.json" rank0.json >both
    grep -Fx '=== rank0.json ===' both
    made ranks=8 other%r.json
    "$gputrace" report -r kernels rank0.json other5.json >both
    grep -Fx '=== other5.json ===' both
}

@test "job: a part that is damaged, of another job, or of no rank is an error that names it" {
    made rank%r.json
    "$gputrace" report --partial -o rank0.gpr rank0.json
    head -c 3000 rank0.gpr >short.gpr
    run -1 "$gputrace" report short.gpr
    grep -F "'short.gpr' is damaged" <<<"$output"
    run -1 "$gputrace" report rank0.gpr rank0.json
    grep -F "'rank0.json' is not of the job of 'rank0.gpr'" <<<"$output"
    run -1 "$gputrace" report --partial -o none.gpr "$root/tests/data/report/small.json"
    grep -F "has no ranks" <<<"$output"
    [ ! -e none.gpr ]
    run -2 "$gputrace" report --partial rank0.json
    run -2 "$gputrace" report -o rank0.gpr rank0.json
}

@test "job: in a simulated training, a late host and slower kernels cost what was planted" {
    "$build/make_job" -n 8 -H 4 -c -l 2:5 -k 1:0.3 job >/dev/null
    "$gputrace" report -r findings -f json job/*.pftrace |
        jq '[.findings[] | select(.id == "straggler")] | sort_by(.rank)' >stragglers
    jq -e 'map(.rank) == [1, 2] and (.[0].finding | test("kernels take longer")) and
        (.[1].finding | test("host launches late"))' stragglers
    # 5 ms in each of 20 steps.
    jq -e '.[1].time_ns | . > 90000000 and . < 110000000' stragglers
    "$build/make_job" -n 8 fair >/dev/null
    "$gputrace" report -r findings -f json fair/*.pftrace | jq -e 'all(.findings[]; .id != "straggler")'
}

# --- diff of two jobs ---

@test "diff: of the same ranks of two jobs figures are means, and the rank that changed most is named" {
    made noise=0 before%r.json
    made noise=0 slow=1:1000000 after%r.json
    "$gputrace" diff -f json --before before0.json --before before1.json --after after1.json --after after0.json >rows
    jq -e '.notes | any(test("^The same 2 ranks of a job on each side.* Rank [01] differs most: its trace takes [0-9.]+ ms before"))' rows
    "$gputrace" diff --before before0.json --before before1.json --after after0.json --after after2.json >words
    grep -F 'The ranks differ: 0, 1 before, 0, 2 after. Figures are means over the ranks of a side.' words
    "$gputrace" diff before0.json after0.json >words
    run -1 grep -F 'ranks' words
}

# --- recorded jobs ---

# A busy machine makes other ranks late, too: three recordings at most.
@test "recorded: a rank that sleeps and one with a slower kernel are named with their reasons" {
    export LD_LIBRARY_PATH=$build/simgpu
    for _ in 1 2 3; do
        "$gputrace" run -q -o job.json "$build/tests/nccl/fake_nccl" -n 4 -s 10 -d 2:5 -k 1:40
        "$gputrace" report -r findings -f json job.json >findings.json
        ! jq -e '[.findings[] | select(.id == "straggler") | .finding]
            | any(.[]; test("^Rank 2 .*host launches late"))
            and any(.[]; test("^Rank 1 .*kernels take longer.*mostly gemm_kernel"))' findings.json || return 0
    done
    fail "the ranks are not among the findings: $(cat findings.json)"
}
