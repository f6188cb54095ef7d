# gputrace report on jobs that make_job makes: what it plants is found, and not where it plants nothing.

load common

make_job() { # OPTION... DIRECTORY
    "$build/make_job" "$@" >/dev/null
}

# --- columns ---

@test "job: rows are sorted and shown by columns that only tables of a job have" {
    make_job -n 4 -s 3 -k 2:0.3 job
    "$gputrace" report -r kernels -f json --sort=most job/rank*.pftrace |
        jq -e '.kernels | length > 3 and any(.[]; .most_rank == 2) and (map(.most_ns) | . == (sort | reverse))'
    "$gputrace" report -r kernels --columns=most_rank,name job/rank*.pftrace >rows
    run -0 head -2 rows
    assert_line --regexp '^ *on rank  Name$'
    "$gputrace" report -r ranks -f json --sort=compute job/rank*.pftrace | jq -e '.ranks[0].rank == 2'
}

@test "job: a column that its tables do not have is refused with the list of those they have" {
    make_job -n 2 -s 2 job
    run -1 "$gputrace" report -r kernels --sort=stddev job/rank0.pftrace job/rank1.pftrace
    assert_output --partial "no column 'stddev' to sort by: these sections have total, count, ranks, mean"
    run -2 "$gputrace" report -r kernels,overview --sort=nothing job/rank0.pftrace job/rank1.pftrace
    run -2 "$gputrace" report -r kernels --sort=mean job/rank0.pftrace # one trace is not a job
    assert_output --partial "no column 'mean' to sort by: these sections have time, total, calls, avg"
}

# --- filters ---

@test "job: warnings are the same in each run and for each number of threads, in the order of the files" {
    make_job -n 8 -H 2 -s 12 -t 2 job
    for i in 0 2 3 4 6 7; do
        echo "gputrace: warning: no thread 4001 in 'job/rank$i.pftrace': it has thread $((4000 + i % 4))"
    done >expected
    for run in {1..5}; do
        "$gputrace" report --thread=4001 job 2>&1 >printed | diff expected -
        cp printed "printed$run"
        cmp printed printed1
    done
    taskset -c 0 "$gputrace" report --thread=4001 job 2>&1 >printed | diff expected -
    cmp printed printed1
    # Of the first file there are warnings, too.
    head -c 3000 job/rank0.pftrace >cut
    mv cut job/rank0.pftrace
    run -0 --separate-stderr "$gputrace" report job
    [[ $stderr =~ ^"gputrace: warning: 'job/rank0.pftrace' is cut off at byte "[0-9]+": what follows the last complete packet is left out"$ ]]
}

@test "job: an error or a warning about several traces is not printed twice" {
    make_job -n 2 -s 2 job
    run -1 "$gputrace" report --step=9 job
    assert_output "gputrace: 'job/rank0.pftrace' has no step 9: its steps, step, are 1 to 2
gputrace: 'job/rank1.pftrace' has no step 9: its steps, step, are 1 to 2"
    # These are no job, and have a report each.
    head -c 3000 job/rank0.pftrace >job/rank2.pftrace
    "$gputrace" report job 2>&1 >printed | grep -c 'is cut off' | grep -x 1
}

@test "job: what is selected is said in the first line, the overview and the page, of traces and of parts" {
    make_job -n 4 -H 2 -s 6 job
    "$gputrace" report --thread=4001 job >printed 2>warned
    head -1 printed | grep -E '^4 ranks on 2 hosts · [0-9.]+ ms · 6 steps of [0-9.]+ ms · only --thread=4001$'
    grep -qx 'Where a step goes (time)' printed
    "$gputrace" report -r overview -f json --thread=4001 job 2>/dev/null | jq -e '.overview | map(select(.name == "Part").value) == ["--thread=4001"]'
    "$gputrace" report --html=page.html --thread=4001 job 2>/dev/null
    grep -q 'only --thread=4001' page.html
    for rank in 1 3; do
        "$gputrace" report --partial --thread=4001 -o rank$rank.gpr job/rank$rank.pftrace
    done
    "$gputrace" report rank1.gpr rank3.gpr | head -1 | grep -F ' · only --thread=4001'
    "$gputrace" report --partial -o rank1.gpr job/rank1.pftrace
    "$gputrace" report rank1.gpr rank3.gpr | head -1 | grep -F ' · only parts that differ'
    "$gputrace" report job | head -1 | grep -vF only
}

@test "job: traces of ranks are one job, though a filter leaves nothing of some" {
    "$root/tests/cli/ranks_trace" ranks=4 steps=6 rank%r.json
    for option in --thread=1001 --process=1001; do
        "$gputrace" report "$option" rank?.json >printed 2>warned
        head -1 printed | grep -E "^4 ranks on 1 host · .* · 6 steps of [0-9]+ µs · only $option\$"
        assert_equal "$(wc -l <warned)" 3
    done
}

# --- sections of ranks ---

@test "job: of a section that only its ranks have, a line says how to see it for the rank of the finding" {
    make_job -n 4 -s 8 -x 2:3 job
    "$gputrace" report job >all
    grep -E ' more: -r crashes --rank=2$' all
    grep -E ' more: -r hang$' all
    "$gputrace" report -r crashes,steps job >lines
    printf "Section '%s' is of one rank: gputrace report -r %s --rank=%s job/rank%s.pftrace\n" \
        crashes crashes 2 2 steps steps 0 0 | sort | diff - <(sort lines)
    "$gputrace" report -r crashes --rank=2 job | grep -F 'thread 4002'
    "$gputrace" report -r crashes -f json job 2>said | jq -e '.trace == "job"'
    grep -F 'report -r crashes --rank=2 job/rank2.pftrace' said
    "$gputrace" report -r findings -f json job | jq -e 'any(.findings[]; .section == "crashes")'
}

# --- hangs ---

@test "job: ranks that hang are the first finding, in the report of all traces and of one" {
    make_job -n 4 -s 8 -x 2:3 job
    run -0 "$gputrace" report -r findings -f json job/rank*.pftrace
    run -0 jq -r '.findings[0] | .id, .finding, .advice' <<<"$output"
    assert_line --index 0 hang
    assert_line --index 1 --regexp '^The job hangs since [0-9.]+ ms: ranks 0, 1 and 3 wait in .*; rank 2 never entered it: '
    assert_line --index 2 'See why rank 2 ended; the others wait for it.'
    run -3 "$gputrace" report -r findings --fail-on=hang job/rank*.pftrace
    run -3 "$gputrace" report -r findings --fail-on=hang job/rank0.pftrace
    assert_line --index 1 --partial '1. The job hangs since '
    # All were killed at the end; rank 2 died long before.
    run -0 "$gputrace" report -r findings -f json job/rank*.pftrace
    jq -e '.findings[] | select(.id == "crashed") | .rank == 2 and (.finding | test("of rank 2, which died first; found on 4 of 4 ranks"))' <<<"$output"
    make_job -n 4 -s 8 -x 2:3 -w all
    run -0 "$gputrace" report -r findings -f json all/node0.pftrace
    jq -e '.findings[] | select(.id == "crashed") | .finding | test("^Process 4002 ended .*, and others after it")' <<<"$output"
    make_job -n 4 -s 8 well
    run -0 "$gputrace" report -r findings --fail-on=hang,crashed well/rank*.pftrace
}

# --- slow links ---

stragglers() { # what the report of the job says about ranks and links, one a line
    "$gputrace" report -r findings -f json job/*.pftrace | jq -r '.findings[] | select(.id == "straggler") | .finding'
}

@test "job: a host whose link is three times slower is named in 20 of 20 jobs, and none in 20 of 20 without it" {
    local layouts=("-n 8 -H 4 -p 4" "-n 16 -H 8 -t 2 -p 2" "-n 5 -H 5 -p 5 -c")
    for seed in {1..20}; do
        # shellcheck disable=SC2086 # options
        make_job ${layouts[seed % 3]} -s 8 -S "$seed" -L 1:3 job
        stragglers >found
        [ "$(wc -l <found)" -eq 1 ] || fail "seed $seed: $(cat found)"
        grep -E '^The link of (host node1 |rank 1 ).*runs at 1[0-9]\.[0-9] GB/s with it and at [34][0-9]\.[0-9] GB/s without it' found
        rm -r job
        # shellcheck disable=SC2086
        make_job ${layouts[seed % 3]} -s 8 -S "$seed" job
        stragglers >found
        [ ! -s found ] || fail "seed $seed: $(cat found)"
        rm -r job
    done
}

@test "job: nothing is said about links where it cannot be known whose is slow" {
    make_job -n 8 -H 2 -s 8 -L 1:3 job # every communicator has all ranks
    stragglers | diff /dev/null -
    rm -r job
    make_job -n 2 -H 2 -p 2 -s 8 -L 1:3 job # both are in all of them
    stragglers | diff /dev/null -
}

@test "merge: of a merged trace the same is said about links as of the job" {
    make_job -n 8 -H 4 -p 4 -s 8 -L 1:3 job
    "$gputrace" merge -q -o job.json job/rank*.pftrace
    "$gputrace" report -r findings job.json | grep -F 'The link of host node1 (2 of its ranks, such as rank 2) is slow'
}

@test "job: a rank that is late for itself and a slow link are both named" {
    make_job -n 8 -H 4 -p 4 -s 8 -L 2:3 -l 1:5 job
    stragglers >found
    [ "$(wc -l <found)" -eq 2 ]
    grep '^The link of host node2 ' found
    # Its delay goes through the pipeline, where rank 7 is the first that others of its stage wait for.
    grep '^Rank 1 makes the others wait .*: its host launches late' found
}

# --- stages of pipelines ---

stages() { # JQ-EXPRESSION...: of the rows
    "$gputrace" report -r stages -f json job/*.pftrace >stages.json
    jq -e "$@" stages.json
}

imbalance() { # how often it is found
    "$gputrace" report -r findings -f json job/*.pftrace >findings.json
    jq '[.findings[] | select(.id == "pipeline-imbalance")] | length' findings.json
}

@test "stages: ranks, computation and waiting of each, and what balancing would gain" {
    make_job -n 8 -p 4 -m 4 -s 8 -k 2:0.5 -k 3:0.5 job
    stages '.stages | map(.stage) == [0, 1, 2, 3] and map(.ranks) == ["0, 1", "2, 3", "4, 5", "6, 7"]'
    # Kernels of stage 1 take half as long again.
    stages '.stages | .[1].compute_ns as $most | (.[2].compute_ns * 1.5 - $most | fabs) < 0.02 * $most'
    # Three of four microbatches wait for it.
    stages '.stages | ((map(.compute_ns) | max - add / 4) * 3 / 4 - .[1].gain_ns | fabs) < 10'
    stages '.stages | map(.gain_ns != null) == [false, true, false, false]'
    # What a stage does not compute it waits, but for transfers and the host.
    stages 'all(.stages[]; .compute_ns + .neighbours_ns < .step_ns and .compute_ns + .neighbours_ns > 0.85 * .step_ns and
        (.bubble_percent * .step_ns / 100 - .neighbours_ns | fabs) < 100000)'
    [ "$(imbalance)" -eq 1 ]
    jq -re '.findings[] | select(.id == "pipeline-imbalance") | .finding' findings.json |
        grep -E '^Stage 1 of the pipeline \(ranks 2, 3\) computes 23(\.[0-9])? ms in a step, the 4 stages 17(\.[0-9])? ms on average: balanced, a step of 35(\.[0-9])? ms would be 4\.[0-9]* ms shorter'
    jq -e '.findings[] | select(.id == "pipeline-imbalance") | .rank == 2 and .ranks == 2 and .section == "stages"' findings.json
}

@test "stages: balanced ones have no finding" {
    for seed in 1 2 3; do
        make_job -n 8 -p 4 -m 4 -s 8 -S "$seed" job
        stages '.stages | length == 4'
        [ "$(imbalance)" -eq 0 ]
    done
    # Of one microbatch the stages run one after another: nothing is gained.
    make_job -n 8 -p 4 -s 8 -k 2:0.5 -k 3:0.5 job
    stages '.stages | length == 4 and all(.[]; .gain_ns == null)'
    [ "$(imbalance)" -eq 0 ]
}

@test "stages: of a merged trace and of parts they are those of the job; without a pipeline there are none" {
    make_job -n 8 -H 2 -t 2 -p 2 -m 2 -s 8 -k 4:0.5 -k 5:0.5 -k 6:0.5 -k 7:0.5 job
    stages '.stages | map(.ranks) == ["0 to 3", "4 to 7"]'
    for rank in {0..7}; do
        "$gputrace" report --partial -o job/rank"$rank".gpr job/rank"$rank".pftrace
    done
    "$gputrace" report -r stages -f json job/*.gpr | diff stages.json -
    "$gputrace" merge -q -o job.json job/*.pftrace
    "$gputrace" report -r stages,findings -f json job.json >merged.json
    jq -e --slurpfile job stages.json '[(.stages | map(.compute_ns)), ($job[0].stages | map(.compute_ns))] | transpose | all(.[]; .[0] / .[1] - 1 | fabs < 1e-3)' merged.json
    jq -e 'any(.findings[]; .id == "pipeline-imbalance" and (.finding | test("^Stage 1 of the pipeline \\(ranks 4 to 7\\)")))' merged.json
    rm -r job
    make_job -n 8 -t 2 -s 4 job
    stages '.stages == []'
    "$gputrace" report job/*.pftrace >usual
    ! grep -F '(stages)' usual
}
