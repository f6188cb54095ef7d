# gputrace report of jobs in which ranks, groups of ranks or a link are planted as slow: the first finding names these ranks
# and why. A rank that is late only because it waits for them is not named.

load common

# A row: OPTIONS of make_job | how the first finding begins | and what it says further. Ranks of a tensor parallel group follow
# one another; with -p 2 the second half of the ranks is the second stage.
jobs() {
    cat <<'END'
-n 2 -l 0:5                               | Rank 0 makes the others wait     | its host launches late
-n 4 -l 1:4                               | Rank 1 makes the others wait     | its host launches late
-n 8 -l 5:3                               | Rank 5 makes the others wait     | its host launches late
-n 8 -H 4 -l 2:5 -c                       | Rank 2 makes the others wait     | its host launches late
-n 8 -t 4 -l 2:4                          | Rank 2 makes the others wait     | its host launches late
-n 16 -H 2 -t 2 -l 9:8                    | Rank 9 makes the others wait     | its host launches late
-n 16 -H 2 -t 2 -l 8:4 -c                 | Rank 8 makes the others wait     | its host launches late
-n 8 -p 2 -m 4 -l 6:8                     | Rank 6 works longer than the others, by 7.5 of .* of which these wait 1\.[0-9]* ms: | its host launches late
-n 16 -H 2 -t 2 -p 2 -m 4 -l 1:5 -c       | Rank 1 makes the others wait     | its host launches late
-n 16 -H 2 -t 2 -p 2 -m 4 -l 9:5 -c       | Rank 9 works longer than the others, by 4\.[0-9]* of .* of which these wait [0-9]* µs: | its host launches late
-n 8 -l 4-7:4                             | Ranks 4 to 7 make the others wait | their host launches late
-n 8 -t 2 -l 2-3:4 -w                     | Ranks 2, 3 make the others wait  | their host launches late
-n 16 -H 4 -t 2 -l 4-7:4 -c               | Ranks 4 to 7 make the others wait | their host launches late
-n 8 -p 4 -l 0-1:5                        | Ranks 0, 1 make the others wait  | their host launches late
-n 4 -k 2:0.25                            | Rank 2 makes the others wait     | its kernels take longer
-n 8 -t 2 -k 3:0.2                        | Rank 3 makes the others wait     | its kernels take longer
-n 8 -H 2 -k 6:0.3 -c                     | Rank 6 makes the others wait     | its kernels take longer
-n 8 -p 2 -m 4 -k 5:0.3                   | Rank 5 makes the others wait     | its kernels take longer
-n 8 -p 4 -m 4 -k 1:0.4                   | Rank 1 makes the others wait     | its kernels take longer
-n 16 -H 2 -t 2 -p 2 -m 2 -k 10:0.4 -c    | Rank 10 makes the others wait    | its kernels take longer
-n 8 -k 0-1:0.25                          | Ranks 0, 1 make the others wait  | their kernels take longer
-n 8 -t 2 -k 4-5:0.3 -w                   | Ranks 4, 5 make the others wait  | their kernels take longer
-n 16 -H 4 -t 2 -k 12-15:0.3 -c           | Ranks 12 to 15 make the others wait | their kernels take longer
-n 8 -p 4 -m 4 -k 2-3:0.4                 | Stage 1 of the pipeline .ranks 2, 3. computes | balanced, a step of
-n 4 -C 3:4                               | Rank 3 makes the others wait     | its copies take longer
-n 8 -t 2 -C 6:3                          | Rank 6 makes the others wait     | its copies take longer
-n 8 -p 2 -m 2 -C 3:6                     | Rank 3 makes the others wait     | its copies take longer
-n 16 -H 2 -t 2 -C 11:5 -c                | Rank 11 makes the others wait    | its copies take longer
-n 8 -C 4-5:4 -w                          | Ranks 4, 5 make the others wait  | their copies take longer
-n 16 -H 4 -t 2 -C 8-11:4 -c              | Ranks 8 to 11 make the others wait | their copies take longer
-n 4 -d 0:4                               | Rank 0 makes the others wait     | its DataLoader is late
-n 8 -t 4 -d 0:4 -w                       | Rank 0 makes the others wait     | its DataLoader is late
-n 16 -H 2 -t 2 -d 14:5 -c                | Rank 14 makes the others wait    | its DataLoader is late
-n 8 -p 2 -m 4 -d 2:8                     | Rank 2 makes the others wait     | its DataLoader is late
-n 8 -H 2 -d 4-7:4 -c                     | Ranks 4 to 7 make the others wait | their DataLoader is late
-n 8 -p 4 -d 6-7:7                        | Ranks 6, 7 make the others wait  | their DataLoader is late
-n 8 -H 4 -p 4 -L 1:3                     | The link of host node1           | such as rank 2. is slow
-n 8 -H 4 -p 4 -L 2:4 -c                  | The link of host node2           | such as rank 4. is slow
-n 16 -H 8 -t 2 -p 2 -L 1:3               | The link of host node1           | such as rank 2. is slow
-n 5 -H 5 -p 5 -L 1:3 -c                  | The link of rank 1               | is slow
END
}

# Writes the findings of the job of OPTIONS to ./findings.json.
findings_of() { # OPTION...
    rm -rf job
    "$build/make_job" -s 12 "$@" job >/dev/null
    "$gputrace" report -r findings -f json job/*.pftrace >findings.json
}

# bats test_tags=long
@test "job: of 40 planted jobs the first finding names the ranks that are at fault, and why" {
    local count=0 options begins says first
    while IFS='|' read -r options begins says; do
        count=$((count + 1))
        # shellcheck disable=SC2086 # options
        findings_of $options -S "$count"
        first=$(jq -r '.findings[0].finding' findings.json)
        # shellcheck disable=SC2086 # without the blanks around it
        grep -q "^$(echo $begins).*$(echo $says)" <<<"$first" || fail "$options: $first"
        # Nobody else is said to be late.
        jq -e '[.findings[] | select(.id == "straggler")] | length <= 1' findings.json || fail "$options: $(cat findings.json)"
    done < <(jobs)
    assert_equal "$count" 40
}

@test "job: waiting for a late rank is its cost, and what is left is exposed communication" {
    findings_of -n 16 -H 2 -t 2 -l 9:8
    # 8 ms in each of 12 steps; the first operation of each communicator does not count.
    jq -e '.findings | map(.id) == ["straggler", "exposed-communication"] and
        (.[0] | .rank == 9 and .ranks == 1 and .time_ns > 82e6 and .time_ns < 96e6 and .gain_ns == .time_ns) and
        (.[1].finding | test("^Communication that nothing hides takes 2\\.[0-9]* of 2[0-9.]* ms of a step, once late ranks"))' findings.json
    jq '.findings[1].time_ns' findings.json >left
    "$build/make_job" -n 16 -H 2 -t 2 -s 12 fair >/dev/null
    "$gputrace" report -r findings -f json fair/*.pftrace | jq -e --slurpfile left left '.findings[0] |
        .id == "exposed-communication" and $left[0] - .time_ns < 16e6 and $left[0] - .time_ns > -2e6'
    run -3 "$gputrace" report --fail-on=straggler job
    run -3 "$gputrace" report --fail-on=exposed-communication job
    "$gputrace" report --fail-on=host-work job >/dev/null # it is a part of the straggler
}

@test "job: what a late rank would wait for another stage anyway is no gain" {
    findings_of -n 4 -p 2 -m 4 -l 3:4.5
    # Without the 4.5 ms of each step the job is not even 2 ms shorter.
    "$build/make_job" -n 4 -p 2 -m 4 -s 12 fair >/dev/null
    jq -s '.[0].end_ns - .[1].end_ns' job/truth.json fair/truth.json >shorter
    jq -e --slurpfile shorter shorter '.findings[0] | .id == "straggler" and .time_ns > 45e6 and
        .gain_ns > $shorter[0] and .gain_ns < $shorter[0] * 1.5' findings.json
}

@test "job: what the host of a late rank does is a part of the finding, with its advice and place" {
    findings_of -n 8 -d 3:4
    jq -e '.findings | map(.id) == ["straggler"] and (.[0] | .advice | test("DataLoader\\(num_workers=4"))
        and (.[0].where | test("range enumerate\\(DataLoader\\).*, GPU 3, on node0"))' findings.json
    # The same in one trace of all ranks.
    "$build/make_job" -n 8 -d 3:4 -s 12 -w one >/dev/null
    "$gputrace" report -r findings -f json one/node0.pftrace |
        jq -e '.findings | map(.id) == ["straggler"] and (.[0].advice | test("DataLoader\\(num_workers=4"))'
}

@test "job: where no samples say what the host does, the lines before and after it are named" {
    "$root/tests/cli/ranks_trace" noise=0 steps=20 ranks=2 sleep=1:5000000 rank%r.json
    # The copy is launched by line 31, the kernel after the 5 ms by line 27.
    for rank in 0 1; do
        jq '.stackFrames = {"1": {"name": "train", "file": "/w/train.py", "line": 20, "category": "python"},
                "2": {"name": "load", "file": "/w/train.py", "line": 31, "category": "python", "parent": 1},
                "3": {"name": "forward", "file": "/w/train.py", "line": 27, "category": "python", "parent": 1}}
            | .traceEvents |= map(if .name == "gemm" then .args.stack = 3 elif .cat == "gpu_memcpy" then .args.stack = 2 else . end)' \
            rank$rank.json >lines$rank.json
        "$gputrace" report --partial -o lines$rank.gpr lines$rank.json
    done
    "$gputrace" merge -q -o merged.json lines0.json lines1.json
    for job in 'lines0.json lines1.json' 'lines0.gpr lines1.gpr' merged.json; do
        # shellcheck disable=SC2086 # files
        "$gputrace" report -r findings -f json $job | jq -e '.findings[0] | .id == "straggler" and
            (.finding | test("^Rank 1 makes the others wait .*: its host launches late, the GPU waits 5\\.[0-9]* ms of a step .*" +
                "host outside CUDA, mostly between load \\(train.py:31\\) and forward \\(train.py:27\\)"))
            and (.where | test("^forward \\(train.py:27\\)"))'
    done
    # Without stacks the operations are.
    "$gputrace" report -r findings -f json rank0.json rank1.json |
        jq -e '.findings[0].finding | test("mostly between Memcpy HtoD \\(Pinned -> Device\\) and gemm")'
    # Their names are pretty, as those of tables.
    for rank in 0 1; do
        jq '.traceEvents |= map(if .name == "gemm" then .name = "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float> >(int)" else . end)' \
            rank$rank.json >full$rank.json
    done
    "$gputrace" report -r findings -f json full0.json full1.json |
        jq -e '.findings[0].finding | test("mostly between Memcpy HtoD \\(Pinned -> Device\\) and reduce<")'
}
