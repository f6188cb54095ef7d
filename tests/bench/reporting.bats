# Memory of a report does not grow with the trace: tests/bench/gen.

# bats file_tags=long

load ../cli/common

# The most that a command has taken, MiB.
peak_of() { # COMMAND...
    python3 - "$@" <<'EOF'
import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)
EOF
}

@test "three million ranges, and what was started in them, are reported in bounded memory" {
    [ -z "${sanitizer-}" ] || skip "sanitizers need memory of their own"
    mkdir made
    "$build/tests/bench/gen" -t 8 made 500000 100 3000000
    run peak_of "$gputrace" report made
    assert_success
    echo "# $output MiB" >&3
    [ "$output" -le 224 ]
    run peak_of "$gputrace" report -r all made # more sections sort at one time
    assert_success
    echo "# $output MiB with all sections" >&3
    [ "$output" -le 320 ]
    "$gputrace" report -f json -r nvtx made >report.json
    jq -e '([."nvtx-tree"[].count] | add) == 3000000 and ([."nvtx-kernels"[].calls] | add) == 500000' report.json
    jq -e '."nvtx-gpu" | length > 0' report.json
}

@test "the critical path of a million launches is found in bounded memory" {
    [ -z "${sanitizer-}" ] || skip "sanitizers need memory of their own"
    mkdir made
    "$build/tests/bench/gen" made 1000000 100 1000
    run peak_of "$gputrace" report -r critical-path made
    assert_success
    echo "# $output MiB" >&3
    [ "$output" -le 224 ]
    "$gputrace" report -f json -r critical-path made >report.json
    jq -e '[."critical-path"[].share_percent] | add - 100 | fabs < 0.001' report.json
}
