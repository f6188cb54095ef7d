# src/common/api_classes.list against the functions of CUDA's headers, as CUPTI's lists of callback ids name them.

setup() {
    load ../cli/common
    list=src/common/api_classes.list
    cd "$BATS_TEST_DIRNAME/../.." || return
}

names_of() { # CLASS
    awk -v class="$1:" '/^#/ { next } /:$/ { inside = $1 == class; next } inside { for (i = 1; i <= NF; i++) print $i }' $list
}

functions_of_cuda() {
    sed -E 's/.*"(.*)".*/\1/' "$GPUTRACE_BUILD"/obj/gen/common/{runtime,driver}_cbid.inc | sort -u
}

@test "every function of CUDA's headers is in exactly one class" {
    { names_of query && names_of status && names_of action; } | sort >"$BATS_TEST_TMPDIR/listed"
    functions_of_cuda >"$BATS_TEST_TMPDIR/functions"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/functions")" -gt 900 ]
    run uniq -d "$BATS_TEST_TMPDIR/listed"
    assert_output ''
    run diff "$BATS_TEST_TMPDIR/listed" "$BATS_TEST_TMPDIR/functions"
    assert_success
}

@test "the list has three classes" {
    run grep -E ':$' $list
    assert_output $'query:\nstatus:\naction:'
}

@test "every variant of a query is a query" { # with and without _ptsz, _v2, …
    local api
    for api in runtime driver; do
        sed -nE 's/^\[([0-9]+)\] = "(.*)",/\1 \2/p' "$GPUTRACE_BUILD/obj/gen/common/${api}_cbid.inc" >"$BATS_TEST_TMPDIR/all"
        names_of query | awk 'NR == FNR { query[$1] = 1; next } $2 in query { print $1 }' - "$BATS_TEST_TMPDIR/all" |
            sort >"$BATS_TEST_TMPDIR/expected"
        sed -nE 's/^\[([0-9]+)\] = API_QUERY.*/\1/p' "$GPUTRACE_BUILD/obj/gen/common/${api}_classes.inc" | sort >"$BATS_TEST_TMPDIR/made"
        [ -s "$BATS_TEST_TMPDIR/made" ]
        run diff "$BATS_TEST_TMPDIR/expected" "$BATS_TEST_TMPDIR/made"
        assert_success
    done
}

@test "gputrace-api-calls(7) lists the same functions" {
    local class section
    for class in query:QUERY status:STATUS action:ACTION; do
        section=${class#*:}
        awk -v section="$section" '$1 == ".Sh" { inside = $NF == section; next } !/^\./ && inside' man/gputrace-api-calls.7 |
            tr ' ' '\n' | sort >"$BATS_TEST_TMPDIR/page"
        names_of "${class%:*}" | sort >"$BATS_TEST_TMPDIR/list"
        run diff "$BATS_TEST_TMPDIR/list" "$BATS_TEST_TMPDIR/page"
        assert_success
    done
}
