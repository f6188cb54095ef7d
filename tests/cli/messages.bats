# What is said about programs that are not recorded, and commands in messages.

load common

# Runs the command that the message in $output suggests: between 'gputrace and ' before WORDS.
run_suggested() { # WORDS
    local command
    [[ $output =~ \'gputrace\ (.*)\'\ $1 ]] || fail "no command before '$1': $output"
    command=${BASH_REMATCH[1]##*\'gputrace }
    run -0 bash -c "\"\$0\" $command" "$gputrace"
}

@test "each command in a message can be pasted into a shell, whatever the names are" {
    local odd
    for odd in 'a b' "it's" '-x' $'two\nlines' 'c$HOME;x'; do
        mkdir -p -- "./$odd"
        # The last line of a run.
        run -0 "$gputrace" run -o "$odd.json" "$samples/vector_add"
        [[ $output =~ or\ run\ \'gputrace\ (report\ .*)\' ]]
        run -0 bash -c "\"\$0\" ${BASH_REMATCH[1]}" "$gputrace"
        # A command that was forgotten.
        run -2 "$gputrace" "./$odd.json"
        output="${output%\?} END" run_suggested END
        # A directory of records in place of a trace.
        run -0 "$gputrace" run --keep-spool --spool-dir "./$odd" -o "$odd.json" "$samples/vector_add"
        (
            cd "./$odd"
            mv gputrace-* "./$odd"
            for command in view "convert --from=10%"; do
                # shellcheck disable=SC2086 # words
                run "$gputrace" $command "./$odd" out.json
                [ "$status" -ne 0 ]
            done
            output+=' END' run_suggested END
            [ -s trace.pftrace ]
            mv "./$odd" gputrace-ABCDEF
        )
        # Records of an earlier run.
        run -0 "$gputrace" run --spool-dir "./$odd" true
        [[ $output =~ \'gputrace\ (recover\ .*)\'\ writes\ its\ trace ]]
        run -0 bash -c "\"\$0\" ${BASH_REMATCH[1]} -o recovered.json" "$gputrace"
        jq -e .traceEvents recovered.json >/dev/null
        rm -f -- *.json*
    done
}

@test "a script that is not executable: the message names the command that runs it" {
    local name
    mkdir bin
    script bin/python 'echo "python: $*"'
    for name in train.py ./train.py 'my train.py' -t.py; do
        echo 'print(1)' >"./$name"
        PATH=$PWD/bin:$PATH run -126 "$gputrace" run -- "$name"
        assert_output --partial "it is not executable: 'gputrace run python "
        PATH=$PWD/bin:$PATH run_suggested 'runs it'
        assert_line --partial 'python: '
    done
    echo 'echo words' >job.sh
    run -126 "$gputrace" run job.sh
    run_suggested 'runs it'
    assert_line words
    run -127 "$gputrace" run nothing.py
    assert_output "gputrace: cannot find 'nothing.py'"
}

@test "a script of another language that sh would run is said" {
    echo 'exit' >train.py
    chmod +x train.py
    run "$gputrace" run ./train.py
    assert_line --regexp "warning: './train.py' has no #! line, so sh runs it: 'gputrace run python3? ./train.py' runs it with python"
    script right.py exit
    run -0 "$gputrace" run ./right.py
    refute_output --partial '#!'
}

@test "a program that starts others where they are not recorded is named" {
    local line
    for line in 'env -i true' "sh -c 'exit 0; env -i ./app'" 'env --ignore-environment true'; do
        eval "run -0 '$gputrace' run $line"
        assert_output --regexp "'env -?-i[a-z-]*' starts programs without the environment variables .*: start gputrace behind it, as in 'env -.* \.\.\. gputrace run PROGRAM'"
    done
    mkdir bin
    for line in sudo ssh docker; do
        script "bin/$line" 'exit 0'
        PATH=$PWD/bin:$PATH run -0 "$gputrace" run "$line" true
        assert_output --partial "and '$line' starts programs "
    done
    script bin/su 'exit 0'
    PATH=$PWD/bin:$PATH run -0 "$gputrace" run su - true
    assert_output --partial "as in 'su - ... -c \"gputrace run PROGRAM\"'"
    run -0 "$gputrace" run bash -c '(exec -c true)'
    assert_output --partial "and 'exec -c' starts programs without the environment variables"
    for line in 'env -u CUDA_INJECTION64_PATH true' 'env --unset=NVTX_INJECTION64_PATH true' "sh -c 'CUDA_INJECTION64_PATH= true'"; do
        eval "run -0 '$gputrace' run $line"
        assert_output --regexp "used neither CUDA nor NVTX, and '.*_INJECTION64_PATH=?' changes by what programs load the recorder: "
    done
    run -0 "$gputrace" run env A=b true
    refute_output --partial 'starts programs'
}

@test "of two programs, the one that is started without the variables is said" {
    run -0 "$gputrace" run sh -c "$samples/vector_add; env -i true"
    assert_output --partial "warning: 'env -i' starts programs without the environment variables"
    refute_output --partial 'used neither'
    run -0 "$gputrace" run sh -c "$samples/vector_add; $samples/vector_add"
    refute_output --partial 'starts programs'
}

@test "another gputrace within: the outer one says that the inner one recorded" {
    run -0 "$gputrace" run -o outer.json "$gputrace" run -o inner.json "$samples/vector_add"
    assert_line --partial "started another gputrace: what that one ran is in its trace and not in this one"
    jq -e '.traceEvents | length > 5' inner.json
    [ -z "$(ls "$TMPDIR")" ]
}

@test "without /proc a program runs and is recorded, or a message says what is missing" {
    [ -z "${sanitizer-}" ] || skip "sanitizers read /proc"
    unshare --mount --pid --fork true 2>/dev/null || skip "there are no namespaces here"
    # shellcheck disable=SC2016 # the inner shell expands it
    run -7 unshare --mount --pid --fork sh -c 'umount -l /proc && exec "$0" run sh -c "exit 7"' "$gputrace"
    jq -e .traceEvents trace.json
}
