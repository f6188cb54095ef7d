#!/usr/bin/env bats
# gputrace diff: what changed between traces, how sure that is, what explains the difference, and exit statuses for CI.

load common

data=$root/tests/data
kineto=$data/kineto/kineto-train-h200.json.gz
small=$data/report/small.json

# A trace of a program on a GPU. Durations vary by some per cent within a run, and by 0.3 % from run to run, by SEED.
# The words after it change the program: gemm=1.2 (each launch takes longer), launches=60 (of gemm), extra=softmax (one
# more kernel), call=2 (each call takes longer), all=1.02 (all kernels do), gap=500 (µs of the host before each launch of gemm),
# reduce=1.02 (each launch of that kernel takes longer).
make_trace() { # FILE SEED [WORD=VALUE...]
    local file=$1 seed=$2
    shift 2
    awk -v seed="$seed" -v words="$*" '
        # The numbers of rand() differ between implementations, and some ignore the seed.
        function uniform() { return (state = state * 16807 % 2147483647) / 2147483647 }
        function noise(deviation) { return 1 + deviation * (uniform() + uniform() + uniform() + uniform() - 2) * 1.7 }
        function slice(category, name, pid, tid, start, duration, args) {
            printf "%s{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":%d,\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f,\"args\":{%s}}\n",
                separator, category, name, pid, tid, start, duration, args
            separator = ","
        }
        function launch(name, typical, wait) {
            host += wait
            number++
            slice("cuda_runtime", "cudaLaunchKernel", 42, 42, host, busy = 4 * busy_host * call * noise(0.1), "\"correlation\":" number)
            host += busy + 1
            gpu = gpu > host ? gpu : host
            slice("kernel", name, 0, 7, gpu, took = typical * clock * all * noise(0.02),
                "\"device\":0,\"context\":1,\"stream\":7,\"correlation\":" number)
            gpu += took + 0.5
        }
        BEGIN {
            gemm = reduce = call = all = 1; launches = 50; gap = 0; extra = ""
            for (n = split(words, list, " "); n > 0; n--) {
                split(list[n], pair, "=")
                if (pair[1] == "gemm") gemm = pair[2]
                if (pair[1] == "reduce") reduce = pair[2]
                if (pair[1] == "launches") launches = pair[2]
                if (pair[1] == "extra") extra = pair[2]
                if (pair[1] == "call") call = pair[2]
                if (pair[1] == "all") all = pair[2]
                if (pair[1] == "gap") gap = pair[2]
            }
            state = 48271 * seed; uniform(); uniform()
            clock = noise(0.003); busy_host = noise(0.03)
            print "{\"deviceProperties\":[{\"id\":0,\"name\":\"GPU A\"}],\"traceEvents\":["
            for (i = 0; i < 60; i++) {
                launch("scale(float*)", 20, 0)
                launch("reduce<float, 256>(float const*)", 31 * reduce, 0)
                launch("softmax<4>(float*)", 12, 0)
                if (i < launches) launch("gemm(float*, int)", 200 * gemm, gap)
                if (extra != "") launch(extra, 80, 0)
            }
            print "]}"
        }' >"$file"
}

# Traces a1.json … of the program as it was, and b1.json …, which has the words that follow.
make_sets() { # COUNT [WORD=VALUE...]
    local count=$1 i
    shift
    before=() after=()
    for ((i = 1; i <= count; i++)); do
        make_trace "a$i.json" "$i"
        make_trace "b$i.json" "$((i + 100))" "$@"
        before+=("a$i.json")
        after+=("b$i.json")
    done
}

diff_sets() { # OPTION...
    "$gputrace" diff "$@" --before "${before[@]}" --after "${after[@]}"
}

# The rows of a comparison in json that are sure, as "section name: what".
sure_rows() {
    jq -r '. as $all | keys_unsorted[] as $section | select($all[$section] | type == "array") | $all[$section][]
        | select(type == "object" and .sure == "sure") | "\($section) \(.name): \(.what)"'
}

@test "a trace compared with itself has not changed" {
    for trace in "$small" "$kineto"; do
        run -0 "$gputrace" diff "$trace" "$trace"
        assert_line --index 0 --partial ', as long as before ('
        assert_line --partial 'No change: parts, findings, time, idle, kernels, memtime,'
        refute_line --regexp '^(Kernels|API calls)'
    done
}

@test "the first line names the kernel that explains the difference, and how sure it is" {
    make_sets 3 gemm=1.3
    run -0 diff_sets
    assert_line --index 0 --regexp '^After takes 1[67]\.. ms, 2[12]\.[0-9] % longer than before \(1[34]\.. ms, sure\)$'
    assert_line --index 1 --regexp '^  \+(2\.9|3\.0). ms kernel gemm, (199|200|201) → 2[56][0-9] µs per launch \(\+(29|30|31) %, 50 launches, sure\)$'
    assert_line --partial 'GPU busy: '
    assert_line '3 traces before, 3 after. Changes of kernels by less than 10 % count only if the runs of a side agree.'
    diff_sets --format=json | sure_rows >sure
    echo 'kernels gemm(float*, int): slower' | diff - sure
}

@test "the times in which GPUs are busy and idle add up to that of the run, as means of the traces" {
    make_sets 3 gap=40
    diff_sets --format=json | jq -e 'def near($b): . - $b | . < 1 and . > -1;
        (.gpu_busy.before_ns + .gpu_idle.before_ns | near($all.total.before_ns)) and
        (.gpu_busy.after_ns + .gpu_idle.after_ns | near($all.total.after_ns))' --argjson all "$(diff_sets --format=json)"
}

@test "equal runs have no sure difference" {
    make_sets 3
    diff_sets --format=json | sure_rows >sure
    diff /dev/null sure
    run -0 diff_sets
    assert_line --index 0 --regexp '(as long as before|before \([^)]*, not sure\))'
}

@test "a kernel that is 2 % slower is found with five traces on each side, and not called sure with one" {
    make_sets 5 gemm=1.02
    diff_sets --format=json | sure_rows >sure
    echo 'kernels gemm(float*, int): slower' | diff - sure
    "$gputrace" diff --format=json a1.json b1.json | sure_rows >sure
    diff /dev/null sure
    run -0 "$gputrace" diff a1.json b1.json
    assert_line --partial '1 trace before, 1 after. Changes of kernels by less than 10 % cannot be told from chance: '
}

@test "one trace on each side shows large changes of kernels" {
    make_sets 1 gemm=0.8
    diff_sets --format=json >out.json
    [ "$(sure_rows <out.json)" = 'kernels gemm(float*, int): faster' ]
    jq -e '.kernels[] | select(.sure == "sure") | .change_percent > -21.5 and .change_percent < -18.5
        and .margin_percent > 10 and .margin_percent < 15 and .p < 0.001' out.json
}

@test "with one or two traces on each side, a change that placement of memory may explain is not sure" {
    for count in 1 2; do
        make_sets "$count" gemm=1.08
        diff_sets --format=json | sure_rows >sure
        diff /dev/null sure
        make_sets "$count" gemm=1.2
        diff_sets --format=json | sure_rows >sure
        echo 'kernels gemm(float*, int): slower' | diff - sure
    done
    make_sets 3 gemm=1.08 # the runs of each side agree
    diff_sets --format=json | sure_rows >sure
    echo 'kernels gemm(float*, int): slower' | diff - sure
}

# As make_sets, but reduce takes 7 % longer in every fourth trace, and FACTOR times as long after.
make_modes() { # COUNT FACTOR
    local count=$1 factor=$2 i mode
    before=() after=()
    for ((i = 1; i <= count; i++)); do
        mode=$((i % 4 == 0 ? 107 : 100))
        make_trace "a$i.json" "$i" "reduce=$(awk "BEGIN { print $mode / 100 }")"
        make_trace "b$i.json" "$((i + 100))" "reduce=$(awk "BEGIN { print $mode / 100 * $factor }")"
        before+=("a$i.json")
        after+=("b$i.json")
    done
}

@test "a kernel with two modes that is 2 % slower is found with twelve traces on each side" {
    make_modes 12 1.02
    diff_sets --format=json >out.json
    [ "$(sure_rows <out.json)" = 'kernels reduce<float, 256>(float const*): slower' ]
    jq -e '.kernels[] | select(.sure == "sure") | .change_percent > 1.4 and .change_percent < 2.6
        and ((.each_after_ns / .each_before_ns - 1) * 100 - .change_percent | fabs) < 0.01' out.json
    make_modes 12 1
    diff_sets --format=json | sure_rows >sure
    diff /dev/null sure
}

@test "a line says how many traces a kernel with two modes needs" {
    make_modes 4 1.02
    run -0 diff_sets --names=full --width=200
    assert_line --regexp '^Runs of kernel reduce<float, 256>\(float const\*\) have two modes [67]\.[0-9] % apart: (9|1[0-2]) traces on each side show a change of 2 %\.$'
    diff_sets --format=json | jq -e '.notes[] | select(contains("have two modes"))'
    make_sets 4
    run -0 diff_sets
    refute_line --partial 'have two modes'
}

@test "one outlier in a trace is not a change" {
    make_trace a.json 1
    make_trace b.json 2
    # a launch of gemm and the first call take a hundred times as long
    jq -c '(first(.traceEvents[] | select(.name | startswith("gemm"))) | .dur) *= 100 | .traceEvents[0].dur *= 100' b.json >c.json
    "$gputrace" diff --format=json a.json c.json | sure_rows >sure
    diff /dev/null sure
}

@test "a kernel that is new, one that is gone, and one that is launched more often" {
    make_sets 2 extra=copy_tiles launches=60
    diff_sets --format=json >out.json
    sure_rows <out.json | sort >sure
    printf '%s\n' 'kernels copy_tiles: appeared' 'kernels gemm(float*, int): more' | diff - <(grep kernels sure)
    jq -e '.kernels[] | select(.name == "gemm(float*, int)") | .count_before == 50 and .count_after == 60' out.json
    "$gputrace" diff --format=json --before "${after[@]}" --after "${before[@]}" | sure_rows | sort >sure
    printf '%s\n' 'kernels copy_tiles: vanished' 'kernels gemm(float*, int): fewer' | diff - <(grep kernels sure)
    run -0 diff_sets
    assert_line --index 1 --regexp '^  \+4\.[0-9]+ ms kernel copy_tiles, which is new \(4\.[0-9]+ ms, 60 launches, sure\)$'
}

@test "a kernel that only one of three traces has is not sure" {
    make_sets 3
    make_trace b2.json 7 extra=copy_tiles
    diff_sets --format=json >out.json
    jq -e '.kernels[] | select(.name == "copy_tiles") | .what == "appeared" and .sure == "not sure"' out.json
}

@test "the parts add up to the difference of the whole" {
    make_sets 3 gemm=1.1 gap=100
    for traces in "${before[*]} --after ${after[*]}" "$small --after $kineto" "$kineto --after $small"; do
        # shellcheck disable=SC2086 # several words
        "$gputrace" diff --format=json --before $traces >out.json
        jq -e '(.parts | map(.difference_ns) | add) as $sum | (.parts | map(.before_ns) | add) as $before
            | .total | ($sum - (.after_ns - .before_ns) | fabs) < 1e-3 * .before_ns and ($before - .before_ns | fabs) < 1e-3 * .before_ns' out.json
    done
    "$gputrace" diff --format=json a1.json b1.json |
        jq -e '.total as $total | .parts | ((map(.difference_ns) | add) - ($total.after_ns - $total.before_ns) | fabs) < 1'
}

@test "idle time is a part of its own" {
    make_sets 3 gap=300
    run -0 diff_sets
    assert_line --index 1 --regexp '^  \+2\.[0-9]+ ms GPU idle: waiting for launches, which is new \(2\.[0-9]+ ms, sure\)$'
    diff_sets --format=json >out.json
    jq -e '.idle[] | select(.name == "waiting for launches") | .what == "appeared" and .sure == "sure"' out.json
    jq -e 'all(.parts[]; .kind != "GPU idle")' out.json # all idle time has a cause
    run -3 diff_sets --fail-on='idle:outside>20%' --fail-on='idle>20%'
}

@test "what host calls take is not sure with one trace on each side" {
    make_sets 1 call=12
    diff_sets --format=json >out.json
    jq -e '.api[] | select(.name == "cudaLaunchKernel") | .what == "slower" and .sure == "likely"' out.json
    make_sets 4 call=3
    diff_sets --format=json >out.json
    jq -e '.api[] | select(.name == "cudaLaunchKernel") | .what == "slower" and .sure == "sure"' out.json
}

@test "a change that all kernels share is said to be the clock's" {
    make_sets 3 all=1.04
    run -0 diff_sets
    assert_line --regexp "^Nearly all kernels take [34]\.[0-9] % longer: the GPU's clock may have been another\.\$"
    make_sets 3 gemm=1.3
    run -0 diff_sets
    refute_output --partial 'Nearly all kernels'
}

@test "--fail-on: 3 if the condition is met, else 0" {
    make_sets 4 gemm=1.1
    for condition in 'total>3%' 'total>500us' 'gpu>3%' 'gpu>0.5ms' 'kernel:gemm>5%' 'kernel:gemm(float*, int)>5%' 'kernel:gemm' \
        'kernel>5%' 'kernel:gemm>10us'; do
        run -3 diff_sets --fail-on="$condition"
        assert_line --partial "$condition: met: "
    done
    for condition in 'total>20%' 'total>1s' 'gpu>20%' 'kernel:gemm>12%' 'kernel:scale>1%' 'kernel:gemm>30us' 'kernel>15%' \
        'memory>1MiB' 'error'; do
        run -0 diff_sets --fail-on "$condition"
        assert_line --partial "$condition: not met"
    done
    run -3 diff_sets --fail-on 'total>20%' --fail-on 'gpu>3%'
    run -0 "$gputrace" diff --fail-on 'total>3%' --before "${after[@]}" --after "${before[@]}"
}

@test "--fail-on: what is not sure counts with --any only" {
    make_sets 1 gemm=1.1
    run -0 diff_sets --fail-on='total>3%'
    assert_line --partial 'total>3%: not sure, so not met: '
    run -3 diff_sets --fail-on='total>3%' --any
    run -0 diff_sets --fail-on='total>20%' --any
}

@test "--fail-on: a row that is new has grown" {
    make_sets 2 extra=copy_tiles
    run -3 diff_sets --fail-on='kernel:copy_tiles>50%'
    run -3 diff_sets --fail-on='kernel>50%'
    run -0 "$gputrace" diff --fail-on 'kernel:copy_tiles>50%' --before "${after[@]}" --after "${before[@]}"
}

@test "--fail-on: names with > and : are understood" {
    make_sets 2 "extra=ns::k<int,std::less<int>>"
    run -3 diff_sets --fail-on='kernel:ns::k<int,std::less<int>>'
    run -3 diff_sets --fail-on='kernel:ns::k<int,std::less<int>>>1%'
    run -0 diff_sets --fail-on='kernel:reduce<float, 256>(float const*)>1%'
}

@test "--fail-on: what cannot be checked is an error" {
    make_sets 1
    run -2 diff_sets --fail-on 'kernl:gemm>3%'
    assert_output --partial "did you mean 'kernel'?"
    run -2 diff_sets --fail-on 'total>3'
    assert_output --partial 'does not end in a limit with its unit'
    run -2 diff_sets --fail-on 'weather>3%'
    assert_output --partial 'which is not one of total, gpu, idle, finding, time, kernel, '
    run -1 diff_sets --fail-on 'kernel:nothing>3%'
    assert_output --partial "no trace has a kernel 'nothing'"
}

@test "--fail-on: a limit in a unit that its quantity cannot have is an error that names its units" {
    local condition
    for condition in 'total>1MB' 'gpu>1KB' 'idle>1B' 'kernel:k>1 GiB' 'copy>1B' 'finding>1MB' 'idle:outside>1MB'; do
        run -2 "$gputrace" diff --fail-on="$condition" "$small" "$small"
        assert_output "gputrace: --fail-on: '$condition': a limit of '${condition%%[:>]*}' cannot have this unit: use %, s, ms, us or ns"
    done
    for condition in 'memory>1ns' 'size>1ns'; do
        run -2 "$gputrace" diff --fail-on="$condition" "$small" "$small"
        assert_output --partial "'${condition%>*}' cannot have this unit: use %, B, KiB, MiB, GiB, KB, MB or GB"
    done
    run -2 "$gputrace" diff --fail-on='error>1ms' "$small" "$small"
    assert_output "gputrace: --fail-on: 'error>1ms': a limit of 'error' cannot have this unit: use %"
    for condition in 'total>1ms' 'memory>1MB' 'size>1KiB' 'error>1%' 'finding>1s' 'copy>3%'; do
        run -0 "$gputrace" diff --fail-on="$condition" "$small" "$small"
    done
}

@test "a time in a unit of sizes is an error in every option that takes one" {
    local option status
    for option in report:--from report:--to report:--snapshot diff:--from diff:--to convert:--from cut:--to merge:--from \
        run:--delay run:--duration run:--flush-interval view:--timeout; do
        status=2
        [[ $option != run:* ]] || status=125
        run -$status "$gputrace" "${option%:*}" "${option#*:}=1MB" "$small"
        assert_output --partial "${option#*:}: '1MB' is not a "
        [[ $option == *:--@(from|to) ]] || run -$status "$gputrace" "${option%:*}" "${option#*:}=1%" "$small"
    done
}

@test "the peak of memory, and failed calls" {
    jq '(.traceEvents[] | select(.args.bytes?) | .args.bytes) *= 2' "$data/report/memory.json" >more.json
    "$gputrace" diff --format=json "$data/report/memory.json" more.json >out.json
    jq -e 'any(.memory[]; .what == "larger" and .change_percent > 50)' out.json
    run -3 "$gputrace" diff "$data/report/memory.json" more.json --fail-on 'memory>20%'
    run -0 "$gputrace" diff "$data/report/memory.json" "$data/report/memory.json" --fail-on 'memory'
    run -0 "$gputrace" diff "$kineto" "$data/report/errors.json" --format=json
    jq -e '.errors | length > 0 and all(.what == "appeared")' <<<"$output"
}

@test "a small cause of idle time that appears is not sure" {
    make_sets 3 gap=110
    diff_sets --format=json >out.json
    jq -e '.idle[] | select(.name == "waiting for launches") | .what == "appeared" and .sure == "not sure"' out.json
}

@test "operators and findings" {
    gzip -dc "$kineto" | jq -c '(.traceEvents[] | select(.cat == "kernel") | select(.name | test("Gelu")) | .dur) *= 3' >slow.json
    "$gputrace" diff --format=json "$kineto" slow.json >out.json
    jq -e '[.operators[] | select(.what == "larger") | .name] == ["aten::gelu_backward", "aten::gelu"]' out.json
    run -3 "$gputrace" diff --any "$kineto" slow.json --fail-on='operator:aten::gelu>50%'
    run -0 "$gputrace" diff --any "$kineto" slow.json --fail-on='operator:aten::mm>1%'
    # Five times as long: the GPU waits long enough for the host to be found.
    gzip -dc "$kineto" | jq -c '(.traceEvents[] | .ts, .dur | numbers) *= 5' >long.json
    local kineto=$PWD/long.json
    "$gputrace" diff --format=json --before "$small" "$small" --after "$kineto" "$kineto" >out.json
    jq -e '.findings[] | select(.name == "host-work") | .what == "appeared" and .sure == "sure"' out.json
    run -3 "$gputrace" diff --before "$small" "$small" --after "$kineto" "$kineto" --fail-on='finding:host-work'
    run -0 "$gputrace" diff --before "$kineto" "$kineto" --after "$small" "$small" --fail-on='finding:host-work'
    run -0 "$gputrace" diff "$small" "$small" --fail-on='finding:host-work'
}

@test "kernels can be compared by grid and block" {
    "$gputrace" diff -a -f json -r kernels --by-grid "$kineto" "$kineto" >by-grid.json
    "$gputrace" diff -a -f json -r kernels "$kineto" "$kineto" >by-name.json
    [ "$(jq '.kernels | length' by-name.json)" -eq "$("$gputrace" report -r kernels -f json "$kineto" | jq '.kernels | length')" ]
    [ "$(jq '.kernels | length' by-grid.json)" -eq "$("$gputrace" report -r kernels --by-grid -f json "$kineto" | jq '.kernels | length')" ]
}

@test "traces of all formats are compared: json, pftrace, compressed, spools, torch.profiler's" {
    mkdir spool
    gzip -dc "$data/h200/vector_add.spool.gz" >spool/1-0.spool
    cp "$data/h200/vector_add.session.json" spool/session.json
    local names=(spool)
    for name in one.json one.json.gz one.pftrace one.pftrace.gz; do
        run -0 "$gputrace" convert spool "$name"
        names+=("$name")
    done
    gzip -dc "$kineto" >kineto.json
    for name in "${names[@]}"; do
        "$gputrace" diff -a -f json one.json "$name" >out.json
        jq -e '(.kernels | length > 0) and ([.kernels[], .api[], .memtime[] | .what] | unique == [""])' out.json
        run -0 "$gputrace" diff "$kineto" "$name"
        assert_line --index 0 --regexp '^After takes .* than before'
    done
    run -0 "$gputrace" diff "$kineto" kineto.json
    assert_line --partial 'No change: parts, findings, time, idle, kernels,'
    run -0 "$gputrace" diff kineto.json - <"$kineto"
    assert_line --partial 'No change: parts, findings, time, idle, kernels,'
}

@test "what --trace left out of a trace is not compared, and named" {
    need_simulated
    "$gputrace" run -q -o all.json "$samples/vector_add"
    "$gputrace" run -q -t kernel,memcpy -o some.json "$samples/vector_add"
    run -0 "$gputrace" diff all.json some.json
    assert_line "Not compared: api, which --trace left out in 'some.json'."
    refute_line 'API calls'
    run -1 "$gputrace" diff all.json some.json --fail-on 'call:cudaMalloc>10%'
    assert_output --partial "cannot be checked: --trace left it out in 'some.json'"
    run -0 "$gputrace" diff all.json all.json
    refute_output --partial 'Not compared'
}

@test "causes that grow by more than the difference stand beside those that shrink, and all add up to it" {
    make_sets 3 gemm=1.5 launches=40 reduce=0.2
    run -0 diff_sets --width=0
    refute_output --partial '% of it'
    assert_line --regexp '^  \+[0-9.]+ ms kernel gemm, 199 → 299 µs per launch '
    refute_output --partial 'Share %'
    assert_line --regexp '^  -1\.[0-9]+ ms kernel reduce<float, 256>, 3[0-9.]* → 6[0-9.]* µs per launch '
    # In µs: what the headline says is between, and the lines of causes.
    awk '/^After takes/ { whole = ($3 - substr($10, 2)) * 1000 }
        /^  [-+]/ { sum += $1 * ($2 == "ms" ? 1000 : $2 == "ns" ? 0.001 : 1) }
        END { exit !(sum - whole < 110 && whole - sum < 110) }' <<<"$output"
}

@test "where both have steps, the first line is about a step, and the causes are where it goes" {
    run -0 "$build/make_job" -n 1 -s 20 -f .json fast
    run -0 "$build/make_job" -n 1 -s 12 -f .json -l 0:3 slow
    run -0 "$gputrace" diff --width=100 fast/rank0.json slow/rank0.json
    assert_line --index 0 --regexp '^A step takes [0-9.]+ ms, 1[0-9]\.[0-9] % longer than before \([0-9.]+ ms, not sure\)$'
    assert_line --index 1 --regexp '^  \+(2\.[89]|3\.0)[0-9]* ms host outside CUDA, [0-9.]+ µs → (2\.[89]|3\.0)[0-9]* ms '
    assert_line --regexp '^Run: .*; steps: 20 → 12$'
    [ "${#lines[@]}" -le 40 ]
    "$gputrace" diff -f json fast/rank0.json slow/rank0.json | jq -e '.summary | test("^A step takes .*; \\+[0-9.]+ ms host outside CUDA, ")'
    # Steps are not compared with runs.
    run -0 "$gputrace" diff -f json fast/rank0.json "$data/report/errors.json"
    jq -e '(.summary | startswith("After takes")) and (has("time") | not)' <<<"$output"
}

@test "the first screen has at most 40 lines, and names the other sections that changed" {
    run -0 "$gputrace" diff --width=100 "$small" "$kineto"
    [ "$(wc -l <<<"$output")" -le 40 ]
    assert_line --regexp '^More changes \(-r LIST, -r all\): idle, memtime, '
    run -0 "$gputrace" diff --width=100 -r all "$small" "$kineto"
    assert_line 'API calls (api)'
    assert_line 'Idle time of GPUs by cause (idle)'
    refute_output --partial 'More changes'
}

@test "--width, --columns, --color and --names are as those of report" {
    run -0 "$gputrace" diff --width=60 "$small" "$kineto"
    [ "$(wc -L <<<"$output")" -le 60 ]
    run -0 "$gputrace" diff --columns=name,after -r kernels "$small" "$kineto"
    assert_line --regexp '^  Name +After$|^  Name$'
    run -2 "$gputrace" diff --columns=naem "$small" "$kineto"
    assert_output --partial "no column 'naem' to show: did you mean 'name'?"
    run -0 "$gputrace" diff --color=always "$small" "$kineto"
    assert_output --partial $'\e['
    run -0 "$gputrace" diff -r kernels "$small" "$kineto"
    assert_output --partial 'multi_tensor_apply<'
    refute_output --partial 'at::native::'
    run -0 "$gputrace" diff --names=full -r kernels "$small" "$kineto"
    assert_output --partial 'at::native::'
    make_sets 1 gemm=1.3
    for condition in 'kernel:gemm>5%' 'kernel:gemm(float*, int)>5%'; do # the shown name, and the trace's
        run -3 diff_sets --fail-on="$condition"
    done
}

@test "traces of different ranks, and of jobs of different sizes, are named" {
    run -0 "$build/make_job" -n 2 -s 4 -f .json two
    run -0 "$build/make_job" -n 4 -s 4 -f .json four
    run -0 "$gputrace" diff two/rank0.json two/rank1.json
    assert_line 'The ranks differ: 0 before, 1 after.'
    refute_output --partial 'The jobs differ'
    run -0 "$gputrace" diff two/rank0.json four/rank0.json
    assert_line 'The jobs differ: 2 ranks before, 4 after.'
    refute_output --partial 'The ranks differ'
    run -0 "$gputrace" diff --before two/rank*.json --after four/rank[0-1].json
    assert_output --partial 'The same 2 ranks of a job on each side: figures are means over them.'
    run -0 "$gputrace" diff two/rank0.json two/rank0.json
    refute_output --regexp 'differ:|The same'
}

@test "a directory stands for the traces in it" {
    run -0 "$build/make_job" -n 2 -s 4 -f .json two
    mkdir one empty
    cp two/rank1.json one
    "$gputrace" diff -f json two two/ | jq -c '[.before, .after]' >got
    echo '[["two/rank0.json","two/rank1.json"],["two//rank0.json","two//rank1.json"]]' | diff - got
    run -0 "$gputrace" diff two two
    assert_output --partial 'The same 2 ranks of a job on each side'
    "$gputrace" diff -f json --before one --after two/rank0.json one -a | jq -c '[.before, .after]' >got
    echo '[["one/rank1.json"],["two/rank0.json","one/rank1.json"]]' | diff - got
    run -1 "$gputrace" diff one empty
    assert_output "gputrace: 'empty' has no traces and no spools"
}

@test "the examples of --help run" {
    make_sets 2
    for side in a:old b:new; do
        for i in 1 2; do
            run -0 "$gputrace" convert "${side%:*}$i.json" "${side#*:}$i.pftrace"
        done
    done
    "$gputrace" diff --help | sed -n 's/^  gputrace /"$gputrace" /p' >examples
    [ "$(wc -l <examples)" -eq 3 ]
    gputrace=$gputrace run -0 bash -e ./examples
    [ -s diff.html ]
}

@test "GPUs that differ are named" {
    make_sets 1
    sed 's/GPU A/GPU B/' b1.json >other.json
    run -0 "$gputrace" diff a1.json other.json
    assert_line 'The GPUs differ: GPU A before, GPU B after.'
    run -0 "$gputrace" diff a1.json b1.json
    refute_output --partial 'differ:'
}

@test "markdown, csv and junit are read by other programs" {
    make_sets 3 gemm=1.3
    run -0 diff_sets --format=markdown
    assert_line --index 0 --regexp '^After takes'
    assert_line '# Kernels (kernels)'
    assert_line --partial '| slower | sure | '
    diff_sets --format=csv >out.csv
    python3 - <<'END'
import csv
rows = list(csv.reader(open("out.csv", newline="")))
at = next(i for i, row in enumerate(rows) if row and row[0] == "kernels")
table = [dict(zip(rows[at - 1], rows[at]))]
assert table[0]["what"] == "slower" and table[0]["name"] == "gemm(float*, int)" and 25 < float(table[0]["change_percent"]) < 35
END
    run -3 diff_sets --format=junit --fail-on='total>3%' --fail-on='kernel:reduce<float, 256>'
    python3 - "$output" <<'END'
import sys, xml.etree.ElementTree as tree
suite = tree.fromstring(sys.argv[1].encode())
assert suite.get("tests") == "2" and suite.get("failures") == "1", suite.attrib
assert [case.get("name") for case in suite.iter("testcase")] == ["total>3%", "kernel:reduce<float, 256>"]
assert [len(case) for case in suite.iter("testcase")] == [1, 0]
END
    run -0 diff_sets --format=junit
    python3 - "$output" <<'END'
import sys, xml.etree.ElementTree as tree
suite = tree.fromstring(sys.argv[1].encode())
failed = {case.get("name"): [failure.get("message") for failure in case] for case in suite.iter("testcase") if len(case)}
assert list(failed) == ["kernels"] and failed["kernels"][0].startswith("kernel gemm(float*, int), 199 → 260 µs per launch (+30 %"), failed
assert suite.find("system-out").text.startswith("After takes")
END
}

@test "--report, --all and --top choose what is shown" {
    make_sets 1 gemm=1.3
    run -0 diff_sets -r kernels
    refute_output --partial 'api'
    run -2 diff_sets -r overview
    run -2 diff_sets -r kernls
    assert_output --partial "did you mean 'kernels'?"
    [ "$(diff_sets -f json | jq '.kernels | length')" -eq 1 ]
    [ "$(diff_sets -f json --all | jq '.kernels | length')" -eq 4 ]
    [ "$(diff_sets -f json --all -n 2 | jq '.kernels | length')" -eq 2 ]
}

@test "two traces, or traces on both sides, are needed" {
    make_sets 2
    for words in '' 'a1.json' 'a1.json a2.json b1.json' '--before a1.json' '--after a1.json b1.json' '--before' \
        '--before a1.json --after b1.json -a a2.json' '--before --after a1.json'; do
        # shellcheck disable=SC2086 # several words
        run -2 "$gputrace" diff $words
    done
    run -0 "$gputrace" diff --before=a1.json a2.json --after=b1.json -a b2.json -f json --before a1.json 2>/dev/null || true
    "$gputrace" diff -f json --before=a1.json a2.json --after b1.json --after b2.json | jq -c '[.before, .after]' >got
    echo '[["a1.json","a2.json"],["b1.json","b2.json"]]' | diff - got
    run -1 "$gputrace" diff a1.json missing.json
    assert_output --partial 'missing.json'
    echo '{' >broken.json
    run -1 "$gputrace" diff a1.json broken.json
    assert_output --partial 'broken.json'
}

@test "traces without GPU work, and without any event, are compared" {
    echo '{"traceEvents":[]}' >empty.json
    echo '{"traceEvents":[{"ph":"X","cat":"cuda_runtime","name":"cudaFree","pid":1,"tid":1,"ts":0,"dur":5}]}' >call.json
    run -0 "$gputrace" diff empty.json empty.json
    run -0 "$gputrace" diff call.json empty.json
    sed 's/cuda_runtime/kernel/' call.json >kernel.json
    run -0 "$gputrace" diff empty.json kernel.json
    assert_line --index 0 'After takes 5 µs; before takes no time: nothing is in it'
    assert_line --index 1 --partial '0 → 5 µs (all of it is new, '
    run -0 "$gputrace" diff -f json empty.json call.json
    jq -e '.api[0].what == "appeared"' <<<"$output"
}

@test "names with control characters are shown escaped" {
    make_sets 1 'extra=bad\\u001b[31mname'
    run -0 diff_sets
    assert_output --partial 'bad\x1b[31mname'
    run -0 diff_sets --format=junit
    python3 -c 'import sys, xml.etree.ElementTree as tree; tree.fromstring(sys.argv[1].encode())' "$output"
}

# --- the page of --html ---

# Writes page.html, and the data in it, page.json.
page() { # OPTION... TRACE...
    "$gputrace" diff --html page.html "$@" >out || return
    [ ! -s out ] || fail "something was printed: $(cat out)"
    sed -n 's|^<script type="application/json" class="chapter">\(.*\)</script>$|\1|p' page.html >page.json
    jq empty page.json
}

# of FILTER: jq's answer about the page's data, where t(number) is a text, and rows(word) the rows of a table as objects
of() {
    jq -c '. as $page | def t($n): if $n == null then null else $page.strings[$n] end;
        def table($w): first(.tables[] | select(t(.word) == $w));
        def rows($w): table($w) | .columns as $columns | .cells[]
            | [., $columns] | transpose | map({key: .[1][0], value: (if .[1][2] == "text" then t(.[0]) else .[0] end)}) | from_entries;
        '"$1" page.json
}

@test "--html: the page has the files, the lines of the text, and the rows of all tables" {
    make_sets 3 gemm=1.3 extra=added
    page --names=full --before "${before[@]}" --after "${after[@]}"
    [ "$(of '[.before, .after | map(t(.))]')" = '[["a1.json","a2.json","a3.json"],["b1.json","b2.json","b3.json"]]' ]
    diff_sets --names=full --width=1000 >text
    diff <(of '.lines[] | t(.)' | jq -r .) <(sed '/^$/,$d' text)
    [ "$(of '.lines | length')" -ge 3 ]
    diff_sets --format=json >all.json
    diff <(of '[.tables[] | t(.word)]') <(jq -c '[to_entries[] | select(.key as $k | ["before", "after", "notes", "conditions"] | index($k) | not)
        | select(.value | type == "array") | .key]' all.json)
    diff <(of '[rows("kernels") | [.what, .sure, .name, .count_before, .count_after]]') \
        <(jq -c '[.kernels[] | [.what, .sure, .name, .count_before, .count_after]]' all.json)
    diff <(of 'rows("kernels") | .name' | LC_ALL=C sort) - <<<$'"added"\n"gemm(float*, int)"'
}

@test "--html: the parts of the chart and the sum of those that are not drawn are the difference of the run" {
    make_sets 1 gemm=1.3
    page --names=full a1.json b1.json
    of '(table("parts") | .columns | map(.[0]) | index("difference")) as $i | table("parts")
        | (.sums[$i] - ([.cells[][$i]] | add)) | fabs < 100000' | diff - <(echo true)
    of '[rows("parts")][0].name' | diff - <(echo '"gemm(float*, int)"')
}

@test "--html: a table has sums where a column that is shown has them" {
    page "$small" "$kineto"
    diff - <(of '.tables[] | select(t(.word) == "parts" or t(.word) == "findings") | [t(.word), (.cells | length > 0), has("sums")]') <<'END'
["parts",true,true]
["findings",true,false]
END
}

@test "--html: a trace compared with itself makes a page without rows" {
    page "$small" "$small"
    [ "$(of '[.tables[] | .cells | length] | add')" = 0 ]
    [[ "$(of 't(.lines[0])')" == *', as long as before ('* ]]
}

@test "--html: names in traces and of files stay data" {
    make_trace a.json 1
    make_trace 'b<b>&.json' 2 'extra=</script><script>alert(1)//<!--<img>'
    page a.json 'b<b>&.json'
    [ "$(grep -c '<script' page.html)" -eq 2 ]
    [ "$(grep -o '</[sS][cC][rR][iI][pP][tT]' page.html | wc -l)" -eq 2 ]
    run -1 grep -F -e '<img' -e '<b>' -e '<!--' page.html
    [ "$(of 't(.after[0])')" = '"b<b>&.json"' ]
    of '[rows("kernels") | .name] | index("</script><script>alert(1)//<!--<img>") != null' | diff - <(echo true)
}

@test "--html: the file is a page's, whole or not written, and refuses --format" {
    make_sets 1 gemm=1.3
    cp a1.json copy.json
    run -2 --separate-stderr "$gputrace" diff --html a1.json b1.json
    [[ $stderr == *"'a1.json' does not end in .html (try --html report.html)"* ]]
    cmp a1.json copy.json
    run -2 --separate-stderr "$gputrace" diff --html page.html -f json a1.json b1.json
    [[ $stderr == *"--html writes a page, and --format asks for another format: use one of them"* ]]
    [ ! -e page.html ]
    echo old >page.html
    echo '{"traceEvents":[{]}' >broken.json
    run -1 --separate-stderr "$gputrace" diff --html page.html a1.json broken.json
    [ "$(cat page.html)" = old ]
    [ "$(find . -name '*page*')" = ./page.html ]
    run -3 --separate-stderr "$gputrace" diff --html page.html --fail-on='gpu>3%' a1.json b1.json
    grep -q '^<!doctype html>' page.html
    grep -q 'gpu>3%' page.html
}

@test "the bench of false alarms runs, and small figures of it are as they should be" {
    command -v python3 >/dev/null || skip 'needs python3'
    "$root/tests/bench/diff" -e 6 -s 5 -n 5 -j 2 --json out.json "$build"
    jq -e '.[0] | .alarms == 0 and .found >= 4' out.json
}
