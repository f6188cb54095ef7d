# What `make` makes and prints: the size and the hardening of what is installed, its short lines, its settings.

load ../cli/common

plain() { [ "$build" = "$root/build" ] || skip "of the plain build only"; }

# Whether our sources were compiled with -O2, as they are unless CFLAGS says otherwise.
need_o2() {
    plain
    readelf --debug-dump=info "$build/obj/src/common/log.o" | grep -q 'DW_AT_producer.* -O2' || skip "built with other CFLAGS"
}

# make in a build folder of its own, without the settings of the `make` that runs the tests.
own_make() {
    env -u MAKEFLAGS -u MAKELEVEL -u CFLAGS -u SAN -u WERROR make -C "$root" --no-print-directory B="$PWD/own" "$@"
}

installed() {
    ls "$build/gputrace" "$build"/libgputrace{,-allocator,-mpi,-torch}.so.0 "$build"/samples/plugins/*.so
}

@test "the code of libgputrace.so is small: NVTX's client is not in it" {
    need_o2
    local text
    text=$(size "$build/libgputrace.so" | awk 'NR == 2 { print $1 }')
    [ "$text" -lt 400000 ] || fail "$text bytes of text"
}

@test "installed files bind their symbols at once, and their tables are read-only then" {
    local file
    for file in $(installed); do
        run -0 readelf -dlW "$file"
        assert_output --regexp 'FLAGS.*NOW'
        assert_output --partial GNU_RELRO
    done
}

@test "installed files call the checked functions of libc" {
    need_o2
    local file
    for file in $(installed | grep -v -e empty.so -e libgputrace-torch.so); do # these call none of them
        run -0 nm -D "$file"
        assert_output --regexp '__[a-z]+_chk@'
    done
}

@test "unused functions are not in libgputrace.so" {
    need_o2
    nm -f posix "$build"/obj/src/common/*.o | awk '$2 == "T" { print $1 }' | sort -u >defined
    nm -f posix "$build/libgputrace.so" | awk '{ print $1 }' | sort -u >linked
    [ "$(comm -23 defined linked | wc -l)" -gt 10 ]
}

@test "a library's file says its name, its functions have a version, and the name without number leads to it" {
    local library
    for library in libgputrace libgputrace-allocator libgputrace-mpi libgputrace-torch; do
        run -0 readelf -d "$build/$library.so"
        assert_output --partial "soname: [$library.so.0]"
        assert_equal "$(readlink "$build/$library.so")" "$library.so.0"
    done
    run -0 nm -D --with-symbol-versions "$build/libgputrace.so"
    assert_line --partial ' T gputrace_start@@GPUTRACE_0'
    assert_line --partial ' T InitializeInjection@@GPUTRACE_0'
    refute_line --partial gputrace_malloc
    run -0 nm -D --with-symbol-versions "$build/libgputrace-allocator.so"
    assert_line --partial ' T gputrace_malloc@@GPUTRACE_0'
}

@test "warnings are errors with WERROR=1, as .ci/run says, and nowhere else" {
    local object=$PWD/own/obj/src/common/log.o
    run -0 own_make -n V=1 "$object"
    refute_output --partial -Werror
    run -0 own_make -n V=1 WERROR=1 "$object"
    assert_output --partial ' -Werror '
    grep -q 'make setup test-all .*WERROR=1' "$root/.ci/run"
    run -0 grep -h -e -Werror "$root/Makefile" "$root"/*/*.mk "$root"/*/*/*.mk
    assert_output 'WERROR_FLAG := $(if $(WERROR),-Werror)'
}

@test "one short line for each file that is compiled; V=1 prints the commands, -s nothing" {
    local object=$PWD/own/obj/src/common/log.o
    run -0 own_make "$object"
    assert_output '  CC src/common/log.c'
    rm "$object"
    run -0 own_make V=1 "$object"
    assert_line --regexp '^gcc .* -c -o .*log\.o src/common/log\.c$'
    rm "$object"
    run -0 own_make -s "$object"
    assert_output ''
}

@test "no rule prints a whole command" {
    local target
    for target in all samples simgpu tests check_trace fuzzers; do
        own_make -n "$target" | grep -E '^[[:space:]]*(gcc|g\+\+|cc|c\+\+|[^ ]*nvcc|[^ ]*clang[-0-9]*|ar|ln|cp) ' >whole || true
        run -0 cat whole
        assert_output ''
    done
}

@test "the checked functions are left to sanitizers, to -O0 and to packagers who choose themselves" {
    local object=$PWD/own/obj/src/common/log.o
    run -0 own_make -n V=1 "$object"
    assert_output --partial -D_FORTIFY_SOURCE=2
    run -0 own_make -n V=1 SAN=address "$object"
    refute_output --partial _FORTIFY_SOURCE
    run -0 own_make -n V=1 CFLAGS='-O0 -g' "$object"
    refute_output --partial _FORTIFY_SOURCE
    run -0 own_make -n V=1 CPPFLAGS=-D_FORTIFY_SOURCE=3 "$object"
    refute_output --partial _FORTIFY_SOURCE=2
}
