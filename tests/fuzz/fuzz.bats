# Every fuzz target over its seeds and what was found before, and a hundred inputs more, the same ones each time.
# `make fuzz` searches for others.

# bats file_tags=long

load ../cli/common

fuzz() { # TARGET
    [ -x "$build/fuzz/$1" ] || skip "there is no clang with libFuzzer"
    cd "$root" # where seeds and inputs found are
    local folder=${build#"$root"/}
    run -0 tests/fuzz/run -b "$folder" -n 100 "$1"
    assert_output --regexp "^$1: [0-9]+ inputs in"
}

@test "columns: records as columns" { fuzz columns; }
@test "cupti: records of CUPTI" { fuzz cupti; }
@test "gzip: members of .gz files" { fuzz gzip; }
@test "mappings: what a process had mapped" { fuzz mappings; }
@test "nvtx: calls of NVTX in a program" { fuzz nvtx; }
@test "options: command lines" { fuzz options; }
@test "own: records of the library" { fuzz own; }
@test "part: parts of a job" { fuzz part; }
@test "pftrace: traces in Perfetto's format" { fuzz pftrace; }
@test "packed: drained chunks" { fuzz packed; }
@test "pretty_name: names of kernels" { fuzz pretty_name; }
@test "reader: trace files" { fuzz reader; }
@test "records: what records mean together" { fuzz records; }
@test "report: every section" { fuzz report; }
@test "session: the launcher's note" { fuzz session; }
@test "spool: spool files" { fuzz spool; }
@test "values: any value of any key, in reports, parts, comparisons and conversions" { fuzz values; }

@test "pftrace: threads that go on with each other's sections, 300 times" {
    [ -x "$build/fuzz/pftrace" ] || skip "there is no clang with libFuzzer"
    run -0 "$build/fuzz/pftrace" -runs=300 "$root"/tests/fuzz/found/pftrace/sections-of-several-runs-*
}

@test "the trace that values are changed in has every key of the metadata that reports read" {
    grep -ohE '(member_of|text_of|number_of)\([a-z_]+, "[^"]+"|\{"[^"]+", (NUMBER|AMOUNT|COUNT|TIME|TEXT)' \
        "$root/src/analysis/engine/metadata.c" | grep -oE '"[^"]+"' | sort -u >keys
    [ "$(wc -l <keys)" -gt 40 ]
    while read -r key; do
        grep -qF "$key:" "$root/tests/fuzz/tool/scene.json" || fail "tests/fuzz/tool/scene.json has no $key"
    done <keys
}

@test "every target is among these" {
    local target
    for target in "$root"/tests/fuzz/tool/*.c "$root"/tests/fuzz/agent/*.c; do
        grep -q 'int LLVMFuzzerTestOneInput' "$target" || continue
        target=${target##*/}
        grep -q "^@test \"${target%.c}: " "$BATS_TEST_FILENAME"
    done
}
