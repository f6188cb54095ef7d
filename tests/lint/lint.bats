# The checks of make lint: nothing is wrong with the sources.
#
# They look at the sources, not at how they were built, so with sanitizers there is nothing new to find.

load ../cli/common

clean() { # NAME
    [ "$build" = "$root/build" ] || skip "done with the plain build"
    run "$root/tests/lint/check-$1" "$root" build
    [ "$status" -ne 77 ] || skip "$output"
    assert_success
}

@test "layers: every include and call is allowed" { clean layers; }
@test "headers: each compiles alone" { clean headers; }
@test "exports: the library's symbols are those of its list" { clean exports; }
@test "calls: the library neither exits nor prints" { clean calls; }
@test "top level: nothing that does not belong there" { clean top-level; }
@test "fields: the analysis reads those of a kind of events by their functions" { clean fields; }
@test "format: as make fmt leaves it" { clean format; }
@test "scripts: shellcheck finds nothing" { clean scripts; }
@test "man: mandoc finds nothing" { clean man; }
@test "files: each says what it is for, and includes headers once" { clean files; }
@test "references: READMEs and comments name files that exist" { clean references; }
