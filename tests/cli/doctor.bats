# gputrace doctor.

load common

@test "every row is ok, note or problem, and a problem says how to fix it" {
    run "$gputrace" doctor
    for title in GPU driver 'CUDA toolkit' CUPTI libgputrace.so NVTX environment permissions disk leftovers; do
        assert_line --regexp "^(ok|note|problem) +$title +[^ ]"
    done
    if [ "$(grep -c '^problem' <<<"$output")" -gt 0 ]; then
        assert_equal "$status" 1
        [ "$(grep -c 'to fix:' <<<"$output")" -ge "$(grep -c '^problem' <<<"$output")" ]
    else
        assert_equal "$status" 0
    fi
}

@test "with a GPU all is well" {
    run -0 "$gputrace" doctor
    assert_line --regexp '^ok +GPU +[0-9]+ device'
    assert_line --regexp '^ok +CUPTI .* can be subscribed to$'
    assert_line --regexp '^ok +NVTX '
    assert_line 'A CUDA program can be traced here.'
}

@test "no GPU is a problem" {
    need_simulated
    SIMGPU_NO_DEVICE=1 run -1 "$gputrace" doctor
    assert_line --regexp '^problem +driver +cuInit returned [0-9]+'
    assert_line --regexp '^problem +GPU '
}

@test "a CUPTI that is taken is a problem" {
    need_simulated
    SIMGPU_CUPTI_TAKEN=1 run -1 "$gputrace" doctor
    assert_line --regexp '^problem +CUPTI .*: subscribing failed with 39'
}

@test "a CUPTI that is too old is a problem" {
    need_simulated
    SIMGPU_CUPTI_VERSION=17 run "$gputrace" doctor
    refute_line --regexp '^ok +CUPTI .*version 17'
}

@test "a missing driver is a problem" {
    [ -n "${simulated-}" ] || skip "this machine has a driver"
    LD_LIBRARY_PATH='' run -1 "$gputrace" doctor
    assert_line --regexp '^problem +driver +.*libcuda'
    assert_line --regexp '^problem +GPU '
}

@test "spools of a killed launcher are reported, those of a running one are not" {
    script app 'echo $$ >pid' "$until_end"
    beside "$gputrace" run -q ./app
    eventually test -s pid
    run "$gputrace" doctor
    assert_line --regexp '^ok +leftovers '
    kill -KILL "$launcher"
    wait "$launcher" || true
    touch end
    run "$gputrace" doctor
    assert_line --regexp '^note +leftovers +1 directory of earlier runs'
    assert_line --partial "rm -r $TMPDIR/gputrace-"
}

@test "a spool directory that takes nothing is a problem" {
    run -1 "$gputrace" doctor --spool-dir=/no/such/place
    assert_line --regexp "^problem +disk +cannot write to '/no/such/place'"
}

@test "another tool's injection is a note" {
    CUDA_INJECTION64_PATH=/other.so run "$gputrace" doctor
    assert_line --regexp "^note +environment +CUDA_INJECTION64_PATH is '/other.so'"
}

@test "a libcupti that does not exist, or is not a library, is rejected" {
    run -2 "$gputrace" doctor --cupti=/nope
    assert_output "gputrace: --cupti: '/nope': No such file or directory"
    run -125 "$gputrace" run --cupti=/nope true
    assert_output "gputrace: --cupti: '/nope': No such file or directory"
    run -2 "$gputrace" doctor --cupti="$simgpu"
    assert_output "gputrace: --cupti: '$simgpu' is not a shared library: name the file libcupti.so itself"
    echo text >libcupti.so
    run -2 "$gputrace" doctor --cupti=libcupti.so
    assert_output "gputrace: --cupti: 'libcupti.so' is not a shared library: name the file libcupti.so itself"
}

@test "a command line that cannot be understood is 2" {
    run -2 "$gputrace" doctor something
    run -2 "$gputrace" doctor --something
}
