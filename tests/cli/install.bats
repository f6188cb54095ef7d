# make install and make uninstall.

load common

# Only what is built already is installed here: nothing is built anew, least of all with other flags.
make_there() {
    [ "$build" = "$root/build" ] || skip "of the plain build only"
    make --no-print-directory -C "$root" "$1" DESTDIR="$BATS_TEST_TMPDIR/there" PREFIX=/usr
}

@test "what is installed works from where it lies, and is gone after uninstall" {
    make_there install
    for file in bin/gputrace lib/libgputrace.so lib/gputrace/calls.so include/gputrace/gputrace.h \
        include/gputrace/callbacks.h share/man/man1/gputrace-run.1 share/man/man3/gputrace-callbacks.3 \
        share/bash-completion/completions/gputrace share/zsh/site-functions/_gputrace; do
        [ -f "there/usr/$file" ]
    done
    run -0 "there/usr/bin/gputrace" run -v --plugin=calls "$samples/nvtx"
    assert_line --partial "lib/libgputrace.so'"
    assert_line --partial 'gputrace: calls: nvtx_push '
    [ "$(count user_annotation)" -gt 0 ]
    make_there uninstall
    assert_equal "$(find there -type f)" ''
}
