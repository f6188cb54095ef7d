# make install and make uninstall.

load common

setup_there() {
    [ "$build" = "$root/build" ] || skip "of the plain build only"
    there=$BATS_TEST_TMPDIR/there
}

# Without the settings of the `make` that runs the tests.
make_there() { # TARGET [VARIABLE=VALUE...]
    env -u MAKEFLAGS -u MAKELEVEL make -s -C "$root" DESTDIR="$there" PREFIX=/usr "$@"
}

@test "the installed files work from their folder, and uninstall removes them" {
    setup_there
    make_there install
    for file in bin/gputrace lib/libgputrace.so lib/libgputrace-allocator.so lib/libgputrace-mpi.so.0 lib/libgputrace-torch.so.0 lib/gputrace/calls.so include/gputrace/gputrace.h \
        include/gputrace/callbacks.h share/man/man1/gputrace-run.1 share/man/man3/gputrace-callbacks.3 \
        share/bash-completion/completions/gputrace share/zsh/site-functions/_gputrace \
        share/fish/vendor_completions.d/gputrace.fish lib/pkgconfig/gputrace.pc; do
        [ -f "there/usr/$file" ]
    done
    run -0 "there/usr/bin/gputrace" run -v --plugin=calls "$samples/nvtx"
    assert_line --regexp "'$there/usr/lib/libgputrace.so.[0-9.]+', "
    assert_line --partial 'gputrace: calls: nvtx_push '
    [ "$(count user_annotation)" -gt 0 ]
    make_there uninstall
    assert_equal "$(find there ! -type d)" ''
}

@test "every directory can be chosen, and gputrace finds its library in LIBDIR" {
    setup_there
    local own=$PWD/own directories=(BINDIR=/opt/here/bin LIBDIR=/usr/lib64 INCLUDEDIR=/inc DATADIR=/data MANDIR=/man)
    # A build folder of its own, for gputrace is linked anew.
    mkdir -p own/obj own/samples
    cp -a "$build/obj/src" "$build/obj/gen" own/obj
    cp -a "$build/samples/plugins" own/samples
    cp -a "$build"/libgputrace*.so* own
    make_there install B="$own" "${directories[@]}"
    for file in opt/here/bin/gputrace usr/lib64/libgputrace.so.0 usr/lib64/libgputrace-allocator.so.0 usr/lib64/libgputrace-mpi.so.0 usr/lib64/libgputrace-torch.so.0 usr/lib64/gputrace/calls.so inc/gputrace/gputrace.h \
        man/man1/gputrace.1 data/bash-completion/completions/gputrace usr/lib64/pkgconfig/gputrace.pc; do
        [ -f "there/$file" ]
    done
    run -0 there/opt/here/bin/gputrace run -v --plugin=calls "$samples/nvtx"
    assert_line --regexp "'$there/usr/lib64/libgputrace.so.[0-9.]+', "
    make_there uninstall B="$own" "${directories[@]}"
    assert_equal "$(find there ! -type d)" ''
}

@test "a program is built by what pkg-config says, and asks for the library by its version" {
    setup_there
    command -v pkg-config >/dev/null || skip "needs pkg-config"
    make_there install
    printf '%s\n' '#include <gputrace/allocator.h>' \
        'int main(void) { return gputrace_allocator_snapshot(-1, 0, 0) > 0; }' >app.c
    export PKG_CONFIG_PATH=$there/usr/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$there
    assert_equal "$(pkg-config --modversion gputrace)" "$(sed -n 's/^VERSION := //p' "$root/Makefile")"
    # shellcheck disable=SC2046 # the words are options
    gcc -o app app.c $(PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1 PKG_CONFIG_ALLOW_SYSTEM_LIBS=1 pkg-config --cflags --libs gputrace)
    run -0 readelf -d app
    assert_output --regexp 'NEEDED.*\[libgputrace-allocator.so.0\]'
    run -0 readelf -V app
    assert_output --partial 'GPUTRACE_0'
    LD_LIBRARY_PATH=$there/usr/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} ./app
}
