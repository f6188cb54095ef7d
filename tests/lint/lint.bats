# The checks of make lint: nothing is wrong with the sources, and each check does find what it is for.
#
# They look at the sources, not at how they were built, so with sanitizers there is nothing new to find.

load ../cli/common

check() { # NAME [ROOT [BUILD]]
    local name=$1
    shift
    "$root/tests/lint/check-$name" "${1:-$root}" "${2:-build}"
}

clean() { # NAME
    [ "$build" = "$root/build" ] || skip "done with the plain build"
    run check "$1"
    [ "$status" -ne 77 ] || skip "$output"
    assert_success
}

# A tree of sources with one fault in it.
tree() { # FILE TEXT...
    mkdir -p "tree/$(dirname "$1")" tree/src tree/include
    printf '%s\n' "${@:2}" >"tree/$1"
    cp "$root/src/LAYERS" tree/src
}

@test "layers: every include and call is allowed" { clean layers; }
@test "headers: each compiles alone" { clean headers; }
@test "exports: the library's symbols are those of its list" { clean exports; }
@test "calls: the library neither exits nor prints" { clean calls; }
@test "top level: nothing that does not belong there" { clean top-level; }
@test "format: as make fmt leaves it" { clean format; }
@test "scripts: shellcheck finds nothing" { clean scripts; }
@test "man: mandoc finds nothing" { clean man; }

@test "files: each says what it is for, and includes headers once" { clean files; }
@test "references: READMEs and comments name files that exist" { clean references; }

@test "layers finds a folder that includes another" {
    tree src/analysis/a.c '#include "trace/json/names.h"'
    run check layers tree
    assert_failure
    assert_output 'src/analysis/a.c:1: analysis may not include trace/json ("trace/json/names.h")'
}

@test "layers finds the user's process including ours" {
    tree src/agent/spool/a.c '' '#  include "trace/sink.h"'
    run check layers tree
    assert_failure
    assert_output --partial 'src/agent/spool/a.c:2: agent/spool may not include trace'
}

@test "layers finds calls that no include shows, but none through a pointer" {
    tree src/trace/tracks.c 'int look(void);' 'extern int (*const merge)(void);' 'int tracks(void) { return look() + merge(); }'
    tree src/trace/merge/merge.c 'int look(void) { return 1; }' 'int (*const merge)(void) = look;'
    for name in tracks merge/merge; do
        mkdir -p "tree/build/obj/src/trace/$(dirname "$name")"
        gcc -c "tree/src/trace/$name.c" -o "tree/build/obj/src/trace/$name.o"
    done
    run check layers tree
    assert_failure
    assert_output 'src/trace/tracks.c: trace may not call trace/merge (look)'
}

@test "layers finds CUDA's headers out of their folders" {
    tree src/trace/meaning/base/a.h '#include <stdint.h>' '#include <cupti.h>'
    run check layers tree
    assert_failure
    assert_output --partial 'src/trace/meaning/base/a.h:2: <cupti.h> belongs in'
}

@test "layers finds files and headers that are in no folder" {
    tree src/elsewhere/a.c '#include "a.h"'
    run check layers tree
    assert_failure
    assert_output --partial 'src/elsewhere/a.c:1: is in no folder'
    assert_output --partial 'includes "a.h", which is in no folder'
}

@test "layers finds units that include each other" {
    tree src/common/a.h '#include "common/b.h"'
    tree src/common/b.c '#include "common/c.h"'
    tree src/common/c.h '#include "common/a.h"'
    run check layers tree
    assert_failure
    assert_output --partial 'includes in a circle: '
}

@test "layers accepts allowed includes" {
    tree src/agent/cupti/a.c '#include <cupti.h>' '#include "agent/dispatch/registry.h"' '#include "common/log.h"'
    tree src/cli/b.c '#include <cjson/cJSON.h>' '#include "trace/sink.h"' '#include "cli/b.h"'
    run check layers tree
    assert_success
}

@test "headers finds one that needs another before it" {
    tree src/common/a.h 'size_t size(void);'
    run check headers tree
    assert_failure
    assert_output --partial 'src/common/a.h: does not compile alone as c11'
}

@test "headers finds a public one that does not compile as C++" {
    tree include/gputrace/a.h 'static inline int *new(void *at) { return at; }'
    run check headers tree
    assert_failure
    assert_output --partial 'include/gputrace/a.h: does not compile alone as c++11'
    refute_output --partial 'as c11'
}

@test "exports finds superfluous and missing symbols" {
    local library
    mkdir -p tree/src/{agent/main,allocator,mpi} tree/build
    printf '{ global:\n  wanted; /* and */ missing;\n local: *; };\n' >tree/src/agent/main/exports.map
    cp tree/src/agent/main/exports.map tree/src/allocator
    cp tree/src/agent/main/exports.map tree/src/mpi
    for library in libgputrace libgputrace-allocator libgputrace-mpi; do
        printf 'int wanted(void) { return 0; }\nint other(void) { return 0; }\n' |
            gcc -shared -fPIC -x c - -o "tree/build/$library.so"
    done
    run check exports tree
    assert_failure
    for library in libgputrace libgputrace-allocator libgputrace-mpi; do
        assert_line --partial "$library.so exports other, which"
        assert_line --partial "$library.so does not export missing, which"
    done
    refute_output --partial 'wanted'
}

@test "calls finds exit, abort, assert and printing" {
    tree src/agent/spool/a.c '#include <assert.h>' '#include <stdio.h>' '#include <stdlib.h>' \
        'void f(int a) { char b[9]; assert(a); snprintf(b, 9, "%d", a); printf("%s", b); fputs(b, stderr); exit(a); }'
    tree src/allocator/b.c '#include <stdlib.h>' 'void f(void) { abort(); }'
    mkdir -p tree/build/obj/src/{agent/spool,allocator,mpi,common}
    gcc -O0 -c tree/src/agent/spool/a.c -o tree/build/obj/src/agent/spool/a.o
    gcc -O0 -c tree/src/allocator/b.c -o tree/build/obj/src/allocator/b.o
    run check calls tree
    assert_failure
    for name in __assert_fail printf fputs stderr exit; do
        assert_line --partial "src/agent/spool/a.c: refers to $name;"
    done
    assert_line --partial 'src/allocator/b.c: refers to abort;'
    refute_output --partial snprintf
}

@test "top level finds what does not belong there" {
    tree notes.txt ''
    run check top-level tree
    assert_failure
    assert_output "'notes.txt' does not belong at the top level"
}

@test "lengths reports long functions and files" {
    tree src/common/a.c 'int f(void)' '{' "$(yes '    ;' | head -41)" '}' "$(yes '//' | head -300)" 'int x;'
    mkdir tree/samples tree/tests
    run check lengths tree
    assert_success
    assert_line 'src/common/a.c:2: f is 41 lines'
    assert_line 'src/common/a.c: 345 lines'
}

@test "references finds files and folders that do not exist" {
    tree src/trace/b.h '' && tree src/README.md 'Units are `trace/b` and `trace/c`, in `trace/` and `gone/`; see a.c and quick.h.'
    tree src/trace/a.c '/* As b.h says, unlike lost.h' ' * and c.c; "x.c:3" and NAME.c are examples. */' 'int f(void); // d.c' 'const char *g = "/* e.c */";'
    run check references tree
    assert_failure
    assert_output 'src/README.md:1: there is no trace/c
src/README.md:1: there is no gone/
src/README.md:1: there is no quick.h
src/trace/a.c:1: there is no lost.h
src/trace/a.c:2: there is no c.c
src/trace/a.c:3: there is no d.c'
}

@test "files finds one that says nothing, and a header included twice" {
    tree include/b.h '// A header.' '#include <a.h>' '#include <b.h>'
    tree src/a.c '#include <a.h>' '/* late */' '#include <a.h>'
    run check files tree
    assert_failure
    assert_output 'src/a.c: does not open with a comment
src/a.c:3: includes <a.h> again'
}
